// What workflows leave for others: merged in any order, safe before it is used, and never waited for without end.
#include <gmock/gmock.h>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

using testing::HasSubstr;

// "auth" leaves a token for "browse".
JobSpec two_layers() {
  JobSpec spec{load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})};
  spec[0].provides = {"token"};
  spec[1].uses = {{0, 0, "token", true}};
  return spec;
}

struct LayersOfTwo : testing::Test {
  LayersOfTwo() {
    world.add("w1", 2);
    world.add("w2", 2);
    world.begin();
  }
  JobWorld world{two_layers(), 1};
};

// Until no share of the first workflow runs any more.
void run_first_layer(JobWorld& world) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 120 && !is_final(world.sheet().workflows[0].state); ++i) world.step(Duration::millis(100));
  ASSERT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
}

std::vector<std::string> given_to_browse(const JobWorld& world) {
  std::vector<std::string> out;
  for (const auto& [id, order] : world.orders()) {
    if (order.workflow != 1) continue;
    EXPECT_EQ(order.context_version, 1u);
    for (const plan::Given& one : order.given) out.push_back(one.text);
  }
  return out;
}

TEST_F(LayersOfTwo, values_are_given_to_whoever_uses_them) {
  expect_end(world, Duration::minutes(1));
  const auto given = given_to_browse(world);
  ASSERT_EQ(given.size(), 2u);
  EXPECT_THAT(given[0], HasSubstr("token of part "));
  EXPECT_EQ(given[0], given[1]) << "everybody begins with the same";
}

TEST_F(LayersOfTwo, nothing_begins_before_a_quorum_has_the_values) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  for (int i = 0; i < 150; ++i) world.step(Duration::millis(100));
  EXPECT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kPending);
  EXPECT_TRUE(given_to_browse(world).empty());
  world.register_stands = true;
  expect_end(world, Duration::minutes(1));
  EXPECT_EQ(given_to_browse(world).size(), 2u);
}

TEST_F(LayersOfTwo, without_a_quorum_for_long_the_rest_is_skipped) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  for (int i = 0; i < 400; ++i) world.step(Duration::millis(100));
  world.register_stands = true;
  expect_end(world, Duration::minutes(1), JobState::kPartial);
  EXPECT_EQ(world.sheet().workflows[1].state, WorkflowState::kSkipped);
  EXPECT_THAT(world.sheet().workflows[1].why, HasSubstr("no quorum"));
  EXPECT_EQ(world.sheet().events.back().kind, "layer_sync_failed");
  ASSERT_EQ(world.sheet().losses.size(), 1u) << "what was skipped is no pass";
  EXPECT_EQ(world.sheet().losses[0].share, 1.0);
  EXPECT_EQ(world.sheet().losses[0].to - world.sheet().losses[0].from, Duration::seconds(30));
  EXPECT_EQ(world.sheet().losses[0].cause, "never begun, workflow 'browse'");
}

TEST_F(LayersOfTwo, another_owner_has_the_values_of_the_last_one) {
  run_first_layer(world);
  world.step(Duration::millis(10));
  world.replace_owner();
  expect_end(world, Duration::minutes(1));
  EXPECT_FALSE(given_to_browse(world).empty());
}

TEST_F(LayersOfTwo, another_owner_asks_for_values_that_no_quorum_had) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
  // The sheets are written, the values are not: as when the owner dies between the two.
  world.loses_context = true;
  for (int i = 0; i < 10; ++i) world.step(Duration::millis(100));
  ASSERT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
  world.loses_context = false;
  world.replace_owner();
  expect_end(world, Duration::minutes(1));
  ASSERT_FALSE(given_to_browse(world).empty());
  EXPECT_THAT(given_to_browse(world)[0], HasSubstr("token of part "));
}

TEST_F(LayersOfTwo, another_owner_that_comes_late_to_a_border_ends_the_job) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 50; ++i) world.step(Duration::millis(100));
  world.register_stands = false;
  world.forget_owner();
  for (int i = 0; i < 500; ++i) world.step(Duration::millis(100));
  world.register_stands = true;
  world.replace_owner();
  expect_end(world, Duration::minutes(1), JobState::kPartial);
}

