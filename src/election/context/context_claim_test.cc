#include <gmock/gmock.h>

#include "election/context/context_testing.h"
#include "election/context/fitness.h"

namespace bellwether::context_lead {
namespace {

using testing::HasSubstr;

template <class Change>
std::string refusal(Change change) {
  ContextClaim claim = middling();
  change(claim);
  const Status status = claim.validate();
  return status ? "" : status.error().message;
}

TEST(ContextClaim, capabilities_are_those_of_the_claim_for_admin) {
  ContextClaim claim = middling();
  claim.base.capabilities = {"admin_election", "semantic_analysis"};
  EXPECT_TRUE(claim.has("semantic_analysis"));
  EXPECT_FALSE(claim.has("context_generation"));
}

TEST(ContextClaim, what_can_be_is_taken) {
  EXPECT_EQ(refusal([](ContextClaim&) {}), "");
  EXPECT_EQ(refusal([](ContextClaim& c) { c = {}; }), "") << "a node that has nothing yet";
}

TEST(ContextClaim, shares_lie_between_nothing_and_all) {
  const std::pair<const char*, double ContextClaim::*> shares[] = {
      {"generation_quality", &ContextClaim::generation_quality},
      {"processing_speed", &ContextClaim::processing_speed},
      {"accuracy", &ContextClaim::accuracy},
      {"specialization", &ContextClaim::specialization},
      {"reliability", &ContextClaim::reliability},
      {"uptime_ratio", &ContextClaim::uptime_ratio},
  };
  for (const auto& [name, share] : shares) {
    const auto with = [&, share = share](double value) { return refusal([&](ContextClaim& c) { c.*share = value; }); };
    EXPECT_EQ(with(0), "") << name;
    EXPECT_EQ(with(1), "") << name;
    EXPECT_EQ(with(-0.01), std::string(name) + " is -0.01; it must be from 0 to 1");
    EXPECT_EQ(with(1.01), std::string(name) + " is 1.01; it must be from 0 to 1");
    for (const double none : kNoNumbers) EXPECT_NE(with(none), "") << name;
  }
  EXPECT_EQ(refusal([](ContextClaim& c) { c.accuracy = kNoNumbers[0]; }), "accuracy is nan; it must be from 0 to 1");
  EXPECT_EQ(refusal([](ContextClaim& c) { c.accuracy = kNoNumbers[1]; }), "accuracy is inf; it must be from 0 to 1");
}

TEST(ContextClaim, figures_have_limits) {
  EXPECT_EQ(refusal([](ContextClaim& c) { c.successful_operations = kMaxOperations; }), "");
  EXPECT_EQ(refusal([](ContextClaim& c) { c.successful_operations = kMaxOperations + 1; }),
            "successful_operations is 1000000000001; it must be from 0 to 1000000000000");
  EXPECT_THAT(refusal([](ContextClaim& c) { c.failed_operations = UINT64_MAX; }), HasSubstr("failed_operations is"));
  EXPECT_EQ(refusal([](ContextClaim& c) { c.average_response_time = kLongestResponseTime; }), "");
  EXPECT_EQ(refusal([](ContextClaim& c) { c.average_response_time = Duration::hours(25); }),
            "average_response_time is 90000 s; it must be from 0 to 86400 s");
  EXPECT_THAT(refusal([](ContextClaim& c) { c.average_response_time = Duration::nanos(-1); }),
              HasSubstr("average_response_time is"));
  EXPECT_EQ(refusal([](ContextClaim& c) { c.available_cpu = kMaxCores; }), "");
  EXPECT_THAT(refusal([](ContextClaim& c) { c.available_cpu = kMaxCores + 1; }), HasSubstr("from 0 to 65536 cores"));
  EXPECT_THAT(refusal([](ContextClaim& c) { c.available_cpu = -1e-300; }), HasSubstr("is -1e-300 cores"));
  EXPECT_THAT(refusal([](ContextClaim& c) { c.available_cpu = 1e300; }), HasSubstr("is 1e+300 cores"));
  for (const double none : kNoNumbers) {
    EXPECT_THAT(refusal([&](ContextClaim& c) { c.available_cpu = none; }), HasSubstr("available_cpu is"));
  }
  EXPECT_EQ(refusal([](ContextClaim& c) { c.available_memory = c.available_storage = kMaxBytes; }), "");
  EXPECT_THAT(refusal([](ContextClaim& c) { c.available_memory = kMaxBytes + 1; }), HasSubstr("available_memory is"));
  EXPECT_THAT(refusal([](ContextClaim& c) { c.available_storage = kMaxBytes + 1; }), HasSubstr("available_storage is"));
  EXPECT_EQ(refusal([](ContextClaim& c) { c.network_bandwidth = kMaxBitsPerSecond; }), "");
  EXPECT_THAT(refusal([](ContextClaim& c) { c.network_bandwidth = kMaxBitsPerSecond + 1; }),
              HasSubstr("network_bandwidth is"));
}

TEST(ContextClaim, domains_are_few_and_named) {
  const auto with = [](std::size_t count, std::size_t bytes) {
    return refusal([&](ContextClaim& c) { c.domain_expertise.assign(count, std::string(bytes, 'a')); });
  };
  EXPECT_EQ(with(0, 0), "");
  EXPECT_EQ(with(kMaxDomains, kMaxDomainBytes), "");
  EXPECT_EQ(with(kMaxDomains + 1, 1), "the number of domain_expertise is 65; it must be from 0 to 64");
  EXPECT_EQ(with(1, kMaxDomainBytes + 1), "domain_expertise has a name of 65 bytes; it must have from 1 to 64");
  EXPECT_EQ(with(1, 0), "domain_expertise has a name of 0 bytes; it must have from 1 to 64");
}

TEST(ContextClaim, no_operations_take_no_time) {
  EXPECT_EQ(refusal([](ContextClaim& c) { c.successful_operations = c.failed_operations = 0; }),
            "average_response_time is 2.80s, but there were no operations; then it must be 0s");
}

TEST(ContextClaim, what_it_says_for_admin_can_be) {
  EXPECT_EQ(refusal([](ContextClaim& c) { c.base.resources.cpu_used = kNoNumbers[0]; }),
            "the claim has a ratio outside 0 to 1");
  EXPECT_EQ(refusal([](ContextClaim& c) { c.base.uptime = Duration::nanos(-1); }), "the claim has an impossible time");
}

}  // namespace
}  // namespace bellwether::context_lead
