#include "lead/policy/policy.h"

#include <gmock/gmock.h>

namespace bellwether::lead {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string joined(const std::vector<yaml::Diagnostic>& list) {
  std::string out;
  for (const auto& diagnostic : list) out += format(diagnostic) + "\n";
  return out;
}

// A sheet with one loop, whose lines these are.
std::string sheet(const std::string& lines) {
  std::string out = "leader_election:\n  reconciler:\n";
  std::size_t from = 0;
  while (from < lines.size()) {
    const std::size_t end = lines.find(';', from);
    out += "    " + lines.substr(from, end == std::string::npos ? end : end - from) + "\n";
    if (end == std::string::npos) break;
    from = end + 1;
  }
  return out;
}

const std::string kGood = "poll_interval: 30s;lock_key: k;lock_ttl: 60s";

std::string errors_of(const std::string& text) { return joined(parse_policy(text, "p.yaml").errors); }
std::string warnings_of(const std::string& text) {
  const PolicyReading reading = parse_policy(text, "p.yaml");
  EXPECT_EQ(joined(reading.errors), "");
  return joined(reading.warnings);
}

TEST(Policy, a_loop_is_read_with_all_its_values) {
  const auto reading = parse_policy(
      "store: redis://a:6379\n"
      "leader_election:\n"
      "  one:\n"
      "    poll_interval: 30s\n"
      "    lock_key: cordum:reconciler:default\n"
      "    lock_ttl: 1m\n"
      "    renew_every: 0s\n"
      "    release_mode: explicit\n"
      "    longest_tick: 10s\n"
      "    takeover_slo: 95s\n"
      "    stale_window: 2m\n"
      "    guards: [sys:jobs, sys:workers]\n"
      "    store: memory:x\n"
      "  two: {poll_interval: 5s, lock_key: b, lock_ttl: 10s, guards: g}\n",
      "p.yaml");
  ASSERT_TRUE(reading.policy) << joined(reading.errors);
  ASSERT_EQ(reading.policy->loops.size(), 2u);
  const LoopPolicy& one = reading.policy->loops[0];
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.place.line, 3);
  EXPECT_EQ(one.poll_interval, Duration::seconds(30));
  EXPECT_EQ(one.lock_key, "cordum:reconciler:default");
  EXPECT_EQ(one.lock_ttl, Duration::seconds(60));
  EXPECT_EQ(one.renew_every, Duration::zero());
  EXPECT_EQ(one.release_mode, ReleaseMode::kExplicit);
  EXPECT_EQ(one.longest_tick, Duration::seconds(10));
  EXPECT_EQ(one.takeover_slo, Duration::seconds(95));
  EXPECT_EQ(one.stale_window, Duration::minutes(2));
  EXPECT_THAT(one.guards, ElementsAre("sys:jobs", "sys:workers"));
  EXPECT_EQ(one.store, "memory:x");
  const LoopPolicy& two = reading.policy->loops[1];
  EXPECT_EQ(two.renew_every, Duration::seconds(10) / 3) << "a third of the TTL unless said otherwise";
  EXPECT_EQ(two.release_mode, ReleaseMode::kTtlHold);
  EXPECT_EQ(two.takeover_slo, std::nullopt);
  EXPECT_THAT(two.guards, ElementsAre("g"));
  EXPECT_EQ(two.store, "redis://a:6379") << "the store of the file";
}

TEST(Policy, an_unknown_key_is_an_error_that_names_place_and_nearest_key) {
  EXPECT_EQ(errors_of(sheet(kGood + ";lock_tll: 60s")),
            "p.yaml:6:5: unknown key 'lock_tll' in loop 'reconciler'\n"
            "  expected: one of poll_interval, lock_key, lock_ttl, renew_every, release_mode, longest_tick, "
            "takeover_slo, stale_window, guards, store, command\n"
            "  did you mean 'lock_ttl'?\n");
  EXPECT_THAT(errors_of("leader_elections:\n"), HasSubstr("did you mean 'leader_election'?"));
}

