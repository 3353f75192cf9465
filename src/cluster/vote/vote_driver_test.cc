// Three nodes in virtual time, with disks in memory.
#include "cluster/vote/vote_driver.h"

#include <gmock/gmock.h>

#include "cluster/net/node_testing.h"
#include "cluster/vote/vote_keys_testing.h"
#include "sim/machine_testing.h"

namespace bellwether::cluster {
namespace {

using testing::HasSubstr;

// What of a node outlives its process.
struct Machine {
  MemoryKv disk;
  runtime::Endpoint at{runtime::IpAddress::loopback(), 0};
};

class VoteDriverNode final : public TestNode, public Leadership::Listener, public ResourceSource {
 public:
  VoteDriverNode(runtime::Runtime& runtime, std::map<std::string, Machine>& machines, std::string name,
                 unsigned char key, double cpu)
      : TestNode(runtime, name, wire::Role::kManager, machines[name].at),
        machines_(machines),
        cpu_(cpu),
        seal_(test_seal(key)) {
    machines_[name].at = address().endpoint;
  }
  void start(bool first) {
    VoteSettings settings;
    settings.key = "flock";
    settings.self = name;
    settings.members = {"a", "b", "c"};
    settings.timing = vote::VoteTiming::lan();
    settings.capabilities = {"admin_election"};
    settings.first_start = first;
    driver_ = std::make_unique<VoteDriver>(runtime, machines_[name].disk, *links, router,
                                           callback_to<&VoteDriverNode::find>(*this), seal_, *this, std::move(settings),
                                           runtime.prng().next(), *this);
    scope.spawn(driver_->run(scope.cancellation()));
  }
  VoteDriver& driver() { return *driver_; }
  bool leads() const { return driver_->leads(runtime.boot_now()); }
  // Signs any message with its own key.
  void say(const std::string& to, const vote::Message& message) {
    links->send(*find(to), message_type::kVote, wire::Priority::kLeadership, seal_.seal(message::encode(message)),
                Duration::seconds(1));
  }

  std::string leader;
  std::vector<std::string> notes;
  std::vector<std::string> complete;  // who has won
  std::vector<election::TermOfOffice> terms;
  std::vector<election::TermEnded> ended;
  std::vector<Instant> renewed;  // until when

 private:
  void on_renewed(Instant ends, Duration) override { renewed.push_back(ends); }
  void on_elected(const election::TermOfOffice& term) override { terms.push_back(term); }
  void on_drain(const std::string&) override { driver_->work_stopped(); }
  void on_term_ended(const election::TermEnded& end) override {
    ended.push_back(end);
    if (end.work_runs) driver_->work_stopped();
  }
  void on_leader_changed(const std::string& node, election::Term, const std::string&) override { leader = node; }
  void on_election_complete(const std::string& winner, election::Term, const std::string&) override {
    complete.push_back(winner);
  }
  void on_note(bool, const std::string& text) override { notes.push_back(text); }
  std::optional<PeerAddress> find(const std::string& node) const {
    const auto found = machines_.find(node);
    if (found == machines_.end() || found->second.at.port == 0) return std::nullopt;
    return PeerAddress{node, found->second.at};
  }
  vote::Resources resources() const override { return {cpu_, 0.5, 0.5, 1}; }

  std::map<std::string, Machine>& machines_;
  double cpu_;
  VoteSeal seal_;
  std::unique_ptr<VoteDriver> driver_;
};

class VoteDriverTest : public sim::MachineTest {
 protected:
  VoteDriverNode& make(const std::string& name, unsigned char key, double cpu) {
    nodes_[name] = std::make_unique<VoteDriverNode>(runtime_, machines_, name, key, cpu);
    return *nodes_[name];
  }
  // Ports first: they must be known to all.
  void make_all() {
    make("a", 1, 0.1), make("b", 2, 0.2), make("c", 3, 0.3);
    for (const auto& [name, node] : nodes_) node->start(true);
  }
  void stop(const std::string& name) {
    machine_.run(nodes_.at(name)->close());
    nodes_.erase(name);
  }
  bool all_follow(const std::string& name) {
    return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.second->leader == name; });
  }
  void TearDown() override {
    while (!nodes_.empty()) stop(nodes_.begin()->first);
  }

  std::map<std::string, Machine> machines_;
  std::map<std::string, std::unique_ptr<VoteDriverNode>> nodes_;
};

