// What a node is for, beside being a member of its cluster: a manager hands out jobs, a worker makes load.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/vital_signs.h"
#include "node/cluster/node_page.h"
#include "runtime/runtime.h"

namespace bellwether::node {

class NodeRole {
 public:
  virtual ~NodeRole() = default;
  // Does its work until cancelled, and ends it in good order then.
  virtual runtime::task<void> run(runtime::Cancellation* cancel) = 0;
  // The node is about to leave: nothing new is taken, and what is left is brought to an end, at most until `deadline`.
  virtual runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) = 0;
  // The same without a limit, and without stopping anything. False: it was cancelled.
  virtual runtime::task<bool> drain(runtime::Cancellation*) { co_return true; }

  // What membership says of another node.
  virtual void on_gone(const std::string&, const std::string&) {}
  virtual void on_there(const std::string&) {}
  // About once a second. `health_score`: of this node, 0 to 8.
  virtual void on_vital_signs(const cluster::VitalSigns&, int) {}
  // Empty while it can do its work, else why not.
  virtual std::string obstacle() const { return {}; }
  // Of its work, for people: "active", "syncing: ..."; empty when it has none.
  virtual std::string state() const { return {}; }
  // Why it takes no new jobs for now, although it would; else empty.
  virtual std::string refuses_jobs() const { return {}; }
  // Whether it does what it could, in one word (health/signals.h); empty when others say so of it.
  virtual std::string progress() const { return {}; }
  // For the page of metrics.
  virtual std::vector<Figure> figures() const { return {}; }
};

}  // namespace bellwether::node