TEST(Policy, a_misspelt_key_is_not_reported_as_missing_too) {
  EXPECT_THAT(errors_of(sheet("poll_intervall: 30s;lock_key: k;lock_ttl: 60s")),
              Not(HasSubstr("has no 'poll_interval'")));
}

TEST(Policy, missing_keys_are_named) {
  const std::string errors = errors_of(sheet("release_mode: explicit"));
  EXPECT_THAT(errors, HasSubstr("p.yaml:2:3: loop 'reconciler' has no 'poll_interval'"));
  EXPECT_THAT(errors, HasSubstr("loop 'reconciler' has no 'lock_key'"));
  EXPECT_THAT(errors, HasSubstr("loop 'reconciler' has no 'lock_ttl'"));
}

TEST(Policy, values_that_cannot_be_are_refused_where_they_stand) {
  EXPECT_THAT(errors_of(sheet("poll_interval: 30s;lock_key: k;lock_ttl: 0s")), HasSubstr("p.yaml:5:15: wrong value"));
  EXPECT_THAT(errors_of(sheet("poll_interval: 0s;lock_key: k;lock_ttl: 60s")), HasSubstr("p.yaml:3:20: wrong value"));
  EXPECT_THAT(errors_of(sheet("poll_interval: 30;lock_key: k;lock_ttl: 60s")), HasSubstr("p.yaml:3:20: wrong value"));
  EXPECT_THAT(errors_of(sheet("poll_interval: -1s;lock_key: k;lock_ttl: 60s")), HasSubstr("wrong value"));
  EXPECT_THAT(errors_of(sheet("poll_interval: [1s];lock_key: k;lock_ttl: 60s")), HasSubstr("found: a list"));
  EXPECT_THAT(errors_of(sheet("poll_interval: 30s;lock_key: '';lock_ttl: 60s")), HasSubstr("p.yaml:4:15: wrong value"));
  EXPECT_THAT(errors_of(sheet(kGood + ";takeover_slo: 0s")), HasSubstr("p.yaml:6:19: wrong value"));
  EXPECT_THAT(errors_of(sheet(kGood + ";release_mode: ttl-hold")), HasSubstr("did you mean 'ttl_hold'?"));
  EXPECT_THAT(errors_of(sheet(kGood + ";guards: {a: b}")), HasSubstr("a text or a list of texts"));
  EXPECT_THAT(errors_of(sheet(kGood + ";store: mysql://a")), HasSubstr("there is no store 'mysql:'"));
  EXPECT_THAT(errors_of(sheet("poll_interval: 30s;lock_ttl: 60s;lock_key: " + std::string(1025, 'k'))),
              HasSubstr("at most 1,024 bytes"));
}

TEST(Policy, a_renewal_that_comes_after_the_lock_has_lapsed_is_refused) {
  for (const char* renew : {"60s", "2m"}) {
    const std::string errors = errors_of(sheet(kGood + ";renew_every: " + renew));
    EXPECT_THAT(errors, HasSubstr("p.yaml:6:5: 'renew_every' "));
    EXPECT_THAT(errors, HasSubstr("is not shorter than 'lock_ttl' 1m"));
    EXPECT_THAT(errors, HasSubstr("renew_every: 20s"));
  }
  EXPECT_EQ(errors_of(sheet(kGood + ";renew_every: 59s")), "");
}

TEST(Policy, a_held_lock_must_last_from_one_poll_to_the_next) {
  const std::string times = "poll_interval: 30s;lock_key: k;lock_ttl: 20s;renew_every: 0s;release_mode: ";
  EXPECT_THAT(errors_of(sheet(times + "ttl_hold")),
              AllOf(HasSubstr("p.yaml:5:5: 'lock_ttl' 20s is shorter than 'poll_interval' 30s"), HasSubstr("1m")));
  EXPECT_EQ(errors_of(sheet(times + "explicit")), "");
}

