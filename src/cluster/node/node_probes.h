// A node looks at itself as an orchestrator would, with the thresholds of cluster/health/probe.h, and keeps the
// verdicts for its page. One thread, that of its runtime.
#pragma once

#include "cluster/health/probe.h"
#include "cluster/node/node_view.h"
#include "core/runtime/runtime.h"

namespace bellwether::node {

class NodeProbes {
 public:
  // Both must outlive it.
  NodeProbes(runtime::Runtime& runtime, const NodeDesk& desk);

  // Until it is cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  const health::Probes& verdicts() const { return probes_; }

 private:
  void look(Instant due);

  runtime::Runtime& runtime_;
  const NodeDesk& desk_;
  health::Probes::Settings settings_;
  health::Probes probes_;
};

}  // namespace bellwether::node