TEST_F(VoteDriverTest, the_best_is_elected_and_another_one_when_it_is_gone) {
  make_all();
  until([&] { return all_follow("a") && nodes_.at("a")->leads(); });
  const election::TermOfOffice term = nodes_.at("a")->terms.at(0);
  EXPECT_EQ(term.key, "flock");
  EXPECT_EQ(term.holder, "a");
  EXPECT_GT(term.valid_for(runtime_.boot_now()), Duration::zero());
  EXPECT_EQ(nodes_.at("a")->driver().view().decided_by, "vote");
  stop("a");
  EXPECT_LE(term.valid_for(runtime_.boot_now()), Duration::zero()) << "nobody renews it";
  until([&] { return all_follow("b") && nodes_.at("b")->leads(); });
  EXPECT_GT(nodes_.at("b")->terms.at(0).epoch, term.epoch);
}

TEST_F(VoteDriverTest, it_hands_over_to_whom_it_is_told_and_says_why_not) {
  make_all();
  until([&] { return all_follow("a") && nodes_.at("a")->leads(); });
  EXPECT_THAT(nodes_.at("b")->driver().hand_over("wish", "c").error().message, HasSubstr("is not the admin"));
  EXPECT_THAT(nodes_.at("a")->driver().hand_over("wish", "d").error().message, HasSubstr("'d' is not a member"));
  EXPECT_THAT(nodes_.at("b")->driver().call_election(false).error().message,
              HasSubstr("'a' is the admin: send the request to it"));
  EXPECT_THAT(nodes_.at("a")->driver().change_voters(true, "d").error().message,
              HasSubstr("the settings of all nodes"));
  // The heir has not answered a heartbeat at first.
  bool begun = false;
  until([&] { return begun = begun || nodes_.at("a")->driver().hand_over("wish", "c").has_value(); });
  until([&] { return all_follow("c") && nodes_.at("c")->leads(); });
  EXPECT_EQ(nodes_.at("a")->ended.at(0).reason, election::EndReason::kResigned);
}

TEST_F(VoteDriverTest, who_signs_with_another_key_is_not_listened_to) {
  make("a", 9, 0.1), make("b", 2, 0.2), make("c", 3, 0.3);
  for (const auto& [name, node] : nodes_) node->start(true);
  until([&] { return nodes_.at("b")->leads() && nodes_.at("c")->leader == "b"; });
  const VoteCounts counts = nodes_.at("b")->driver().last_vote()->status.counts;
  EXPECT_GT(counts.unheard[static_cast<std::size_t>(Unheard::kUnsigned)], 0u);
  EXPECT_GT(counts.unsigned_of.at("a"), 0u);
  EXPECT_THAT(nodes_.at("b")->notes,
              testing::Contains(HasSubstr("names 'a' as its sender is not signed with that node's key")));
}

TEST_F(VoteDriverTest, who_speaks_in_the_name_of_another_is_refused_counted_and_told_of) {
  make_all();
  until([&] { return all_follow("a"); });
  vote::Message forged;
  forged.from = vote::NodeId(member_id("c").value());
  forged.start = forged.mark = forged.sequence = 1;
  forged.term = election::Term(99);
  forged.body = vote::Winner{election::Term(99), 1, {}};
  nodes_.at("b")->say("a", forged);
  until([&] { return nodes_.at("a")->router.refused() == 1; });
  EXPECT_LT(nodes_.at("a")->driver().kernel().record().promised, election::Term(99));
  EXPECT_THAT(nodes_.at("a")->notes, testing::Contains(HasSubstr("'b' sent a message in the name of another node")));
}

