#include "cluster/node/cluster_node.h"

#include <algorithm>
#include <gmock/gmock.h>

#include "cluster/node/node_admin.h"
#include "cluster/node/node_election.h"
#include "sim/cluster/node_place.h"
#include "sim/world.h"

namespace bellwether::node {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;

using Notes = std::vector<std::string>;

// A role that notes its events.
class NotingRole final : public NodeRole {
 public:
  NotingRole(std::string name, Notes& notes) : name_(std::move(name)), notes_(notes) {}
  ~NotingRole() override { note("is gone"); }

  runtime::task<Status> prepare(const NodeTools& tools) override {
    runtime_ = &tools.runtime;
    note("is prepared");
    co_return cannot.empty() ? Status() : Status(fail(Errc::kInvalid, cannot));
  }
  runtime::task<void> run(runtime::Cancellation* cancel) override {
    note("runs");
    co_await runtime_->sleep_until(Instant::never(), cancel);
    note("ends");
  }
  runtime::task<void> wind_up(Instant, runtime::Cancellation*) override {
    note("winds up");
    co_return;
  }
  void on_elected(const election::TermOfOffice&) override { note("is elected"); }
  void on_drain(const std::string&) override { note("is drained"); }
  void on_term_ended(const election::TermEnded&) override { note("is deposed"); }
  void on_gone(const std::string& name, const std::string&) override { note("misses " + name); }
  void on_there(const std::string& name) override { note("meets " + name); }

  std::string cannot;

 private:
  void note(const std::string& what) { notes_.push_back(name_ + " " + what); }
  std::string name_;
  Notes& notes_;
  runtime::Runtime* runtime_ = nullptr;
};

wire::Keyring shared_secret() {
  auto secret = wire::Secret::take("what all simulated nodes know, 7Q");
  return wire::Keyring(std::move(*secret));
}

// Of one node: what its operator says, and what outlives its processes.
struct Place {
  explicit Place(sim::World& in, const std::string& name) : world(in), machine(in.add_node(name)) {}

  void on_line(std::string_view event, const std::string& text, const Journal::Fields&) {
    lines.push_back(std::string(event) + ": " + text);
  }
  std::shared_ptr<NotingRole> role(const std::string& name) {
    auto role = std::make_shared<NotingRole>(name, notes);
    role->cannot = cannot;
    return role;
  }
  bool leads() const { return node != nullptr && node->election().leads(); }
  std::string leader() const { return node == nullptr ? std::string() : node->election().leader(); }

  sim::World& world;
  sim::Node& machine;
  sim::StoredKeys stored{world.prng(), machine.disk()};
  NodeOptions options;
  std::vector<std::string> roles;  // their names
  std::string cannot;              // why they cannot be prepared
  Notes notes;
  Notes lines;
  ClusterNode* node = nullptr;  // while its process runs
  void (*asked)(ClusterNode& node) = nullptr;
  std::optional<int> exit_code;
};

runtime::task<void> be_node(runtime::Runtime& runtime, void* context) {
  auto& place = *static_cast<Place*>(context);
  struct Presence {
    Place& place;
    ~Presence() { place.node = nullptr; }
  } presence{place};
  NodeSupplies supplies(shared_secret());
  supplies.kv = std::make_unique<sim::SimKv>(runtime, place.stored, false);
  std::vector<std::shared_ptr<NodeRole>> roles;
  for (const std::string& name : place.roles) roles.push_back(place.role(name));
  Journal journal(-1, false, "node");
  journal.tell(callback_to<&Place::on_line>(place));
  ClusterNode node(runtime, place.options, std::move(supplies), std::move(roles), journal);
  place.node = &node;
  place.exit_code = co_await node.run();
}

class ClusterNodeTest : public testing::Test {
 protected:
  explicit ClusterNodeTest(uint64_t seed = 7) : world_(seed) {
    const std::vector<std::string> names{"m1", "m2", "m3"};
    for (const std::string& name : names) {
      Place& place = *places_.emplace_back(std::make_unique<Place>(world_, name));
      cluster::NodeConfig& config = place.options.config;
      config.cluster = "flock";
      config.environment = "sim";
      config.name = name;
      config.datacenter = "dc1";
      config.listen = {place.machine.address().to_string(), cluster::kDefaultPort};
      config.voters = names;
      config.leadership = config.jobs = cluster::kQuorum;
      config.profile = "lan";
      place.options.first_start = true;
      place.options.found = name == "m1";
    }
    for (const auto& place : places_) {
      for (const auto& other : places_) place->options.config.seeds.push_back(other->options.config.listen);
    }
  }
  // The leader's last turns use what the test has.
  ~ClusterNodeTest() override {
    for (const auto& place : places_) {
      if (place->machine.is_running()) place->machine.kill();
    }
  }

