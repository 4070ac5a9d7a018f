# sluice_link_archives(TARGET)   link gRPC, protobuf, abseil and RocksDB as archives
#
# Shared, the loader resolves 30,000 symbols before main: 58 ms of CPU time on a
# busy two-core machine, against 20 ms with archives, of which the server has 50
# until it must be ready. Only for executables whose start is measured; a peer in
# a benchmark is linked the same way.
option(SLUICE_ARCHIVES "Link gRPC, protobuf, abseil and RocksDB statically into the server" ON)

function(sluice_link_archives target)
  if(SLUICE_ARCHIVES AND UNIX AND NOT APPLE)
    set_property(TARGET ${target} PROPERTY RULE_LAUNCH_LINK "${CMAKE_SOURCE_DIR}/tools/link-archives")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${CMAKE_SOURCE_DIR}/tools/link-archives")
  endif()
endfunction()
