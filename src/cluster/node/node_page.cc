#include "cluster/node/node_page.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/encoding.h"

namespace bellwether::node {

namespace {

web::Answer verdict(const std::string& why_not) {
  if (why_not.empty()) return {.status = 200, .body = "ok\n"};
  return {.status = 503, .body = why_not + "\n"};
}

constexpr std::string_view kHistogram = "histogram";

void put_elections(const cluster::VoteView& view, std::vector<Figure>& out) {
  const cluster::VoteCounts& counts = view.status.counts;
  for (std::size_t i = 0; i < counts.elections.size(); ++i) {
    const std::string trigger = metric_label("trigger", to_string(static_cast<vote::Trigger>(i)));
    const auto put = [&](std::string_view result, uint64_t count) {
      out.push_back({"bellwether_vote_elections_total", kCounter,
                     "Scored elections in which this node took part, by trigger and result.",
                     fmt::format("{},{}", trigger, metric_label("result", result)), static_cast<double>(count)});
    };
    put("elected", counts.elections[i].elected);
    put("nobody", counts.elections[i].nobody);
  }
  using Lengths = cluster::ElectionLengths;
  uint64_t sum = 0;
  const auto put = [&](std::string_view name, std::string labels, double value) {
    out.push_back({name, kHistogram, "Seconds of scored elections, from the first message to the end.",
                   std::move(labels), value, "bellwether_vote_election_seconds"});
  };
  for (std::size_t i = 0; i < Lengths::kBounds.size(); ++i) {
    sum += counts.lengths.at_most[i];
    char bound[32];
    const auto end = std::to_chars(bound, bound + sizeof bound, Lengths::kBounds[i]).ptr;
    put("bellwether_vote_election_seconds_bucket", metric_label("le", {bound, static_cast<std::size_t>(end - bound)}),
        static_cast<double>(sum));
  }
  put("bellwether_vote_election_seconds_bucket", metric_label("le", "+Inf"), static_cast<double>(counts.lengths.count));
  put("bellwether_vote_election_seconds_sum", {}, counts.lengths.sum);
  put("bellwether_vote_election_seconds_count", {}, static_cast<double>(counts.lengths.count));
  out.push_back({"bellwether_vote_participation",
                 kGauge,
                 "Ratio of voters whose vote was received in the last election.",
                 {},
                 counts.participation});
  for (const cluster::VoteView::Node& one : view.nodes) {
    if (!one.stood) continue;
    out.push_back({"bellwether_vote_score", kGauge, "Scores of the candidates of the last election, from 0 to 1.",
                   metric_label("node", one.name), one.claim.score});
  }
  for (const cluster::VoteView::Node& one : view.nodes) {
    out.push_back({"bellwether_vote_votes", kGauge, "Votes for each node in the last election.",
                   metric_label("node", one.name), static_cast<double>(one.votes)});
  }
}

void put_heartbeats(const cluster::VoteStatus& status, std::vector<Figure>& out) {
  const auto counter = [&](std::string_view name, std::string_view help, uint64_t count) {
    out.push_back({name, kCounter, help, {}, static_cast<double>(count)});
  };
  counter("bellwether_vote_heartbeats_sent_total", "Heartbeats that this node sent to all nodes as the admin.",
          status.counts.beats_sent);
  for (const auto& one : status.followers) {
    out.push_back({"bellwether_vote_heartbeats_answered_total", kCounter,
                   "Heartbeats of this node that a node answered in time.", metric_label("node", one.node),
                   static_cast<double>(one.beats.answered)});
  }
  for (const auto& one : status.followers) {
    out.push_back({"bellwether_vote_heartbeats_missed_total", kCounter,
                   "Heartbeats of this node that a node had not answered when the next one was sent.",
                   metric_label("node", one.node), static_cast<double>(one.beats.missed)});
  }
  counter("bellwether_vote_heartbeats_heard_total", "Heartbeats received from the admin that this node follows.",
          status.counts.beats_heard);
  counter("bellwether_vote_heartbeats_lost_total", "Heartbeats of the admin that were lost between two received ones.",
          status.counts.beats_lost);
  if (!status.heartbeat) return;
  out.push_back({"bellwether_vote_heartbeat_age_seconds",
                 kGauge,
                 "Seconds since the last heartbeat was sent or received.",
                 {},
                 status.heartbeat->age.seconds_f()});
}

void put_messages(const cluster::VoteCounts& counts, std::vector<Figure>& out) {
  const auto put = [&](std::string_view direction, const std::map<std::string_view, uint64_t>& kinds) {
    for (const auto& [kind, count] : kinds) {
      out.push_back({"bellwether_vote_messages_total", kCounter,
                     "Messages of scored votes, by kind; a message to all nodes counts once.",
                     fmt::format("{},{}", metric_label("direction", direction), metric_label("kind", kind)),
                     static_cast<double>(count)});
    }
  };
  put("sent", counts.sent);
  put("heard", counts.heard);
  const auto refused = [&](std::string_view reason, uint64_t count) {
    out.push_back({"bellwether_vote_refused_total", kCounter,
                   "Messages of scored votes that this node refused, by reason.", metric_label("reason", reason),
                   static_cast<double>(count)});
  };
  for (std::size_t i = 0; i < counts.unheard.size(); ++i) {
    refused(to_string(static_cast<cluster::Unheard>(i)), counts.unheard[i]);
  }
  for (std::size_t i = 0; i < counts.refusals.size(); ++i) {
    refused(to_string(static_cast<vote::Refusal>(i)), counts.refusals[i]);
  }
}

void put_members(const NodeFigures& sources, std::vector<Figure>& out) {
  using membership::MemberState;
  for (const MemberState state : {MemberState::kAlive, MemberState::kSuspect, MemberState::kDead, MemberState::kLeft}) {
    out.push_back({"bellwether_members", kGauge, "Members of the cluster as this node sees them, by state.",
                   metric_label("state", to_string(state)), static_cast<double>(sources.members.count(state))});
  }
  for (const auto& [change, count] : sources.member_changes) {
    out.push_back({"bellwether_member_changes_total", kCounter, "Changes of members that this node has seen.",
                   metric_label("change", change), static_cast<double>(count)});
  }
}

void put_wire(const NodeFigures& sources, std::vector<Figure>& out) {
  for (std::size_t i = 1; i < wire::kRefusalKinds; ++i) {
    const auto refusal = static_cast<wire::Refusal>(i);
    out.push_back({"bellwether_refused_total", kCounter, "Connections and messages that this node refused, by reason.",
                   metric_label("reason", to_string(refusal)), static_cast<double>(sources.refusals.of(refusal))});
  }
  const auto& counts = sources.datagrams;
  const auto datagrams = [&](std::string_view direction, uint64_t count) {
    out.push_back({"bellwether_datagrams_total", kCounter, "Authentic membership datagrams.",
                   metric_label("direction", direction), static_cast<double>(count)});
  };
  datagrams("sent", counts.sent);
  datagrams("received", counts.received);
  const auto bytes = [&](std::string_view direction, uint64_t count) {
    out.push_back({"bellwether_datagram_bytes_total", kCounter, "Bytes of authentic membership datagrams, encrypted.",
                   metric_label("direction", direction), static_cast<double>(count)});
  };
  bytes("sent", counts.sent_bytes);
  bytes("received", counts.received_bytes);
}

// The agreements of both ends of the open connections: they show the progress of an upgrade or of a change of the
// secret to operators, who see when the last one of the old kind is gone.
void put_connections(const NodeFigures& sources, std::vector<Figure>& out) {
  std::map<std::string, double> kinds;
  for (const wire::Agreement* one : sources.connections) {
    ++kinds[fmt::format("{},{},{}", metric_label("protocol", to_string(one->version)),
                        metric_label("secret", wire::key_name(one->key)),
                        metric_label("roles", one->role_proven ? "proven" : "said"))];
  }
  for (const auto& [kind, count] : kinds) {
    out.push_back({"bellwether_connections", kGauge,
                   "Open connections with other nodes, by protocol version, by secret, and by whether a certificate "
                   "has proven the other node's role.",
                   kind, count});
  }
}

// Admission: what this node takes and refuses, and which peers it leaves alone.
void put_load(const NodeFigures& sources, std::vector<Figure>& out) {
  using namespace resilience;
  const cluster::AdmissionControl::Counts& counts = sources.admission_control.counts();
  out.push_back({"bellwether_load_state",
                 kGauge,
                 "Load of this node: 0 healthy, 1 busy, 2 stressed, 3 overloaded.",
                 {},
                 static_cast<double>(sources.admission_control.state())});
  const auto by_urgency = [&](std::string_view name, std::string_view help, const auto& values) {
    for (std::size_t i = 0; i < kUrgencies; ++i) {
      const std::string labels = metric_label("urgency", to_string(static_cast<Urgency>(i)));
      out.push_back({name, kCounter, help, labels, static_cast<double>(values[i])});
    }
  };
  by_urgency("bellwether_messages_admitted_total", "Messages of other nodes that this node accepted.", counts.admitted);
  by_urgency("bellwether_messages_shed_total", "Messages that this node rejected because of overload.", counts.shed);
  for (std::size_t i = 0; i < kOperations; ++i) {
    out.push_back({"bellwether_messages_limited_total", kCounter,
                   "Messages that this node rejected because their sender had used its share.",
                   metric_label("operation", to_string(static_cast<Operation>(i))),
                   static_cast<double>(counts.limited[i])});
  }
  for (const Breakers::Status& one : sources.breakers) {
    const std::string labels =
        fmt::format("{},{}", metric_label("peer", one.peer), metric_label("category", to_string(one.category)));
    out.push_back({"bellwether_breaker_state", kGauge,
                   "Circuit breaker of a peer that has failed: 0 closed, 1 open, 2 half open.", labels,
                   static_cast<double>(one.state)});
  }
}

}  // namespace

NodeProbes::NodeProbes(runtime::Runtime& runtime, const NodeControl& kernel)
    : runtime_(runtime), kernel_(kernel), probes_(settings_, runtime.read_clock(), runtime.prng().fork()) {}

void NodeProbes::look(Instant due) {
  const Instant now = runtime_.read_clock();
  const health::Probes::Due what = probes_.tick(now);
  if (what.startup) probes_.startup_result(now, kernel_.joined());
  // A loop that turns this late would have answered a request as late.
  if (what.liveness) probes_.liveness_result(now - due <= settings_.liveness.timeout);
  if (what.readiness) probes_.readiness_result(kernel_.not_ready().empty());
}

runtime::task<void> NodeProbes::run(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Instant due = probes_.next_deadline();
    co_await runtime_.sleep_until(due, cancel);
    if (!cancel->cancelled()) look(due);
  }
}

