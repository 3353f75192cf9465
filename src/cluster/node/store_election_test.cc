#include "cluster/node/store_election.h"

#include <gmock/gmock.h>
#include <map>

#include "election/store/memory/memory_store.h"
#include "sim/world.h"

namespace bellwether::node {
namespace {

using testing::HasSubstr;

constexpr Duration kStoreElectionLease = Duration::seconds(3);

// The disk of a node, whose writes are durable at once.
class Disk final : public cluster::Kv {
 public:
  explicit Disk(std::map<std::string, std::string>& kept) : kept_(kept) {}
  runtime::task<Result<std::optional<std::string>>> get(std::string key) override {
    const auto found = kept_.find(key);
    co_return found == kept_.end() ? std::nullopt : std::optional(found->second);
  }
  runtime::task<Result<std::vector<std::pair<std::string, std::string>>>> list(std::string) override {
    co_return fail(Errc::kUnsupported, "nobody lists here");
  }
  runtime::task<Status> put(std::vector<cluster::KvChange> changes) override {
    for (cluster::KvChange& one : changes) kept_[one.key] = one.value.value_or("");
    co_return Status();
  }

 private:
  std::map<std::string, std::string>& kept_;
};

// A key of a store that can be away.
class Reached final : public store::StoreKey {
 public:
  Reached(std::unique_ptr<StoreKey> key, const bool& away) : key_(std::move(key)), away_(away) {}
  runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    if (away_) co_return fail(Errc::kTimeout, "no route");
    auto seen = co_await key_->look(deadline, cancel);
    co_return seen;
  }
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                    runtime::Cancellation* cancel) override {
    if (away_) co_return fail(Errc::kTimeout, "no route");
    auto outcome = co_await key_->act(std::move(request), deadline, cancel);
    co_return outcome;
  }
  runtime::task<bool> changed(runtime::Cancellation*) override { co_return false; }

 private:
  std::unique_ptr<StoreKey> key_;
  const bool& away_;
};

// A node: its election, and the reports of that.
struct Peer final : cluster::Leadership::Listener {
  std::shared_ptr<store::Memory> memory;
  std::string name;
  std::vector<const Peer*> others;
  std::map<std::string, std::string> disk;
  StoreElection* election = nullptr;
  bool away = false;  // the store, for this node
  bool said = false;  // to the others: that it could lead
  bool joined = true;
  uint64_t term = 0;  // while it leads
  std::vector<std::string> leaders;
  std::string evidence;  // of the last change
  bool retired = false;

  std::vector<Rival> rivals() const {
    std::vector<Rival> out;
    for (const Peer* one : others) {
      if (one->election == nullptr) continue;
      out.push_back({.name = one->name, .electable = one->said, .decided_by = "memory"});
    }
    return out;
  }
  void on_elected(const election::TermOfOffice& won) override { term = won.epoch.value(); }
  void on_drain(const std::string&) override { election->work_stopped(); }
  void on_term_ended(const election::TermEnded& ended) override {
    term = 0;
    if (ended.work_runs) election->work_stopped();
  }
  void on_leader_changed(const std::string& leader, election::Term, const std::string& why) override {
    leaders.push_back(leader);
    evidence = why;
  }
  void on_retired() override { retired = true; }
  void on_note(bool, const std::string&) override {}
  std::string leader() const { return leaders.empty() ? std::string() : leaders.back(); }
};

runtime::task<void> live(runtime::Runtime& runtime, void* context) {
  auto& self = *static_cast<Peer*>(context);
  store::MemoryStore memory(runtime, self.memory);
  auto opened = memory.open("k");
  Reached key(std::move(*opened), self.away);
  Disk disk(self.disk);
  StoreElectionSettings settings;
  settings.key = "k";
  settings.self = self.name;
  settings.decided_by = "memory";
  settings.timing = election::LeaseTiming::of(kStoreElectionLease);
  self.term = 0;
  StoreElection election(runtime, memory, key, &disk, callback_to<&Peer::rivals>(self), std::move(settings),
                         runtime.prng().next(), self);
  self.election = &election;
  if (self.joined) election.set_health({});
  co_await election.run(nullptr);
  self.election = nullptr;
}

