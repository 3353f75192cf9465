#include <gmock/gmock.h>
#include <optional>

#include "core/runtime/scope.h"
#include "sim/cluster/node_place.h"
#include "sim/world.h"

namespace bellwether::sim {
namespace {

using runtime::task;
using testing::Pair;

// A machine whose process opens its store, does what a test wants, and stays.
class SimKvTest : public testing::Test {
 protected:
  struct Context {
    StoredKeys* stored;
    bool careless = false;
    SimKv* kv = nullptr;
    int puts = 0;  // how many are asked for, of the keys "0", "1" and so on
    std::vector<Status> answers;
    std::vector<std::pair<std::string, std::string>> found;
    Result<std::optional<std::string>> got = std::nullopt;
  };
  static task<void> put(Context* context, int number) {
    std::vector<cluster::KvChange> changes;
    changes.push_back({std::to_string(number), "v" + std::to_string(number)});
    const Status done = co_await context->kv->put(std::move(changes));
    context->answers.push_back(done);
  }
  static task<void> process(runtime::Runtime& runtime, void* pointer) {
    auto* context = static_cast<Context*>(pointer);
    SimKv kv(runtime, *context->stored, context->careless);
    context->kv = &kv;
    runtime::Scope scope;
    auto list = co_await kv.list("");
    if (list) context->found = *list;
    for (int i = 0; i < context->puts; ++i) scope.spawn(put(context, i));
    co_await scope.join();
    context->got = co_await kv.get("0");
    co_await runtime.sleep(Duration::hours(1));
  }
  void start(int puts) {
    context_.puts = puts;
    context_.answers.clear();
    node_.start(&process, &context_);
  }

  World world_{1};
  Node& node_ = world_.add_node("m1");
  std::optional<StoredKeys> stored_;
  Context context_{.stored = nullptr, .answers = {}, .found = {}};
  // A disk with nothing on it.
  void replace_disk() {
    stored_.emplace(world_.prng(), node_.disk());
    context_.stored = &*stored_;
  }
  void SetUp() override { replace_disk(); }
  void TearDown() override { node_.lose_power(); }
};

TEST_F(SimKvTest, keeps_what_it_has_confirmed_over_a_loss_of_power) {
  start(3);
  world_.run_for(Duration::seconds(1));
  ASSERT_EQ(context_.answers.size(), 3u);
  ASSERT_TRUE(context_.got);
  EXPECT_EQ(*context_.got, "v0");
  node_.lose_power();
  start(0);
  world_.run_for(Duration::seconds(1));
  EXPECT_THAT(context_.found, testing::ElementsAre(Pair("0", "v0"), Pair("1", "v1"), Pair("2", "v2")));
}

// Of what was asked for, the first part is there, however long that part is.
TEST_F(SimKvTest, loses_only_the_end_of_what_it_had_not_confirmed) {
  node_.disk().settings().sync_min = Duration::seconds(1);
  node_.disk().settings().sync_max = Duration::seconds(1);
  bool lost = false;
  bool kept = false;
  for (int round = 0; round < 20; ++round) {
    start(2);
    world_.run_for(Duration::millis(500));
    ASSERT_TRUE(context_.answers.empty());
    node_.kill();
    EXPECT_FALSE(stored_->has("1") && !stored_->has("0"));
    lost = lost || !stored_->has("0");
    kept = kept || stored_->has("1");
    replace_disk();
  }
  EXPECT_TRUE(lost);
  EXPECT_TRUE(kept);
}

TEST_F(SimKvTest, does_what_has_waited_at_the_speed_that_it_has_by_then) {
  node_.disk().settings().sync_min = Duration::seconds(10);
  node_.disk().settings().sync_max = Duration::seconds(10);
  start(3);
  world_.run_for(Duration::seconds(1));
  node_.disk().settings() = {};
  world_.run_for(Duration::seconds(10));
  EXPECT_EQ(context_.answers.size(), 3u);
}

TEST_F(SimKvTest, says_so_when_the_disk_fails_and_nothing_works_after_the_worst_failure) {
  node_.disk().settings().sync_error = 1;
  bool full = false;
  bool broken = false;
  for (int round = 0; round < 20 && !broken; ++round) {
    start(1);
    world_.run_for(Duration::seconds(1));
    ASSERT_EQ(context_.answers.size(), 1u);
    ASSERT_FALSE(context_.answers[0]);
    full = full || context_.answers[0].error().code == Errc::kNoSpace;
    broken = context_.answers[0].error().code == Errc::kIo;
    EXPECT_EQ(context_.got.has_value(), !broken);
    node_.kill();
  }
  EXPECT_TRUE(full);
  EXPECT_TRUE(broken);
}

TEST_F(SimKvTest, loses_what_a_careless_one_has_confirmed) {
  context_.careless = true;
  bool lost = false;
  for (int round = 0; round < 20 && !lost; ++round) {
    start(1);
    world_.run_for(Duration::millis(10));
    ASSERT_EQ(context_.answers.size(), 1u);
    ASSERT_TRUE(context_.answers[0]);
    node_.lose_power();
    lost = !stored_->has("0");
  }
  EXPECT_TRUE(lost);
}

}  // namespace
}  // namespace bellwether::sim