TEST(Policy, two_loops_with_one_key_on_one_store_are_refused) {
  const std::string text =
      "leader_election:\n"
      "  a: {poll_interval: 5s, lock_key: k, lock_ttl: 10s}\n"
      "  b: {poll_interval: 5s, lock_key: k, lock_ttl: 10s";
  EXPECT_THAT(errors_of(text + "}\n"), HasSubstr("p.yaml:3:26: loop 'b' has the same 'lock_key' as loop 'a' (line 2)"));
  EXPECT_EQ(errors_of(text + ", store: 'memory:other'}\n"), "");
}

TEST(Policy, the_same_loop_twice_is_refused) {
  const std::string loop = "  a: {poll_interval: 5s, lock_key: k, lock_ttl: 10s}\n";
  EXPECT_THAT(errors_of("leader_election:\n" + loop + loop), HasSubstr("p.yaml:3:3: the key 'a' is given twice"));
}

TEST(Policy, a_sheet_without_loops_is_refused) {
  for (const char* text : {"", "leader_election:\n", "leader_election: {}\n", "leader_election: [a]\n",
                           "store: memory:x\n", "just text\n", "leader_election:\n  a: 5\n"}) {
    const PolicyReading reading = parse_policy(text, "p.yaml");
    EXPECT_FALSE(reading.policy) << text;
    EXPECT_FALSE(reading.errors.empty()) << text;
  }
}

TEST(Policy, what_a_hostile_file_can_ask_for_is_limited) {
  std::string many = "leader_election:\n";
  for (int i = 0; i <= 10'000; ++i) many += " l" + std::to_string(i) + ": {}\n";
  EXPECT_THAT(errors_of(many), HasSubstr("more than 10,000 loops"));
  EXPECT_THAT(errors_of(std::string(1'100'000, ' ')), HasSubstr("larger than 1 MiB"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += before + (k == 9 ? "]\n" : ", ");
  }
  EXPECT_THAT(errors_of(bomb), HasSubstr("too large"));
  EXPECT_THAT(errors_of(std::string(100'000, '[')), HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(errors_of("leader_election:\n  \"a\\u0001\\nb\": {}\n"), HasSubstr("'a?\\nb'"));
}

TEST(Policy, one_store_behind_all_loops_is_warned_about) {
  const std::string two =
      "leader_election:\n"
      "  a: {poll_interval: 5s, lock_key: k, lock_ttl: 10s, store: 'memory:a'}\n"
      "  b: {poll_interval: 5s, lock_key: l, lock_ttl: 10s, store: 'memory:";
  EXPECT_THAT(warnings_of(two + "a'}\n"), HasSubstr("all 2 loops use one store"));
  EXPECT_EQ(warnings_of(two + "b'}\n"), "");
  EXPECT_EQ(warnings_of(sheet(kGood)), "");
}

TEST(Policy, a_ttl_shorter_than_tick_and_jitter_and_retry_is_warned_about) {
  // 20 % of the poll is jitter, 7/30 of the TTL a retry: 60s holds a tick of 40s.
  EXPECT_EQ(warnings_of(sheet(kGood + ";longest_tick: 40s")), "");
  EXPECT_THAT(
      warnings_of(sheet(kGood + ";longest_tick: 41s")),
      AllOf(HasSubstr("p.yaml:2:3: loop 'reconciler'"),
            HasSubstr("the longest tick 41s + jitter 6s + one retry 14s = 1m1s"), HasSubstr("only renewals keep")));
  EXPECT_THAT(warnings_of(sheet(kGood + ";longest_tick: 41s;renew_every: 0s")), HasSubstr("expires during the tick"));
}

TEST(Policy, thin_margins_are_warned_about) {
  EXPECT_THAT(warnings_of(sheet(kGood + ";renew_every: 21s")), HasSubstr("two lost renewals end the term"));
  EXPECT_EQ(warnings_of(sheet(kGood + ";renew_every: 20s")), "");
  EXPECT_THAT(warnings_of(sheet("poll_interval: 30s;lock_key: k;lock_ttl: 30s")), HasSubstr("any delay of a poll"));
  EXPECT_THAT(warnings_of(sheet("poll_interval: 1s;lock_key: k;lock_ttl: 2500ms;store: 'etcd://a'")),
              HasSubstr("whole seconds"));
}

}  // namespace
}  // namespace bellwether::lead
