#include <gmock/gmock.h>

#include "core/base/encoding.h"
#include "lead/agents/agent_registry.h"

namespace bellwether::lead {
namespace {

using testing::ElementsAre;

constexpr AgentAges kAges{.stale_after = Duration::seconds(120), .dead_after = Duration::seconds(600)};

WallTime at(int64_t seconds) { return {1'700'000'000'000'000'000 + seconds * 1'000'000'000}; }

TEST(Profile, the_three_sets_have_the_margins_that_they_promise) {
  EXPECT_EQ(safety_margin(*find_profile("production")), 3.0);
  EXPECT_EQ(safety_margin(*find_profile("high-availability")), 4.0);
  EXPECT_EQ(safety_margin(*find_profile("lenient")), 4.5);
  EXPECT_FALSE(find_profile("fast"));
}

AgentRegistry registry_of(std::initializer_list<const char*> ids) {
  AgentRegistry registry;
  for (const char* id : ids) EXPECT_TRUE(registry.add(id, "worker", "host", 7, at(0), kAges));
  return registry;
}

TEST(AgentRegistry, what_it_writes_it_reads) {
  AgentRegistry registry = registry_of({"b", "a"});
  EXPECT_TRUE(registry.heartbeat("a", at(30)));
  const auto read = AgentRegistry::parse(registry.to_json());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->agents(), registry.agents());
  EXPECT_EQ(read->agents()[0].id, "a");
  EXPECT_EQ(read->agents()[0].last_heartbeat, at(30));
  EXPECT_EQ(AgentRegistry::parse("").error().code, Errc::kProtocol) << "a file of no bytes lost what it held";
}

TEST(AgentRegistry, what_is_torn_or_foreign_is_told_apart_from_empty) {
  const std::string text = registry_of({"a", "b"}).to_json();
  for (std::size_t cut = 1; cut + 1 < text.size(); ++cut) {
    const auto read = AgentRegistry::parse(text.substr(0, cut));
    ASSERT_FALSE(read) << cut;
    EXPECT_EQ(read.error().code, Errc::kProtocol);
  }
  for (const char* other : {"{}", "[]", "5", "{\"format\":\"bellwether.agents/2\",\"agents\":[]}",
                            "{\"format\":\"bellwether.agents/1\",\"agents\":{}}", "\0\0"}) {
    if (*other != '\0') EXPECT_FALSE(AgentRegistry::parse(other)) << other;
  }
}

TEST(AgentRegistry, status_follows_the_age_of_the_last_heartbeat) {
  const AgentRegistry registry = registry_of({"a"});
  const Agent& agent = registry.agents()[0];
  EXPECT_EQ(status_of(agent, at(120), kAges), AgentStatus::kActive);
  EXPECT_EQ(status_of(agent, at(121), kAges), AgentStatus::kStale);
  EXPECT_EQ(status_of(agent, at(600), kAges), AgentStatus::kStale);
  EXPECT_EQ(status_of(agent, at(601), kAges), AgentStatus::kDead);
  EXPECT_FALSE(is_from_future(agent, at(-5)));
  EXPECT_TRUE(is_from_future(agent, at(-6)));
}

TEST(AgentRegistry, the_leaders_cleanup_marks_the_silent_once_and_never_itself) {
  AgentRegistry registry = registry_of({"leader", "silent", "well"});
  EXPECT_TRUE(registry.heartbeat("well", at(100)));
  auto done = registry.clean("leader", at(130), kAges);
  EXPECT_THAT(done.stale, ElementsAre("silent"));
  EXPECT_THAT(done.reaped, testing::IsEmpty());
  EXPECT_EQ(registry.agents()[0].status, AgentStatus::kActive) << "the leader is never marked";
  EXPECT_FALSE(registry.clean("leader", at(140), kAges).changed()) << "it is told once";
  EXPECT_TRUE(registry.heartbeat("silent", at(150)));
  EXPECT_EQ(registry.agents()[1].status, AgentStatus::kActive);
  done = registry.clean("leader", at(900), kAges);
  EXPECT_THAT(done.reaped, ElementsAre("silent", "well"));
  EXPECT_THAT(done.stale, ElementsAre("silent", "well"));
  ASSERT_EQ(registry.agents().size(), 1u);
  EXPECT_EQ(registry.heartbeat("silent", at(901)).error().code, Errc::kNotFound);
}

TEST(AgentRegistry, it_is_bounded_and_the_dead_make_room) {
  AgentRegistry registry;
  for (std::size_t i = 0; i < AgentRegistry::kMaxAgents; ++i) {
    ASSERT_TRUE(registry.add("a" + std::to_string(i), "", "", 0, at(0), kAges));
  }
  EXPECT_EQ(registry.add("more", "", "", 0, at(600), kAges).error().code, Errc::kExhausted);
  EXPECT_TRUE(registry.add("a5", "", "", 0, at(600), kAges)) << "who is in there already may register again";
  EXPECT_TRUE(registry.add("more", "", "", 0, at(601), kAges));
  EXPECT_EQ(registry.agents().size(), 2u);
}

TEST(AgentRegistry, names_that_could_not_be_shown_are_refused) {
  AgentRegistry registry;
  for (const std::string& id : {std::string(), std::string("a\nb"), std::string(201, 'a'), std::string("\xff")}) {
    EXPECT_EQ(registry.add(id, "", "", 0, at(0), kAges).error().code, Errc::kInvalid) << id;
  }
}

TEST(Utf8, only_what_is_well_formed_passes) {
  EXPECT_TRUE(is_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x91"));
  for (const char* wrong : {"\x80", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"}) {
    EXPECT_FALSE(is_utf8(wrong));
  }
}

}  // namespace
}  // namespace bellwether::lead
