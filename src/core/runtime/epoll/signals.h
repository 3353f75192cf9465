// Signals of the process, for coroutines to wait for.
#pragma once

#include <initializer_list>
#include <memory>

#include "core/runtime/epoll/epoll_runtime.h"

namespace bellwether::runtime {

class Signals {
 public:
  // Blocks these signals for the calling thread and for all threads it starts from then on, and collects them here. To
  // be called before any other thread is started.
  static Result<std::unique_ptr<Signals>> collect(EpollRuntime& runtime, std::initializer_list<int> signals);
  ~Signals();

  // The number of the next signal; 0 when cancelled.
  task<int> next(Cancellation* cancel);

 private:
  class Source;
  explicit Signals(EpollRuntime& runtime, int fd);
  EpollRuntime& runtime_;
  int fd_;
  std::unique_ptr<Source> source_;
};

}  // namespace bellwether::runtime
