#include "sim/harness/worlds.h"

#include <gtest/gtest.h>

#include "sim/timeline.h"

namespace bellwether::sim {
namespace {

constexpr auto kToyMistakes = std::to_array<Mistake>({
    {"breaks-on-seed-three", "seed 3 breaks a rule"},
    {"never-seen", "nothing comes of it", "elsewhere"},
});

// A world in which a number is raised.
struct ToyWorld : FaultyWorld {
  explicit ToyWorld(const RunSettings& settings)
      : FaultyWorld(settings), timeline(settings.seed), third(settings.seed == 3) {}
  bool is(MistakeIn<kToyMistakes> mistake) const { return makes(mistake.number); }

  Instant now() const override { return timeline.now(); }
  Prng& prng() override { return timeline.prng(); }
  bool run_for(Duration span) override {
    timeline.advance(now() + span);
    return holds();
  }
  Pace pace() const override {
    return {.least_faults = 5, .most_faults = 5, .gap = Duration::seconds(1), .rest = Duration::seconds(7)};
  }
  void begin() override { say("begins"); }
  void make_whole() override { say("is made whole"); }
  void expect_recovery() override {
    if (is("breaks-on-seed-three") && third) fail("I0: it is the third");
    fail_if_not_whole();
  }
  void fail_if_not_whole() {
    if (now() - Instant() < Duration::seconds(7)) fail("I0: too early");
  }
  void tell_states() override { say("stands at " + std::to_string(number)); }
  uint64_t fingerprint() const override { return timeline.fingerprint(); }
  std::vector<Run::Count> counts() const override { return {{"raises", number}}; }

