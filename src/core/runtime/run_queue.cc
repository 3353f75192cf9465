#include "core/runtime/run_queue.h"

namespace bellwether::runtime {

constinit thread_local RunQueue* RunQueue::local_ = nullptr;

RunQueue& RunQueue::make_local() {
  static thread_local RunQueue queue;
  local_ = &queue;
  return queue;
}

}  // namespace bellwether::runtime