TEST_F(LayersOfTwo, a_missing_value_is_told_and_the_rest_goes_on) {
  world.provides = false;
  expect_end(world, Duration::minutes(1));
  const auto& events = world.sheet().events;
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const JobEvent& one) {
    return one.kind == "value_missing" && one.detail.find("'auth' provided no 'token' for 'browse'") == 9;
  }));
}

// "auth" leaves a token of each user for "browse".
JobWorld world_of_lists() {
  JobSpec spec = two_layers();
  spec[0].lists = {0};
  JobWorld world(spec, 1);
  for (const char* name : {"w1", "w2", "w3"}) world.add(name, 2);
  world.begin();
  return world;
}

struct LayersOfLists : testing::Test {
  JobWorld world = world_of_lists();
};

std::vector<std::string> token_of_parts(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back("token of part " + std::to_string(i));
  return out;
}

// Of each share of the second workflow.
std::vector<std::vector<std::string>> lists_given(const JobWorld& world) {
  std::vector<std::vector<std::string>> out;
  for (const auto& [id, order] : world.orders()) {
    if (order.workflow == 1) out.push_back(order.given.empty() ? std::vector<std::string>() : order.given[0].list);
  }
  return out;
}

bool told_of(const JobWorld& world, std::string_view kind) {
  const auto& events = world.sheet().events;
  return std::any_of(events.begin(), events.end(), [kind](const JobEvent& one) { return one.kind == kind; });
}

TEST_F(LayersOfLists, a_list_has_the_values_of_all_shares) {
  expect_end(world, Duration::minutes(1));
  const auto lists = lists_given(world);
  ASSERT_EQ(lists.size(), 3u);
  for (const auto& list : lists) EXPECT_EQ(list, token_of_parts(6));
  EXPECT_FALSE(told_of(world, "list_cut"));
  EXPECT_FALSE(told_of(world, "value_missing"));
}

TEST_F(LayersOfLists, a_list_has_the_values_of_those_who_went_on_for_a_dead_worker) {
  ASSERT_TRUE(world.run_until_begun());
  for (int i = 0; i < 50; ++i) world.step(Duration::millis(100));
  world.die("w2");
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  const auto lists = lists_given(world);
  ASSERT_FALSE(lists.empty());
  for (const auto& list : lists) EXPECT_EQ(list, token_of_parts(6));
}

TEST(JobLayers, another_owner_has_the_list_of_the_last_one_or_asks_for_it) {
  for (const bool loses_context : {false, true}) {
    JobWorld world = world_of_lists();
    ASSERT_TRUE(world.run_until_begun());
    for (int i = 0; i < 95; ++i) world.step(Duration::millis(100));
    world.loses_context = loses_context;
    for (int i = 0; i < 10; ++i) world.step(Duration::millis(100));
    ASSERT_EQ(world.sheet().workflows[0].state, WorkflowState::kCompleted);
    world.loses_context = false;
    world.replace_owner();
    expect_end(world, Duration::minutes(1));
    const auto lists = lists_given(world);
    ASSERT_FALSE(lists.empty());
    for (const auto& list : lists) EXPECT_EQ(list, token_of_parts(6));
  }
}

TEST_F(LayersOfLists, a_list_of_nobody_is_missing) {
  world.provides = false;
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_TRUE(told_of(world, "value_missing"));
}

