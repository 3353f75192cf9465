#include "runtime/run_queue.h"

namespace bellwether::runtime {

thread_local RunQueue RunQueue::local_;

}  // namespace bellwether::runtime
