// A node over HTTP, for programs outside the cluster: /livez, /readyz and /startupz for orchestrators, /health with the
// reasons behind them, /leader for load balancers, /metrics for Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/discovery/bootstrap.h"
#include "cluster/health/signals.h"
#include "cluster/membership/member_table.h"
#include "cluster/net/message_router.h"
#include "cluster/net/resource_monitor.h"
#include "cluster/net/vote_view.h"
#include "cluster/node/admin_messages.h"
#include "cluster/wire/handshake.h"
#include "cluster/wire/link/datagrams.h"
#include "cluster/wire/refusal.h"
#include "core/base/callback.h"
#include "core/resilience/breaker.h"
#include "core/runtime/runtime.h"
#include "core/web/http_server.h"

namespace bellwether::node {

// A node looks at itself as an orchestrator would, with the thresholds of cluster/health/signals.h, and keeps the
// verdicts for its page. One thread, that of its runtime.
class NodeProbes {
 public:
  // Both must outlive it.
  NodeProbes(runtime::Runtime& runtime, const NodeControl& kernel);

  // Until it is cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  const health::Probes& verdicts() const { return probes_; }

 private:
  void look(Instant due);

  runtime::Runtime& runtime_;
  const NodeControl& kernel_;
  health::Probes::Settings settings_;
  health::Probes probes_;
};

// One figure of the page of metrics. `labels` is the text between the braces, or empty.
struct Figure {
  std::string_view name;
  std::string_view type;  // "gauge", "counter", "histogram"
  std::string_view help;
  std::string labels;
  double value = 0;
  std::string_view family = {};  // "histogram": the family of which this is the _bucket, _sum or _count
};
inline constexpr std::string_view kGauge = "gauge";
inline constexpr std::string_view kCounter = "counter";

class NodePage final : public web::Handler {
 public:
  // Those of one name stand together.
  using Figures = Callback<std::vector<Figure>()>;

  // All must outlive it.
  NodePage(const NodeControl& kernel, const NodeProbes& probes, Figures figures)
      : kernel_(kernel), probes_(probes), figures_(figures) {}

  runtime::task<web::Answer> answer(web::Request request, runtime::Cancellation* cancel) override;

 private:
  web::Answer answer_to(const web::Request& request) const;
  web::Answer health() const;
  web::Answer metrics() const;

  const NodeControl& kernel_;
  const NodeProbes& probes_;
  Figures figures_;
};

// The figures of a node that votes by scores, for its page of metrics. Pure.
std::vector<Figure> figures_of_vote(const cluster::VoteView& view);

struct NodeFigures {
  const membership::MemberTable& members;
  const wire::RefusalCounts& refusals;
  const link::Datagrams::Counts& datagrams;
  const discovery::Metrics& discovery;
  const cluster::ResourceUsage& usage;
  const cluster::AdmissionControl& admission_control;
  const std::map<std::string, uint64_t>& member_changes;
  bool leads = false;
  bool ready = false;
  uint64_t term = 0;
  uint64_t leader_changes = 0;
  int health_score = 0;
  int degradation = 0;
  std::vector<const wire::Agreement*> connections;
  std::vector<resilience::Breakers::Status> breakers;
  std::string datacenter;
};

std::vector<Figure> figures_of(const NodeFigures& sources);

}  // namespace bellwether::node