TEST_F(LayersOfLists, what_scripts_say_is_told_once_and_bounded) {
  ASSERT_TRUE(world.run_until_begun());
  std::vector<ShareId> shares;
  for (const ShareSheet& share : world.sheet().shares) shares.push_back(share.id);
  ASSERT_GE(shares.size(), 2U);
  const auto notes = [&] {
    std::vector<std::string> out;
    for (const JobEvent& one : world.sheet().events) {
      if (one.kind == "script") out.push_back(one.detail);
    }
    return out;
  };
  JobEffects out;
  ShareEnd end{ShareOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.notes = {"w.a: w.lua:4: no", "w.b: w.lua:9: nil"};
  world.job().ended(world.now(), shares[0], end, out);
  EXPECT_EQ(notes(), end.notes);
  world.job().ended(world.now(), shares[0], end, out);
  end.notes = {"w.a: w.lua:4: no"};
  for (std::size_t i = 0; i < 2 * kMostNotes; ++i) end.notes.push_back("another " + std::to_string(i));
  world.job().ended(world.now(), shares[1], end, out);
  EXPECT_EQ(notes().size(), kMostNotes);
  EXPECT_EQ(notes()[2], "another 0");
}

TEST_F(LayersOfLists, what_a_generator_found_out_about_itself_is_an_event_of_its_own_with_its_worker) {
  ASSERT_TRUE(world.run_until_begun());
  const ShareSheet& share = world.sheet().shares.front();
  const std::string worker = share.worker;
  JobEffects out;
  ShareEnd end{ShareOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.notes.assign(kMostNotes - 2, "w.a: w.lua:4: no");
  for (std::size_t i = 0; i < kMostNotes; ++i) end.notes.push_back("another " + std::to_string(i));
  end.findings = {{plan::Strain::kMemory, Duration::seconds(2), Duration::seconds(5), 0.93, true, "somebody else"},
                  {plan::Strain::kMemory, Duration::seconds(8), Duration::seconds(9), 0.91, true}};
  world.job().ended(world.now(), share.id, end, out);
  std::vector<std::string> told;
  for (const JobEvent& one : world.sheet().events) {
    if (one.kind == "generator_strained") told.push_back(one.detail);
  }
  EXPECT_EQ(told, std::vector<std::string>{"worker '" + worker +
                                           "': 93 % of the memory was in use (at worst; between 2s and 9s, 4s in all)"})
      << "however much scripts say";
  const std::vector<plan::Finding>& found = world.sheet().findings;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0],
            (plan::Finding{plan::Strain::kMemory, Duration::seconds(2), Duration::seconds(5), 0.93, true, worker}));
  EXPECT_EQ(found[1].worker, worker);

  // Told again, it is known.
  world.job().ended(world.now(), share.id, end, out);
  EXPECT_EQ(world.sheet().findings.size(), 2u);
}

TEST(JobLayers, what_a_generator_found_out_has_the_clock_of_the_run) {
  JobWorld world({load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})}, 1);
  world.add("w1", 2);
  world.begin();
  for (int i = 0; i < 1'000 && !world.sheet().workflows[1].begun; ++i) world.run(Duration::millis(100));
  const uint64_t base = world.sheet().workflows[1].base_second;
  ASSERT_GE(base, 10u);
  JobEffects out;
  ShareEnd end{ShareOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.findings = {{plan::Strain::kStolen, Duration::seconds(2), Duration::seconds(5), 0.4, true}};
  world.job().ended(world.now(), world.sheet().shares.back().id, end, out);
  ASSERT_EQ(world.sheet().findings.size(), 1u);
  EXPECT_EQ(world.sheet().findings[0].begin, Duration::seconds(static_cast<int64_t>(base) + 2));
  EXPECT_EQ(world.sheet().findings[0].end, Duration::seconds(static_cast<int64_t>(base) + 5));
}

// A share says that its list ends before user 4.
TEST_F(LayersOfLists, a_list_that_was_cut_is_told_when_it_is_used) {
  ASSERT_TRUE(world.run_until_begun());
  JobEffects out;
  const ShareId first = world.sheet().shares.front().id;
  ShareEnd end{ShareOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.provided = {{0, 4, {}, "", true, true}, {0, 1, {}, "a text where a list belongs"}};
  world.job().ended(world.now(), first, end, out);
  EXPECT_FALSE(told_of(world, "list_cut")) << "nobody uses it yet";
  EXPECT_FALSE(told_of(world, "value_too_large"));
  EXPECT_EQ(world.job().context().find(0, 0), nullptr);
  EXPECT_TRUE(world.run(Duration::minutes(1)));
  EXPECT_TRUE(told_of(world, "list_cut"));
}

}  // namespace
}  // namespace bellwether::dispatch
