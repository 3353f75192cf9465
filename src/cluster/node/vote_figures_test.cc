#include <gmock/gmock.h>

#include "cluster/node/node_page.h"

namespace bellwether::node {
namespace {

double value(const std::vector<Figure>& figures, std::string_view name, std::string_view labels = {}) {
  for (const Figure& one : figures) {
    if (one.name == name && one.labels == labels) return one.value;
  }
  return -1;
}

TEST(VoteFigures, what_is_counted_has_its_figure) {
  cluster::VoteView view;
  view.nodes.push_back({.name = "a", .stood = true, .claim = {.score = 0.5}, .votes = 2});
  view.nodes.push_back({.name = "b"});
  view.status.heartbeat = cluster::VoteStatus::Heartbeat{true, Duration::millis(250), 4, 9, 31};
  view.status.followers = {{"b", {7, 2, 0, 0}}};
  cluster::VoteCounts& counts = view.status.counts;
  counts.elections[static_cast<std::size_t>(vote::Trigger::kManual)] = {3, 1};
  for (const int64_t ms : {40, 80, 80, 90'000}) counts.lengths.add(Duration::millis(ms));
  counts.participation = 0.75;
  counts.beats_sent = 8;
  counts.beats_heard = 5;
  counts.beats_lost = 4;
  counts.sent["vote"] = 6;
  counts.heard["vote"] = 9;
  counts.refusals[static_cast<std::size_t>(vote::Refusal::kReplay)] = 5;
  counts.unheard[static_cast<std::size_t>(cluster::Unheard::kUnsigned)] = 3;
  const std::vector<Figure> figures = figures_of_vote(view);
  const auto is = [&](std::string_view name, std::string_view labels, double expected) {
    EXPECT_EQ(value(figures, name, labels), expected) << name << "{" << labels << "}";
  };
  is("bellwether_vote_elections_total", R"(trigger="manual_trigger",result="elected")", 3);
  is("bellwether_vote_elections_total", R"(trigger="manual_trigger",result="nobody")", 1);
  is("bellwether_vote_elections_total", R"(trigger="quorum_restored",result="elected")", 0);
  is("bellwether_vote_election_seconds_bucket", R"(le="0.05")", 1);
  is("bellwether_vote_election_seconds_bucket", R"(le="0.1")", 3);
  is("bellwether_vote_election_seconds_bucket", R"(le="60")", 3);
  is("bellwether_vote_election_seconds_bucket", R"(le="+Inf")", 4);
  is("bellwether_vote_election_seconds_count", "", 4);
  EXPECT_NEAR(value(figures, "bellwether_vote_election_seconds_sum"), 90.2, 1e-9);
  is("bellwether_vote_participation", "", 0.75);
  is("bellwether_vote_score", R"(node="a")", 0.5);
  is("bellwether_vote_score", R"(node="b")", -1);
  is("bellwether_vote_votes", R"(node="a")", 2);
  is("bellwether_vote_votes", R"(node="b")", 0);
  is("bellwether_vote_heartbeats_sent_total", "", 8);
  is("bellwether_vote_heartbeats_answered_total", R"(node="b")", 7);
  is("bellwether_vote_heartbeats_missed_total", R"(node="b")", 2);
  is("bellwether_vote_heartbeats_heard_total", "", 5);
  is("bellwether_vote_heartbeats_lost_total", "", 4);
  is("bellwether_vote_heartbeat_age_seconds", "", 0.25);
  is("bellwether_vote_messages_total", R"(direction="sent",kind="vote")", 6);
  is("bellwether_vote_messages_total", R"(direction="heard",kind="vote")", 9);
  is("bellwether_vote_refused_total", R"(reason="heard_before")", 5);
  is("bellwether_vote_refused_total", R"(reason="not_signed")", 3);
  is("bellwether_vote_refused_total", R"(reason="impostor")", 0);
}

}  // namespace
}  // namespace bellwether::node
