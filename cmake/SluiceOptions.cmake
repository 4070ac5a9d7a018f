# Language level, warnings, linker, sanitizers: what every target of ours shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers for our code: empty, address,undefined or thread")
option(SLUICE_CORE_ONLY "Build only what needs neither gRPC nor RocksDB (thread sanitizer)" OFF)

# Under the thread sanitizer protobuf's headers give messages a member more than the
# distribution's library, built without it, knows of: no message can be used then.
set(SLUICE_HAS_MESSAGES ON)
if(SLUICE_SANITIZE STREQUAL "thread")
  set(SLUICE_HAS_MESSAGES OFF)
endif()

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  # Paths below the tree enter the hash relative to the build folder, and the
  # working folder not at all: one build's objects serve the other presets'
  # builds and other checkouts.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
    "${SLUICE_CCACHE}")
endif()
find_program(SLUICE_MOLD mold)
if(SLUICE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Wcast-qual -Woverloaded-virtual -Wno-missing-field-initializers)
target_include_directories(sluice_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE
    "-fsanitize=${SLUICE_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all
    -O1 -g1)  # enough for a stack trace, and half the time of a build
  target_link_options(sluice_flags INTERFACE "-fsanitize=${SLUICE_SANITIZE}")
endif()
