// SPDX-License-Identifier: Apache-2.0
#pragma once

// What Avro's C library takes while a scope lives on a thread is given back when the
// scope ends. The library forgets what it read so far when a definition names a type
// twice (measured with 1.11: all of it), and definitions come from strangers.
//
// Threading: scopes of different threads do not meet; on one thread they do not nest.
// Ownership: nothing of the library's may outlive the scope it was made in.

namespace sluice::front {

class AvroMemory {
 public:
  AvroMemory();
  ~AvroMemory();
  AvroMemory(const AvroMemory&) = delete;
  AvroMemory& operator=(const AvroMemory&) = delete;

  /// Blocks taken and not yet given back on this thread. For tests.
  static int Blocks();
};

}  // namespace sluice::front
