// SPDX-License-Identifier: Apache-2.0
#pragma once

// Threads of the front leave signals to the main thread; SIGPIPE in particular
// must not end the process because a TLS peer hung up.

#include <pthread.h>
#include <signal.h>

namespace sluice::front::net {

inline void BlockSignalsInThisThread() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace sluice::front::net