  Timeline timeline;
  bool third;
  uint64_t number = 0;
};

constexpr auto kToyFaults = std::to_array<Fault<ToyWorld>>({
    {1, "the number is raised",
     [](ToyWorld& w) {
       w.say("raised");
       ++w.number;
       return true;
     }},
    {9, "nothing can be done", [](ToyWorld&) { return false; }},
});
constexpr std::array kToyWorlds{world_row<ToyWorld, kToyMistakes, kToyFaults>("toy", "raises a number")};
constexpr std::array kToyMeasurements{Measurement{"ruler", "measures", [](uint64_t from, uint64_t seeds) {
                                                    return Measurement::Report{.text = std::to_string(from) + "+" +
                                                                                       std::to_string(seeds) + "\n"};
                                                  }}};

std::string printed;  // NOLINT: of one test at a time

class Report : public testing::Test {
 protected:
  Report() { printed.clear(); }
  Result<SimOutcome> run(SimRequest request) {
    return SimReport(kToyWorlds, kToyMeasurements, [](const std::string& text) { printed += text; }).run(request);
  }
};

TEST(FaultyWorld, draws_faults_until_one_finds_something_to_break) {
  const auto run = kToyWorlds[0].live({.seed = 1});
  EXPECT_EQ(run.violation, "");
  EXPECT_GT(run.hits[0], 0u);
  EXPECT_EQ(run.hits[1], 0u);
  EXPECT_EQ(run.counts[0].number, run.hits[0]);
}

TEST(FaultyWorld, tells_what_happened_when_it_is_asked_to) {
  const std::string trace = kToyWorlds[0].live({.seed = 1, .trace = true}).trace;
  const std::size_t fault = trace.find("fault: the number is raised\n");
  ASSERT_NE(fault, std::string::npos);
  EXPECT_LT(trace.find("begins"), fault);
  EXPECT_LT(fault, trace.find("raised\n", fault + 28));
  EXPECT_NE(trace.find("all faults are repaired"), std::string::npos);
  EXPECT_EQ(trace.find("stands at"), std::string::npos);
  EXPECT_EQ(kToyWorlds[0].live({.seed = 1}).trace, "");
}

TEST(FaultyWorld, ends_with_the_rule_that_was_broken_and_where_everybody_stands) {
  const auto run = kToyWorlds[0].live({.seed = 3, .mistake = 1, .trace = true});
  EXPECT_TRUE(run.violation.starts_with("I0: it is the third (at ")) << run.violation;
  EXPECT_NE(run.trace.find("stands at"), std::string::npos);
}

TEST_F(Report, tells_of_many_runs_in_one_line) {
  EXPECT_EQ(*run({.world = "toy", .seeds = 5}), SimOutcome::kHeld);
  EXPECT_TRUE(printed.starts_with("toy: seeds 1 to 5: ")) << printed;
  EXPECT_TRUE(printed.ends_with("0 events, all invariants held\n")) << printed;
}

TEST_F(Report, gives_the_command_that_repeats_a_run_which_broke_a_rule) {
  EXPECT_EQ(*run({.world = "toy", .seeds = 5, .mistake = "breaks-on-seed-three"}), SimOutcome::kViolated);
  EXPECT_NE(printed.find("  bellwether sim --world toy --seed 3 --mistake breaks-on-seed-three\n"), std::string::npos);
  EXPECT_TRUE(printed.ends_with("1 VIOLATED\nthe mistake 'breaks-on-seed-three' was detected\n")) << printed;
}

TEST_F(Report, says_so_when_a_mistake_is_not_found) {
  EXPECT_EQ(*run({.world = "toy", .seeds = 2, .mistake = "breaks-on-seed-three"}), SimOutcome::kNotFound);
  EXPECT_NE(printed.find("NOT FOUND"), std::string::npos);
  EXPECT_EQ(*run({.world = "toy", .seed = 1, .mistake = "never-seen"}), SimOutcome::kNotFound);
  EXPECT_NE(printed.find("or world elsewhere"), std::string::npos) << printed;
}

TEST_F(Report, tells_one_run_in_full) {
  EXPECT_EQ(*run({.world = "toy", .seed = 4}), SimOutcome::kHeld);
  EXPECT_NE(printed.find("begins\n"), std::string::npos);
  EXPECT_NE(printed.find("seed 4: "), std::string::npos);
  EXPECT_TRUE(printed.ends_with("all invariants held\n")) << printed;
}

TEST_F(Report, runs_what_is_measured) {
  EXPECT_EQ(*run({.world = "ruler", .from = 2, .seeds = 3}), SimOutcome::kHeld);
  EXPECT_EQ(printed, "2+3\n");
}

TEST_F(Report, knows_no_other_worlds_and_mistakes) {
  EXPECT_NE(run({.world = "nowhere"}).error().message.find("no world 'nowhere'"), std::string::npos);
  EXPECT_NE(run({.world = "toy", .mistake = "any"}).error().message.find("no mistake 'any' in"), std::string::npos);
}

TEST_F(Report, suggests_the_name_that_was_meant) {
  EXPECT_NE(run({.world = "rulre"}).error().message.find("no world 'rulre' (did you mean 'ruler'?)"),
            std::string::npos);
  const std::string slip = run({.world = "toy", .mistake = "breaks-on-sed-three"}).error().message;
  EXPECT_NE(slip.find("(did you mean 'breaks-on-seed-three'?); `bellwether sim --list`"), std::string::npos) << slip;
  EXPECT_EQ(run({.world = "nowhere"}).error().message.find("did you mean"), std::string::npos);
}

TEST_F(Report, lists_worlds_measurements_and_mistakes) {
  SimReport(kToyWorlds, kToyMeasurements, [](const std::string& text) { printed += text; }).list();
  for (const char* part : {"  toy  ", "raises a number\n", "  ruler  ", " toy:\n", "  never-seen  ",
                           "nothing comes of it (in elsewhere)\n"}) {
    EXPECT_NE(printed.find(part), std::string::npos) << part << "\n" << printed;
  }
}

}  // namespace
}  // namespace bellwether::sim
