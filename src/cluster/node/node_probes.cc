#include "cluster/node/node_probes.h"

namespace bellwether::node {

NodeProbes::NodeProbes(runtime::Runtime& runtime, const NodeDesk& desk)
    : runtime_(runtime), desk_(desk), probes_(settings_, runtime.read_clock(), runtime.prng().fork()) {}

void NodeProbes::look(Instant due) {
  const Instant now = runtime_.read_clock();
  const health::Probes::Due what = probes_.tick(now);
  if (what.startup) probes_.startup_result(now, desk_.joined());
  // The loop that turns this late would have answered a request as late.
  if (what.liveness) probes_.liveness_result(now - due <= settings_.liveness.timeout);
  if (what.readiness) probes_.readiness_result(desk_.not_ready().empty());
}

runtime::task<void> NodeProbes::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Instant due = probes_.next_deadline();
    co_await runtime_.sleep_until(due, cancel);
    if (!cancel->cancelled()) look(due);
  }
}

}  // namespace bellwether::node
