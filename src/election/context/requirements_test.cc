#include <gmock/gmock.h>

#include "election/context/context_testing.h"
#include "election/context/fitness.h"

namespace bellwether::context_lead {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

template <class Change>
std::vector<std::string> reasons(Change change, const Requirements& requirements = {}) {
  ContextClaim claim = middling();
  change(claim);
  EXPECT_TRUE(claim.validate());
  return disqualifications(claim, requirements);
}

TEST(Requirements, who_meets_them_has_no_reason_against_it) {
  EXPECT_THAT(reasons([](ContextClaim&) {}), IsEmpty());
}

TEST(Requirements, each_required_capability_is_asked_for) {
  EXPECT_THAT(reasons([](ContextClaim& c) { c.base.capabilities = {"context_curation"}; }),
              ElementsAre("the capability 'context_generation' is required"));
  EXPECT_THAT(reasons([](ContextClaim& c) { c.base.capabilities = {"context_generation"}; }),
              ElementsAre("the capability 'context_curation' is required"));
  EXPECT_THAT(reasons([](ContextClaim& c) { c.base.capabilities.clear(); }), SizeIs(2));
}

TEST(Requirements, a_preferred_capability_disqualifies_nobody) {
  EXPECT_THAT(missing(middling(), Requirements().preferred),
              ElementsAre("semantic_analysis", "cluster_coordination", "rag_integration"));
  EXPECT_THAT(reasons([](ContextClaim&) {}), IsEmpty());
  ContextClaim claim = middling();
  claim.base.capabilities.emplace_back("cluster_coordination");
  EXPECT_THAT(missing(claim, Requirements().preferred), ElementsAre("semantic_analysis", "rag_integration"));
}

// Each minimum: at it, above it, and just below it with what is said then.
TEST(Requirements, each_minimum_is_met_by_what_equals_it) {
  const auto expect = [](auto member, auto below, auto at, auto above, const char* text) {
    EXPECT_THAT(reasons([&](ContextClaim& c) { c.*member = at; }), IsEmpty()) << text;
    EXPECT_THAT(reasons([&](ContextClaim& c) { c.*member = above; }), IsEmpty()) << text;
    EXPECT_THAT(reasons([&](ContextClaim& c) { c.*member = below; }), ElementsAre(text));
  };
  expect(&ContextClaim::generation_quality, 0.59, 0.60, 0.61,
         "a generation quality of 0.59, at least 0.60 is required");
  expect(&ContextClaim::reliability, 0.69, 0.70, 0.71, "a reliability of 0.69, at least 0.70 is required");
  expect(&ContextClaim::uptime_ratio, 0.79, 0.80, 0.81, "an uptime ratio of 0.79, at least 0.80 is required");
  expect(&ContextClaim::available_cpu, 1.99, 2.0, 2.01,
         "an available CPU of 1.99 cores, at least 2.00 cores is required");
  expect(&ContextClaim::available_memory, 3'990'000'000u, 4'000'000'000u, 4'000'000'001u,
         "an available memory of 3.99 GB, at least 4.00 GB is required");
  expect(&ContextClaim::available_storage, 99'990'000'000u, 100'000'000'000u, 100'000'000'001u,
         "an available storage of 99.99 GB, at least 100.00 GB is required");
  expect(&ContextClaim::network_bandwidth, 99'990'000u, 100'000'000u, 100'000'001u,
         "a network bandwidth of 99.99 Mbit/s, at least 100.00 Mbit/s is required");
}

TEST(Requirements, a_number_of_operations_have_succeeded) {
  const auto with = [](uint64_t successful) {
    return reasons([&](ContextClaim& c) { c.successful_operations = successful, c.failed_operations = 0; });
  };
  EXPECT_THAT(with(10), IsEmpty());
  EXPECT_THAT(with(11), IsEmpty());
  EXPECT_THAT(with(9), ElementsAre("a count of successful operations of 9, at least 10 is required"));
}

TEST(Requirements, of_all_operations_a_tenth_may_have_failed) {
  const auto with = [](uint64_t successful, uint64_t failed) {
    return reasons([&](ContextClaim& c) { c.successful_operations = successful, c.failed_operations = failed; });
  };
  EXPECT_THAT(with(90, 0), IsEmpty());
  EXPECT_THAT(with(91, 9), IsEmpty());
  EXPECT_THAT(with(90, 10), IsEmpty());
  EXPECT_THAT(with(89, 11), ElementsAre("a failure rate of 0.11, at most 0.10 is required"));
}

TEST(Requirements, answers_come_within_five_seconds_on_average) {
  const auto with = [](Duration time) { return reasons([&](ContextClaim& c) { c.average_response_time = time; }); };
  EXPECT_THAT(with(Duration::millis(4990)), IsEmpty());
  EXPECT_THAT(with(Duration::seconds(5)), IsEmpty());
  EXPECT_THAT(with(Duration::millis(5010)),
              ElementsAre("an average response time of 5.01 s, at most 5.00 s is required"));
}

TEST(Requirements, without_operations_there_is_no_rate_and_no_time_to_judge) {
  Requirements requirements;
  const auto none = [](ContextClaim& c) {
    c.successful_operations = c.failed_operations = 0;
    c.average_response_time = Duration::zero();
  };
  EXPECT_THAT(reasons(none, requirements),
              ElementsAre("a count of successful operations of 0, at least 10 is required"));
  requirements.min_successful_operations = 0;
  requirements.max_failure_rate = 0;
  EXPECT_THAT(reasons(none, requirements), IsEmpty());
}

TEST(Requirements, what_differs_by_little_is_seen_to_differ) {
  EXPECT_THAT(reasons([](ContextClaim& c) { c.generation_quality = 0.59999; }),
              ElementsAre("a generation quality of 0.59999, at least 0.60000 is required"));
  EXPECT_THAT(reasons([](ContextClaim& c) { c.available_memory = 3'999'999'999; }),
              ElementsAre("an available memory of 3.999999999 GB, at least 4.000000000 GB is required"));
}

TEST(Requirements, every_reason_is_told) {
  ContextClaim worst;
  worst.failed_operations = 1;
  worst.average_response_time = Duration::seconds(20);
  EXPECT_THAT(disqualifications(worst, {}), SizeIs(12));
}

TEST(Requirements, they_are_settings) {
  Requirements requirements = no_requirements();
  EXPECT_THAT(disqualifications({}, requirements), IsEmpty());
  requirements.required = {"load_balancing"};
  requirements.min_cpu = 4.5;
  EXPECT_THAT(disqualifications(middling(), requirements),
              ElementsAre("the capability 'load_balancing' is required",
                          "an available CPU of 4.00 cores, at least 4.50 cores is required"));
}

}  // namespace
}  // namespace bellwether::context_lead
