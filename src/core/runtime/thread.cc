#include "core/runtime/thread.h"

#include <pthread.h>
#include <sched.h>

namespace bellwether::runtime {

void set_up_thread(const std::string& name, std::optional<int> cpu) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  if (!cpu) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(*cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

NoSignals::NoSignals() {
  sigset_t all;
  sigfillset(&all);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&all, fault);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

NoSignals::~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace bellwether::runtime