runtime::task<web::Answer> NodePage::answer(web::Request request, runtime::Cancellation*) {
  co_return answer_to(request);
}

web::Answer NodePage::answer_to(const web::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return {.status = 405, .body = "this page supports only GET and HEAD\n", .fields = {{"Allow", "GET, HEAD"}}};
  }
  if (request.path == "/livez") {
    return verdict(probes_.verdicts().live() ? "" : "its loop stalled at every check, or it does not start");
  }
  // At once, without the threshold: an orchestrator has its own threshold, and a load balancer needs none.
  if (request.path == "/readyz") return verdict(kernel_.not_ready());
  if (request.path == "/startupz") return verdict(kernel_.joined() ? "" : "it has not joined its cluster yet");
  if (request.path == "/leader") {
    return verdict(kernel_.leader().valid_for.value_or(Duration()) > Duration::zero() ? "" : "this node does not lead");
  }
  if (request.path == "/health") return health();
  if (request.path == "/metrics") return metrics();
  return {.status = 404, .body = "the pages are /livez, /readyz, /startupz, /health, /leader and /metrics\n"};
}

web::Answer NodePage::health() const {
  const LeaderView leader = kernel_.leader();
  const QuorumView quorum = kernel_.quorum();
  const std::string not_ready = kernel_.not_ready();
  nlohmann::ordered_json out;
  out["ready"] = not_ready.empty();
  if (!not_ready.empty()) out["not_ready"] = not_ready;
  out["joined"] = kernel_.joined();
  if (!quorum.state.empty()) out["state"] = quorum.state;
  const health::Probes& probes = probes_.verdicts();
  out["probes"] = {{"startup", probes.started()}, {"liveness", probes.live()}, {"readiness", probes.ready()}};
  if (std::string progress = kernel_.progress(); !progress.empty()) out["progress"] = std::move(progress);
  out["degradation"] = kernel_.degradation();
  out["health_score"] = kernel_.health_score();
  out["leader"] = {{"name", leader.name}, {"term", leader.term}, {"evidence", leader.evidence}};
  out["decided_by"] = quorum.decided_by;
  if (!quorum.obstacle.empty()) out["obstacle"] = quorum.obstacle;
  if (!quorum.voters.empty())
    out["quorum"] = {{"voters", quorum.voters.size()}, {"needed", quorum.needed}, {"alive", quorum.alive}};
  std::map<std::string, std::size_t> states;
  for (const MemberView& member : kernel_.members()) ++states[member.state];
  out["members"] = states;
  return {.status = not_ready.empty() ? 200 : 503,
          .type = "application/json",
          .body = out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

web::Answer NodePage::metrics() const {
  std::string text;
  std::string_view last;
  for (const Figure& figure : figures_()) {
    const std::string name(figure.name);
    const std::string_view family = figure.family.empty() ? figure.name : figure.family;
    if (family != last) {
      text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family, figure.help, family, figure.type);
    }
    last = family;
    text += fmt::format("{}{} {}\n", name, figure.labels.empty() ? "" : fmt::format("{{{}}}", figure.labels),
                        metric_number(figure.value));
  }
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(text)};
}

