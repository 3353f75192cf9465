// The figures of a node's page of metrics, from what its parts count. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/discovery/metrics.h"
#include "cluster/membership/member_table.h"
#include "cluster/net/front_desk.h"
#include "cluster/net/vital_signs.h"
#include "cluster/net/vote_view.h"
#include "cluster/node/node_page.h"
#include "cluster/wire/handshake.h"
#include "cluster/wire/link/datagrams.h"
#include "cluster/wire/refusal.h"
#include "core/resilience/breaker.h"

namespace bellwether::node {

// The figures of a node that votes by scores, for its page of metrics. Pure.
std::vector<Figure> figures_of_vote(const cluster::VoteView& view);

struct NodeFigures {
  const membership::MemberTable& members;
  const wire::RefusalCounts& refusals;
  const link::Datagrams::Counts& datagrams;
  const discovery::Metrics& discovery;
  const cluster::VitalSigns& vital;
  const cluster::FrontDesk& front_desk;
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
