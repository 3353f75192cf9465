// The child process of a share: it reads its order from the socket to its worker, prepares, waits for the begin, makes
// its load, and tells each second of it. It needs nobody to go on, but ends at once when its worker is gone: there is
// nobody else who would have what it measures. Signals of a terminal do not end it, for that is the worker's to decide.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "load/plan/plan.h"

namespace bellwether::node {

// Makes the plan of an order's bundle, or says what is wrong with it.
using PlanOf = Result<plan::Plan> (*)(std::string_view bundle);

// The whole life of the process. Takes the descriptor over. Error: the other end of the socket is no worker, or it
// said what makes no sense.
Status share_main(int socket_fd, PlanOf plan_of);

}  // namespace bellwether::node