TEST_F(VoteDriverTest, elections_heartbeats_and_promises_are_counted_and_told) {
  make_all();
  until([&] { return all_follow("a") && nodes_.at("a")->leads(); });
  const auto status = [&](const char* name) { return nodes_.at(name)->driver().last_vote()->status; };
  until([&] { return status("a").followers.at(0).beats.answered > 1 && status("b").counts.beats_heard > 2; });
  const VoteStatus admin = status("a");
  const VoteStatus follower = status("b");
  ASSERT_TRUE(admin.heartbeat && follower.heartbeat);
  EXPECT_TRUE(admin.heartbeat->sent);
  EXPECT_FALSE(follower.heartbeat->sent);
  EXPECT_GT(admin.heartbeat->sequence, admin.heartbeat->round);
  EXPECT_LT(follower.heartbeat->age, Duration::minutes(1));
  ASSERT_EQ(admin.promises.size(), 2u);
  EXPECT_EQ(admin.promises[0].by, "b");
  EXPECT_EQ(admin.promises[0].to, "a");
  EXPECT_LE(admin.promises[0].ends_in, Duration::seconds(1));
  ASSERT_EQ(follower.promises.size(), 1u);
  EXPECT_EQ(follower.promises[0].by, "b");
  EXPECT_EQ(follower.promises[0].to, "a");
  EXPECT_GE(admin.elections_last_hour, 1u);
  EXPECT_EQ(admin.counts.lengths.count, admin.elections_last_hour);
  EXPECT_GE(admin.counts.participation, 2.0 / 3);
  const auto messages = nodes_.at("b")->driver().vote_messages();
  const auto has = [&](bool sent, std::string_view kind) {
    return std::any_of(messages.begin(), messages.end(),
                       [&](const VoteMessageView& one) { return one.sent == sent && one.kind == kind; });
  };
  EXPECT_TRUE(has(false, "winner"));
  EXPECT_TRUE(has(false, "heartbeat"));
  EXPECT_TRUE(has(true, "vote"));
  EXPECT_EQ(nodes_.at("b")->complete.back(), "a");
}

TEST_F(VoteDriverTest, what_it_has_voted_and_promised_outlives_it) {
  make_all();
  until([&] { return all_follow("a"); });
  until([&] { return nodes_.at("b")->driver().kernel().record().promised.value() == 1; });
  stop("b");
  make("b", 2, 0.2).start(false);
  until([&] { return nodes_.at("b")->leader == "a"; });
  EXPECT_EQ(nodes_.at("b")->driver().kernel().record().start, 2u);
  EXPECT_FALSE(nodes_.at("b")->driver().kernel().follows_only());
}

TEST_F(VoteDriverTest, its_experience_goes_on_over_its_lives_and_its_network_is_measured) {
  make_all();
  until([&] { return all_follow("a"); });
  until([&] { return nodes_.at("b")->driver().kernel().claim().resources.network_quality < 1; });
  EXPECT_GT(nodes_.at("b")->driver().kernel().claim().resources.network_quality, 0.5) << "on this very machine";
  stop("b");
  const int64_t kept = std::stoll(machines_.at("b").disk.kept.at("vote/experience"));
  EXPECT_GT(kept, 0);
  make("b", 2, 0.2).start(false);
  until([&] { return nodes_.at("b")->leader == "a"; });
  const vote::Claim claim = nodes_.at("b")->driver().kernel().claim();
  EXPECT_GE(claim.experience, Duration::nanos(kept) + claim.uptime);
  EXPECT_LT(claim.uptime, claim.experience);
}

TEST_F(VoteDriverTest, who_does_not_stand_votes_and_who_leads_goes_on) {
  make_all();
  nodes_.at("a")->driver().stand(false);
  until([&] { return all_follow("b") && nodes_.at("b")->leads(); });
  EXPECT_THAT(nodes_.at("a")->driver().view().stands_back, HasSubstr("its work does not permit it"));
  nodes_.at("b")->driver().stand(false);
  nodes_.at("a")->driver().stand(true);
  std::vector<Instant>& renewed = nodes_.at("b")->renewed;
  const std::size_t before = renewed.size();
  until([&] { return renewed.size() > before + 2; });
  EXPECT_GT(renewed.back(), nodes_.at("b")->terms.at(0).since + nodes_.at("b")->driver().stop_grace());
  EXPECT_TRUE(nodes_.at("b")->leads());
  nodes_.at("b")->driver().work_stopped();
  until([&] { return all_follow("a") && nodes_.at("a")->leads(); });
}

TEST_F(VoteDriverTest, who_knows_nothing_of_earlier_votes_follows_and_says_what_to_do) {
  make("a", 1, 0.1), make("b", 2, 0.2), make("c", 3, 0.3);
  nodes_.at("a")->start(true);
  nodes_.at("b")->start(true);
  nodes_.at("c")->start(false);
  until([&] { return all_follow("a"); });
  EXPECT_TRUE(nodes_.at("c")->driver().kernel().follows_only());
  EXPECT_THAT(nodes_.at("c")->notes, testing::Contains(HasSubstr("--first-start")));
  EXPECT_THAT(nodes_.at("c")->driver().obstacle(), HasSubstr("its record of votes is lost"));
}

}  // namespace
}  // namespace bellwether::cluster