std::vector<Figure> figures_of_vote(const cluster::VoteView& view) {
  std::vector<Figure> out;
  put_elections(view, out);
  put_heartbeats(view.status, out);
  put_messages(view.status.counts, out);
  return out;
}

std::vector<Figure> figures_of(const NodeFigures& sources) {
  std::vector<Figure> out;
  const auto gauge = [&](std::string_view name, std::string_view help, double value) {
    out.push_back({name, kGauge, help, {}, value});
  };
  gauge("bellwether_node_ready", "1 while this node is ready for work.", sources.ready ? 1 : 0);
  gauge("bellwether_node_leads", "1 while this node leads its cluster.", sources.leads ? 1 : 0);
  gauge("bellwether_node_term", "The latest term of a leader that this node knows of.",
        static_cast<double>(sources.term));
  out.push_back({"bellwether_leader_changes_total",
                 kCounter,
                 "Changes of leader that this node has seen.",
                 {},
                 static_cast<double>(sources.leader_changes)});
  gauge("bellwether_health_score", "Local health score: 0 good to 8 bad.", sources.health_score);
  gauge("bellwether_degradation", "Degradation of this node: 0 normal, 1 elevated, 2 high, 3 severe, 4 critical.",
        sources.degradation);
  gauge("bellwether_loop_lag_ratio", "Lag of the loop as a ratio of its period; the worst of the last second.",
        sources.usage.loop_lag);
  gauge("bellwether_cpu_ratio", "CPU use, as a ratio of the processors that this node may use.",
        sources.usage.cpu_ratio);
  gauge("bellwether_memory_bytes", "Memory in use.", static_cast<double>(sources.usage.memory));
  gauge("bellwether_memory_limit_bytes", "Memory that this node may use.",
        static_cast<double>(sources.usage.memory_most));
  gauge("bellwether_descriptors", "Open files and connections.", static_cast<double>(sources.usage.descriptors));
  gauge("bellwether_descriptor_limit", "Limit of open files and connections; 0 when there is none.",
        static_cast<double>(sources.usage.descriptors_most));
  gauge("bellwether_run_delay_seconds",
        "Seconds of the last second in which the control thread was ready to run but had no processor.",
        sources.usage.run_delay.seconds_f());
  put_members(sources, out);
  put_wire(sources, out);
  put_connections(sources, out);
  put_load(sources, out);
  for (const discovery::Sample& sample : discovery::samples(sources.discovery, sources.datacenter)) {
    const bool counts = sample.name.ends_with("_total");
    out.push_back(
        {sample.name, counts ? kCounter : kGauge, "See the documentation of discovery.", sample.labels, sample.value});
  }
  return out;
}

}  // namespace bellwether::node
