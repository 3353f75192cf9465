// Whether the servers of a plan can be reached, before its load starts.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/runtime/runtime.h"
#include "load/plan/plan.h"

namespace bellwether::vuser {

// Looks up the hosts of all requests, or their proxies, except hosts that only the run knows. With `connect`, it also
// opens one connection to each, with TLS where the request uses it and no proxy. Error: the first failure, with its
// URL. The timeouts are those of the requests. `plan` outlives the task.
runtime::task<Status> check_targets(runtime::Runtime& runtime, const plan::Plan& plan, bool connect);

// Those of the plan's `local_ips` that this machine has, by trying them. Error: it has none of them.
Result<std::vector<runtime::IpAddress>> local_addresses(runtime::Runtime& runtime, const plan::Plan& plan);

}  // namespace bellwether::vuser
