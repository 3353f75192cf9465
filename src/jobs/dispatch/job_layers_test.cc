// The reports of assignments at their end, for other workflows and for the run's report.
#include <gtest/gtest.h>

#include "jobs/dispatch/job_testing.h"

namespace bellwether::dispatch {
namespace {

// "auth" provides a token for "browse".
JobSpec two_layers() {
  JobSpec spec{load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})};
  spec[0].provides = {"token"};
  spec[1].uses = {{0, 0, "token", true}};
  return spec;
}

// "auth" provides a token of each user for "browse".
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

bool told_of(const JobWorld& world, std::string_view kind) {
  const auto& events = world.record().events;
  return std::any_of(events.begin(), events.end(), [kind](const JobEvent& one) { return one.kind == kind; });
}

TEST_F(LayersOfLists, what_scripts_say_is_told_once_and_bounded) {
  ASSERT_TRUE(world.run_until_begun());
  std::vector<AssignmentId> assignments;
  for (const AssignmentRecord& assignment : world.record().assignments) assignments.push_back(assignment.id);
  ASSERT_GE(assignments.size(), 2U);
  const auto notes = [&] {
    std::vector<std::string> out;
    for (const JobEvent& one : world.record().events) {
      if (one.kind == "script") out.push_back(one.detail);
    }
    return out;
  };
  JobEffects out;
  AssignmentEnd end{AssignmentOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.notes = {"w.a: w.lua:4: no", "w.b: w.lua:9: nil"};
  world.job().ended(world.now(), assignments[0], end, out);
  EXPECT_EQ(notes(), end.notes);
  world.job().ended(world.now(), assignments[0], end, out);
  end.notes = {"w.a: w.lua:4: no"};
  for (std::size_t i = 0; i < 2 * kMaxNotes; ++i) end.notes.push_back("another " + std::to_string(i));
  world.job().ended(world.now(), assignments[1], end, out);
  EXPECT_EQ(notes().size(), kMaxNotes);
  EXPECT_EQ(notes()[2], "another 0");
}

TEST_F(LayersOfLists, what_a_generator_found_out_about_itself_is_an_event_of_its_own_with_its_worker) {
  ASSERT_TRUE(world.run_until_begun());
  const AssignmentRecord& assignment = world.record().assignments.front();
  const std::string worker = assignment.worker;
  JobEffects out;
  AssignmentEnd end{AssignmentOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.notes.assign(kMaxNotes - 2, "w.a: w.lua:4: no");
  for (std::size_t i = 0; i < kMaxNotes; ++i) end.notes.push_back("another " + std::to_string(i));
  end.findings = {{plan::Saturation::kMemory, Duration::seconds(2), Duration::seconds(5), 0.93, true, "somebody else"},
                  {plan::Saturation::kMemory, Duration::seconds(8), Duration::seconds(9), 0.91, true}};
  world.job().ended(world.now(), assignment.id, end, out);
  std::vector<std::string> told;
  for (const JobEvent& one : world.record().events) {
    if (one.kind == "generator_saturated") told.push_back(one.detail);
  }
  EXPECT_EQ(told, std::vector<std::string>{"worker '" + worker +
                                           "': 93 % of the memory was in use (at worst; between 2s and 9s, 4s in all)"})
      << "however much scripts say";
  const std::vector<plan::Finding>& found = world.record().findings;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0],
            (plan::Finding{plan::Saturation::kMemory, Duration::seconds(2), Duration::seconds(5), 0.93, true, worker}));
  EXPECT_EQ(found[1].worker, worker);

  // A repeated one is known.
  world.job().ended(world.now(), assignment.id, end, out);
  EXPECT_EQ(world.record().findings.size(), 2u);
}

TEST(JobLayers, what_a_generator_found_out_has_the_clock_of_the_run) {
  JobWorld world({load_spec("auth", Duration::seconds(10)), load_spec("browse", Duration::seconds(10), {0})}, 1);
  world.add("w1", 2);
  world.begin();
  for (int i = 0; i < 1'000 && !world.record().workflows[1].begun; ++i) world.run(Duration::millis(100));
  const uint64_t base = world.record().workflows[1].base_second;
  ASSERT_GE(base, 10u);
  JobEffects out;
  AssignmentEnd end{AssignmentOutcome::kCompleted, "", 1, Duration::seconds(1)};
  end.findings = {{plan::Saturation::kStolen, Duration::seconds(2), Duration::seconds(5), 0.4, true}};
  world.job().ended(world.now(), world.record().assignments.back().id, end, out);
  ASSERT_EQ(world.record().findings.size(), 1u);
  EXPECT_EQ(world.record().findings[0].begin, Duration::seconds(static_cast<int64_t>(base) + 2));
  EXPECT_EQ(world.record().findings[0].end, Duration::seconds(static_cast<int64_t>(base) + 5));
}

// An assignment reports that its list ends before user 4.
TEST_F(LayersOfLists, a_list_that_was_cut_is_told_when_it_is_used) {
  ASSERT_TRUE(world.run_until_begun());
  JobEffects out;
  const AssignmentId first = world.record().assignments.front().id;
  AssignmentEnd end{AssignmentOutcome::kCompleted, "", 1, Duration::seconds(1)};
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