class StoreElectionTest : public testing::Test {
 protected:
  StoreElectionTest() {
    for (Peer* one : {&a, &b}) one->memory = memory;
    a.name = "a";
    b.name = "b";
    a.others = {&b};
    b.others = {&a};
    world.run_for(Duration::seconds(1));
  }
  // Time passes, and the nodes exchange their states.
  void pass(Duration span) {
    for (Duration passed; passed < span; passed += Duration::millis(100)) {
      world.run_for(Duration::millis(100));
      for (Peer* one : {&a, &b}) one->said = one->election != nullptr && one->election->electable();
    }
  }
  // In a turn of that node.
  template <class Act>
  void at(sim::Node& node, Act act) {
    node.runtime().post([](void* context) { (*static_cast<Act*>(context))(); }, &act);
    world.run_for(Duration::millis(1));
  }
  void health(sim::Node& node, Peer& peer, quorum::LocalHealth health) {
    at(node, [&] { peer.election->set_health(health); });
  }
  std::string hand_over(sim::Node& node, Peer& peer, const std::string& heir) {
    Status done;
    at(node, [&] { done = peer.election->hand_over("an operator", heir); });
    return done ? "begun" : done.error().message;
  }
  void start(sim::Node& node, Peer& peer) {
    node.start(&live, &peer);
    pass(Duration::seconds(1));
  }
  void kill(sim::Node& node, Peer& peer) {
    node.kill();
    peer.election = nullptr;
  }
  Peer& leading() { return a.term != 0 ? a : b; }

  std::shared_ptr<store::Memory> memory = std::make_shared<store::Memory>();
  Peer a;
  Peer b;
  sim::World world{1};
  sim::Node& first = world.add_node("a");
  sim::Node& second = world.add_node("b");
};

TEST_F(StoreElectionTest, one_leads_and_both_know_of_it) {
  start(first, a);
  start(second, b);
  EXPECT_EQ(a.term, 1u);
  EXPECT_EQ(b.term, 0u);
  EXPECT_EQ(a.leader(), "a");
  EXPECT_EQ(b.leader(), "a");
  EXPECT_THAT(b.evidence, HasSubstr("holder of the key k"));
  kill(first, a);
  pass(kStoreElectionLease * 2);
  EXPECT_EQ(b.term, 2u);
  EXPECT_EQ(b.leader(), "b");
}

TEST_F(StoreElectionTest, whoever_has_not_joined_lets_others_go_first) {
  a.joined = false;
  start(first, a);
  EXPECT_EQ(a.term, 0u);
  EXPECT_FALSE(a.election->electable());
  EXPECT_THAT(a.election->view().stands_back, HasSubstr("has not joined"));
  start(second, b);
  EXPECT_EQ(b.term, 1u);
}

TEST_F(StoreElectionTest, a_leader_that_is_not_fit_gives_way_to_one_that_is_and_not_too_soon) {
  start(first, a);
  start(second, b);
  health(second, b, {.score = 6});
  health(first, a, {.load = quorum::Load::kCritical});
  pass(Duration::minutes(1));
  EXPECT_EQ(a.term, 1u) << "a leader that is not fit is better than none";
  health(second, b, {});
  pass(kStoreElectionLease);
  EXPECT_EQ(b.term, 2u);
  health(second, b, {.ready = false});
  health(first, a, {});
  pass(Duration::seconds(20));
  EXPECT_EQ(b.term, 2u) << "it has only just begun";
  pass(Duration::seconds(15));
  EXPECT_EQ(a.term, 3u);
}

