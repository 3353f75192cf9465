#include "node/cluster/vote_figures.h"

#include <charconv>

namespace bellwether::node {
namespace {

constexpr std::string_view kHistogram = "histogram";

void put_elections(const cluster::VoteView& view, std::vector<Figure>& out) {
  const cluster::VoteCounts& counts = view.status.counts;
  for (std::size_t i = 0; i < counts.elections.size(); ++i) {
    const std::string trigger = label("trigger", to_string(static_cast<vote::Trigger>(i)));
    const auto put = [&](std::string_view result, uint64_t count) {
      out.push_back({"bellwether_vote_elections_total", kCounter,
                     "Elections by scores in which this node took part, by trigger and result.",
                     trigger + "," + label("result", result), static_cast<double>(count)});
    };
    put("elected", counts.elections[i].elected);
    put("nobody", counts.elections[i].nobody);
  }
  using Lengths = cluster::ElectionLengths;
  uint64_t sum = 0;
  const auto put = [&](std::string_view name, std::string labels, double value) {
    out.push_back({name, kHistogram, "How long elections took, from the first word to the end.", std::move(labels),
                   value, "bellwether_vote_election_seconds"});
  };
  for (std::size_t i = 0; i < Lengths::kBounds.size(); ++i) {
    sum += counts.lengths.at_most[i];
    char bound[32];
    const auto end = std::to_chars(bound, bound + sizeof bound, Lengths::kBounds[i]).ptr;
    put("bellwether_vote_election_seconds_bucket", label("le", {bound, static_cast<std::size_t>(end - bound)}),
        static_cast<double>(sum));
  }
  put("bellwether_vote_election_seconds_bucket", label("le", "+Inf"), static_cast<double>(counts.lengths.count));
  put("bellwether_vote_election_seconds_sum", {}, counts.lengths.sum);
  put("bellwether_vote_election_seconds_count", {}, static_cast<double>(counts.lengths.count));
  out.push_back({"bellwether_vote_participation",
                 kGauge,
                 "Whose vote was heard in the last election, as a share of all voters.",
                 {},
                 counts.participation});
  for (const cluster::VoteView::Node& one : view.nodes) {
    if (!one.stood) continue;
    out.push_back({"bellwether_vote_score", kGauge, "Scores of those who stood in the last election, from 0 to 1.",
                   label("node", one.name), one.claim.score});
  }
  for (const cluster::VoteView::Node& one : view.nodes) {
    out.push_back({"bellwether_vote_votes", kGauge, "Votes for each node in the last election.",
                   label("node", one.name), static_cast<double>(one.votes)});
  }
}

void put_heartbeats(const cluster::VoteStatus& status, std::vector<Figure>& out) {
  const auto counter = [&](std::string_view name, std::string_view help, uint64_t count) {
    out.push_back({name, kCounter, help, {}, static_cast<double>(count)});
  };
  counter("bellwether_vote_heartbeats_sent_total", "Heartbeats of this node as the admin, to all.",
          status.counts.beats_sent);
  for (const auto& one : status.followers) {
    out.push_back({"bellwether_vote_heartbeats_answered_total", kCounter, "Those that a node has answered in time.",
                   label("node", one.node), static_cast<double>(one.beats.answered)});
  }
  for (const auto& one : status.followers) {
    out.push_back({"bellwether_vote_heartbeats_missed_total", kCounter,
                   "Those that a node had not answered when the next one was sent.", label("node", one.node),
                   static_cast<double>(one.beats.missed)});
  }
  counter("bellwether_vote_heartbeats_heard_total", "Heartbeats of the admin that this node follows.",
          status.counts.beats_heard);
  counter("bellwether_vote_heartbeats_lost_total", "Those that must have been sent between two that were heard.",
          status.counts.beats_lost);
  if (!status.heartbeat) return;
  out.push_back({"bellwether_vote_heartbeat_age_seconds",
                 kGauge,
                 "Since the last heartbeat was sent or heard.",
                 {},
                 status.heartbeat->age.seconds_f()});
}

void put_messages(const cluster::VoteCounts& counts, std::vector<Figure>& out) {
  const auto put = [&](std::string_view direction, const std::map<std::string_view, uint64_t>& kinds) {
    for (const auto& [kind, count] : kinds) {
      out.push_back({"bellwether_vote_messages_total", kCounter,
                     "Messages of scored votes by kind; what is sent to all counts once.",
                     label("direction", direction) + "," + label("kind", kind), static_cast<double>(count)});
    }
  };
  put("sent", counts.sent);
  put("heard", counts.heard);
  const auto refused = [&](std::string_view reason, uint64_t count) {
    out.push_back({"bellwether_vote_refused_total", kCounter,
                   "Messages of scored votes that were not listened to, by reason.", label("reason", reason),
                   static_cast<double>(count)});
  };
  for (std::size_t i = 0; i < counts.unheard.size(); ++i) {
    refused(to_string(static_cast<cluster::Unheard>(i)), counts.unheard[i]);
  }
  for (std::size_t i = 0; i < counts.refusals.size(); ++i) {
    refused(to_string(static_cast<vote::Refusal>(i)), counts.refusals[i]);
  }
}

}  // namespace

std::vector<Figure> figures_of_vote(const cluster::VoteView& view) {
  std::vector<Figure> out;
  put_elections(view, out);
  put_heartbeats(view.status, out);
  put_messages(view.status.counts, out);
  return out;
}

}  // namespace bellwether::node
