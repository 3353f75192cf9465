#include "election/context/context_settings.h"

#include <gmock/gmock.h>

#include "election/context/context_testing.h"

namespace bellwether::context_lead {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class Change>
std::string context_settings_refusal(Change change) {
  ContextSettings settings;
  change(settings);
  const Status status = settings.validate();
  return status ? "" : status.error().message;
}

// One value each, as text: on or off, a count, a number, or seconds.
std::string shown(const ContextSettings& settings, const ContextSetting& one) {
  return std::string(one.name) + "=" +
         std::visit(
             [&](auto member) {
               const auto value = settings.*member;
               if constexpr (std::is_same_v<decltype(value), const Duration>) {
                 return std::to_string(value.ms()) + "ms";
               } else {
                 return testing::PrintToString(value);
               }
             },
             one.member);
}

TEST(ContextSettings, every_setting_has_its_name_and_default) {
  std::vector<std::string> all;
  for (const ContextSetting& one : context_settings()) all.push_back(shown({}, one));
  EXPECT_THAT(
      all,
      ElementsAre("enable_context_leadership=true", "context_leadership_weight=0.3", "require_context_capability=true",
                  "auto_start_generation=true", "generation_start_delay=5000ms", "generation_stop_timeout=30000ms",
                  "context_failover_timeout=60000ms", "state_transfer_timeout=30000ms", "validation_timeout=10000ms",
                  "require_state_validation=true", "context_health_check_interval=30000ms",
                  "cluster_health_threshold=0.7", "leader_health_threshold=0.8", "max_queue_transfer_size=1000",
                  "queue_drain_timeout=60000ms", "preserve_completed_jobs=true", "coordination_timeout=10000ms",
                  "max_coordination_retries=3", "coordination_backoff=2000ms"));
}

TEST(ContextSettings, the_defaults_fit_together) {
  EXPECT_EQ(context_settings_refusal([](ContextSettings&) {}), "");
}

// Each setting at its limits and beyond, alone: it is refused by its name.
TEST(ContextSettings, each_setting_has_limits) {
  for (const ContextSetting& one : context_settings()) {
    const auto with = [&](double value) {
      ContextSettings settings;
      std::visit(
          [&](auto member) {
            using Value = std::remove_reference_t<decltype(settings.*member)>;
            if constexpr (std::is_same_v<Value, Duration>) {
              settings.*member = Duration::from_seconds_f(value);
            } else {
              settings.*member = static_cast<Value>(value);
            }
          },
          one.member);
      const Status status = settings.validate();
      return status ? "" : status.error().message;
    };
    if (std::holds_alternative<bool ContextSettings::*>(one.member)) continue;
    const std::string refused = std::string(one.name) + " is ";
    EXPECT_THAT(with(one.most + 1), StartsWith(refused));
    EXPECT_THAT(with(one.most), testing::Not(StartsWith(refused)));
    EXPECT_THAT(with(one.least), testing::Not(StartsWith(refused))) << one.name;
    if (one.least > 0) EXPECT_THAT(with(0), StartsWith(refused));
    if (std::holds_alternative<uint64_t ContextSettings::*>(one.member)) continue;
    EXPECT_THAT(with(-0.1), StartsWith(refused));
    if (std::holds_alternative<Duration ContextSettings::*>(one.member)) continue;
    for (const double none : kNoNumbers) EXPECT_THAT(with(none), StartsWith(refused));
  }
  EXPECT_EQ(context_settings_refusal([](ContextSettings& s) { s.validation_timeout = Duration::zero(); }),
            "validation_timeout is 0 s; it must be from 0.001 to 86400 s");
}

TEST(ContextSettings, a_failover_has_room_for_what_goes_into_it) {
  const auto seconds = [](int64_t s) { return Duration::seconds(s); };
  EXPECT_EQ(context_settings_refusal([&](ContextSettings& s) { s.generation_stop_timeout = seconds(60); }), "");
  EXPECT_EQ(context_settings_refusal([&](ContextSettings& s) { s.generation_stop_timeout = seconds(61); }),
            "generation_stop_timeout takes up to 1m1s, which is longer than context_failover_timeout (1m): lengthen "
            "the timeout or shorten its parts");
  EXPECT_THAT(context_settings_refusal([&](ContextSettings& s) { s.queue_drain_timeout = seconds(61); }),
              HasSubstr("queue_drain_timeout takes up to 1m1s"));
  EXPECT_EQ(context_settings_refusal([&](ContextSettings& s) { s.validation_timeout = seconds(25); }), "");
  EXPECT_THAT(context_settings_refusal([&](ContextSettings& s) { s.validation_timeout = seconds(26); }),
              HasSubstr("state_transfer_timeout + validation_timeout + generation_start_delay takes up to 1m1s "
                        "(30s + 26s + 5s), which is longer than context_failover_timeout (1m)"));
  EXPECT_EQ(context_settings_refusal([&](ContextSettings& s) {
              s.validation_timeout = seconds(60);
              s.require_state_validation = false;
            }),
            "");
  EXPECT_EQ(context_settings_refusal([&](ContextSettings& s) {
              s.validation_timeout = seconds(30);
              s.auto_start_generation = false;
            }),
            "");
  EXPECT_THAT(context_settings_refusal([&](ContextSettings& s) { s.state_transfer_timeout = seconds(31); }),
              HasSubstr("takes up to 1m1s (31s + 30s)"));
}

// (3 + 1) x 10 s + 3 x 2 s = 46 s.
TEST(ContextSettings, a_failover_has_room_for_a_coordination_that_fails) {
  EXPECT_EQ(context_settings_refusal([](ContextSettings& s) { s.coordination_timeout = Duration::millis(13'500); }),
            "");
  EXPECT_THAT(context_settings_refusal([](ContextSettings& s) { s.coordination_timeout = Duration::seconds(14); }),
              HasSubstr("a failed coordination takes up to 1m2s (4 attempts x 14s + 3 x 2s between them), which is "
                        "longer than context_failover_timeout (1m)"));
  EXPECT_THAT(context_settings_refusal([](ContextSettings& s) { s.max_coordination_retries = 5; }),
              HasSubstr("1m10s (6 attempts"));
  EXPECT_THAT(context_settings_refusal([](ContextSettings& s) { s.coordination_backoff = Duration::seconds(7); }),
              HasSubstr("a failed coordination takes up to 1m1s"));
}

TEST(ContextSettings, weights_are_settings_too) {
  EXPECT_THAT(context_settings_refusal([](ContextSettings& s) { s.weights.of.fill(0); }), HasSubstr("all weights"));
}

TEST(ContextSettings, capabilities_need_not_be_required) {
  ContextSettings settings;
  ContextClaim claim = middling();
  claim.base.capabilities.clear();
  EXPECT_EQ(disqualifications(claim, settings.requirements_in_force()).size(), 2u);
  settings.require_context_capability = false;
  EXPECT_TRUE(disqualifications(claim, settings.requirements_in_force()).empty());
  claim.generation_quality = 0.5;
  EXPECT_EQ(disqualifications(claim, settings.requirements_in_force()).size(), 1u) << "figures still are";
}

}  // namespace
}  // namespace bellwether::context_lead