  void start(Place& place) { place.machine.start(&be_node, &place); }
  void start_all() {
    for (const auto& place : places_) start(*place);
  }
  // In the next turn of the node, where all that is asked of it comes in.
  void ask(Place& place, void (*act)(ClusterNode& node)) {
    place.asked = act;
    place.machine.runtime().post(
        [](void* context) {
          auto& asked = *static_cast<Place*>(context);
          asked.asked(*asked.node);
        },
        &place);
  }
  template <class Holds>
  bool until(Holds holds) {
    return world_.run_while_waiting(Duration::seconds(60), holds);
  }
  // The one that leads, when all that run say the same.
  Place* leader() {
    Place* found = nullptr;
    for (const auto& place : places_) {
      if (!place->leads()) continue;
      if (found != nullptr) return nullptr;
      found = place.get();
    }
    if (found == nullptr) return nullptr;
    const bool agreed = std::all_of(places_.begin(), places_.end(), [&](const auto& place) {
      return place->node == nullptr || place->leader() == found->options.config.name;
    });
    return agreed ? found : nullptr;
  }
  bool elected() {
    return until([&] { return leader() != nullptr; });
  }

  sim::World world_;
  std::vector<std::unique_ptr<Place>> places_;
};

TEST_F(ClusterNodeTest, three_whole_nodes_elect_one_of_them) {
  start_all();
  ASSERT_TRUE(elected());
  EXPECT_TRUE(until([&] {
    return std::all_of(places_.begin(), places_.end(), [](const auto& place) {
      return place->node->admin().members().size() == 3 && place->node->admin().not_ready().empty();
    });
  }));
  EXPECT_THAT(leader()->lines, Contains(testing::HasSubstr("elected: this node leads, term")));
}

TEST_F(ClusterNodeTest, when_the_leader_is_killed_another_leads_and_it_comes_back_as_a_follower) {
  start_all();
  ASSERT_TRUE(elected());
  Place& dead = *leader();
  const uint64_t term = dead.node->election().term().epoch.value();
  dead.machine.kill();
  ASSERT_TRUE(elected());
  Place& next = *leader();
  EXPECT_NE(&next, &dead);
  EXPECT_GT(next.node->election().term().epoch.value(), term);
  dead.options.first_start = dead.options.found = false;
  dead.machine.restart();
  EXPECT_TRUE(until([&] { return dead.leader() == next.options.config.name && dead.node->members().joined(); }));
}

TEST_F(ClusterNodeTest, a_node_that_does_not_vote_hears_of_the_leader_from_another_one) {
  start_all();
  ASSERT_TRUE(elected());
  const std::string leading = leader()->options.config.name;
  Place worker(world_, "w1");
  worker.options = places_[0]->options;
  worker.options.first_start = worker.options.found = false;
  worker.options.config.name = "w1";
  worker.options.config.role = wire::Role::kWorker;
  worker.options.config.listen.host = worker.machine.address().to_string();
  world_.network().block_both_ways(worker.machine, leader()->machine);
  start(worker);
  EXPECT_TRUE(until([&] { return worker.leader() == leading; }));
  EXPECT_THAT(worker.lines, Contains(AllOf(HasSubstr("leader: '" + leading + "' leads"), HasSubstr("' reports it"))));

  // Of a term that it knows of, it believes the leader alone.
  const uint64_t term = worker.node->election().leader_term();
  ClusterNode& told = *worker.node;
  told.on_peer_state(leading, {.leads = false, .term = term});
  EXPECT_EQ(worker.leader(), "");
  told.on_peer_state("m9", {.term = term, .leader = leading});
  EXPECT_EQ(worker.leader(), "");
  told.on_peer_state("m9", {.term = term + 1, .leader = leading});
  EXPECT_EQ(worker.leader(), leading);
  told.on_peer_state("m9", {.term = term, .leader = "m9"});
  EXPECT_EQ(worker.leader(), leading) << "old news";
  worker.machine.kill();
}

TEST_F(ClusterNodeTest, a_leader_that_is_asked_to_leave_hands_over_and_ends) {
  for (const auto& place : places_) place->roles = {"role"};
  start_all();
  ASSERT_TRUE(elected());
  Place& leaving = *leader();
  EXPECT_THAT(leaving.notes, Contains("role is elected"));
  leaving.notes.clear();
  ask(leaving, [](ClusterNode& node) { EXPECT_TRUE(node.admin().leave("ann")); });
  ASSERT_TRUE(until([&] { return leaving.exit_code.has_value(); }));
  EXPECT_EQ(leaving.exit_code, 0);
  EXPECT_THAT(leaving.notes,
              ElementsAre("role winds up", "role is drained", "role is deposed", "role ends", "role is gone"));
  EXPECT_TRUE(elected()) << "nobody had to wait for a lease to run out";
  EXPECT_THAT(leader()->notes, Contains("role misses " + leaving.options.config.name));
}

TEST_F(ClusterNodeTest, roles_begin_in_their_order_and_end_in_the_reverse_order) {
  Place& place = *places_[0];
  place.options.config.voters = {"m1"};
  place.roles = {"first", "second"};
  start(place);
  ASSERT_TRUE(until([&] { return place.leads(); }));
  EXPECT_THAT(place.notes, ElementsAre("first is prepared", "second is prepared", "first runs", "second runs",
                                       "first is elected", "second is elected"));
  place.notes.clear();
  ask(place, [](ClusterNode& node) { node.go("the test says so"); });
  ASSERT_TRUE(until([&] { return place.exit_code.has_value(); }));
  EXPECT_THAT(place.notes, ElementsAre("second winds up", "first winds up", "first is drained", "second is drained",
                                       "first is deposed", "second is deposed", "second ends", "first ends",
                                       "second is gone", "first is gone"));
}

TEST_F(ClusterNodeTest, a_role_that_cannot_do_its_work_ends_its_node) {
  Place& place = *places_[0];
  place.roles = {"first", "second"};
  place.cannot = "there is no room";
  start(place);
  ASSERT_TRUE(until([&] { return place.exit_code.has_value(); }));
  EXPECT_EQ(place.exit_code, kExitNotStarted);
  EXPECT_THAT(place.lines, Contains("error: there is no room"));
  EXPECT_THAT(place.notes, ElementsAre("first is prepared", "second is gone", "first is gone"));
}

TEST_F(ClusterNodeTest, who_leaves_before_it_has_found_its_cluster_ends_at_once) {
  Place& place = *places_[1];  // which founds nothing, and no other node is there
  place.options.config.seeds = {{"10.0.0.77", cluster::kDefaultPort}};
  start(place);
  world_.run_for(Duration::seconds(1));
  ASSERT_NE(place.node, nullptr);
  ask(place, [](ClusterNode& node) { node.go("the test says so"); });
  world_.run_for(Duration::seconds(2));
  EXPECT_EQ(place.exit_code, 0);
}

TEST_F(ClusterNodeTest, a_second_node_of_the_same_name_ends_and_says_who_has_it) {
  start_all();
  ASSERT_TRUE(elected());
  Place twin(world_, "twin");
  twin.options = places_[1]->options;
  twin.options.config.listen.host = twin.machine.address().to_string();
  start(twin);
  EXPECT_TRUE(until([&] { return twin.exit_code.has_value() || places_[1]->exit_code.has_value(); }));
  EXPECT_EQ(twin.exit_code.value_or(kExitNotJoined), kExitNotJoined);
  if (twin.machine.is_running()) twin.machine.kill();
}

TEST_F(ClusterNodeTest, a_node_that_is_asked_twice_waits_for_nobody) {
  for (const auto& place : places_) place->roles = {"role"};
  start_all();
  ASSERT_TRUE(elected());
  Place& leaving = *leader();
  // No node takes over or hears that it leaves.
  for (const auto& place : places_) {
    if (place.get() != &leaving) place->machine.pause();
  }
  ask(leaving, [](ClusterNode& node) { node.go("the test says so"); });
  world_.run_for(Duration::millis(100));
  EXPECT_EQ(leaving.exit_code, std::nullopt);
  ask(leaving, [](ClusterNode& node) { node.end_at_once(130); });
  world_.run_for(Duration::seconds(1));
  EXPECT_EQ(leaving.exit_code, 130);
}

TEST(ClusterNode, one_seed_is_one_run) {
  const auto fingerprint = [](uint64_t seed) {
    struct Run final : ClusterNodeTest {
      explicit Run(uint64_t from) : ClusterNodeTest(from) {}
      void TestBody() override {}
      uint64_t live() {
        start_all();
        world_.run_for(Duration::seconds(20));
        return world_.fingerprint();
      }
    } run(seed);
    return run.live();
  };
  EXPECT_EQ(fingerprint(11), fingerprint(11));
  EXPECT_NE(fingerprint(11), fingerprint(12));
}

}  // namespace
}  // namespace bellwether::node