TEST_F(StoreElectionTest, nobody_else_is_fit_so_who_is_not_leads_in_the_end) {
  start(first, a);
  b.joined = false;
  start(second, b);
  kill(first, a);
  pass(kStoreElectionLease * 3);
  EXPECT_EQ(b.term, 0u);
  EXPECT_EQ(b.leader(), "") << "and says that nobody does";
  EXPECT_THAT(b.evidence, HasSubstr("the lease of 'a' has expired"));
  pass(kStoreElectionLease * 2);
  EXPECT_EQ(b.term, 2u);
}

TEST_F(StoreElectionTest, the_leadership_is_handed_to_whom_it_is_to_go_and_to_nobody_who_cannot) {
  start(first, a);
  EXPECT_THAT(hand_over(first, a, ""), HasSubstr("no other gate or manager can lead"));
  start(second, b);
  EXPECT_THAT(hand_over(first, a, "c"), HasSubstr("'c' is not a gate or manager"));
  EXPECT_THAT(hand_over(first, a, "a"), HasSubstr("is the leader already"));
  health(second, b, {.score = 8});
  pass(Duration::seconds(1));
  EXPECT_THAT(hand_over(first, a, "b"), HasSubstr("'b' cannot lead now"));
  health(second, b, {});
  pass(Duration::seconds(1));
  EXPECT_EQ(hand_over(first, a, ""), "begun");
  pass(kStoreElectionLease / 2);
  EXPECT_EQ(b.term, 2u) << "long before a lease is over";
  EXPECT_EQ(a.leader(), "b");
  EXPECT_THAT(a.election->change_voters(true, "c").error().message, HasSubstr("there are no voters"));
}

TEST_F(StoreElectionTest, who_leaves_hands_over_and_stands_no_more) {
  start(first, a);
  start(second, b);
  at(first, [&] { a.election->leave("an operator"); });
  pass(kStoreElectionLease / 2);
  EXPECT_TRUE(a.retired);
  EXPECT_EQ(a.election, nullptr);
  EXPECT_EQ(b.term, 2u);
}

TEST_F(StoreElectionTest, while_the_store_is_away_nobody_leads_and_everybody_says_why) {
  start(first, a);
  start(second, b);
  a.away = b.away = true;
  pass(kStoreElectionLease * 2);
  EXPECT_EQ(leading().term, 0u);
  for (Peer* one : {&a, &b}) {
    EXPECT_EQ(one->leader(), "");
    EXPECT_THAT(one->evidence, HasSubstr("no route"));
    EXPECT_THAT(one->election->obstacle(), HasSubstr("has not answered for"));
    EXPECT_FALSE(one->election->electable());
  }
  a.away = b.away = false;
  pass(kStoreElectionLease * 2);
  EXPECT_EQ(leading().term, 2u);
  EXPECT_EQ(a.leader(), leading().name);
  EXPECT_EQ(b.leader(), leading().name);
  EXPECT_THAT(a.election->obstacle(), testing::IsEmpty());
}

TEST_F(StoreElectionTest, a_store_that_forgot_is_noticed_by_a_node_that_has_started_again) {
  start(first, a);
  kill(first, a);
  memory->lose_everything();
  a.leaders.clear();
  start(first, a);
  EXPECT_EQ(a.term, 0u) << "somebody may hold the key still";
  pass(kStoreElectionLease * 2);
  EXPECT_EQ(a.term, 2u) << "above all that it knows of";
}

TEST_F(StoreElectionTest, what_was_kept_of_another_key_means_nothing_and_damage_is_no_memory) {
  a.disk["leadership/epoch"] = "70 memory: other";
  start(first, a);
  EXPECT_EQ(a.term, 1u);
  kill(first, a);
  a.disk["leadership/epoch"] = "x memory: k";
  start(first, a);
  pass(kStoreElectionLease * 3);
  EXPECT_EQ(a.term, 0u);
  EXPECT_FALSE(a.election->electable());
}

}  // namespace
}  // namespace bellwether::node
