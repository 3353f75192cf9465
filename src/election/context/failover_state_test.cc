#include "election/context/failover_state.h"

#include <functional>
#include <gmock/gmock.h>
#include <limits>

#include "election/context/sha256_testing.h"

namespace bellwether::context_lead {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr WallTime kFailoverStateNow{1'700'000'000'000'000'000};
constexpr NodeId kHere{2};

FailoverState sound() {
  FailoverState state;
  state.leader = NodeId(1);
  state.term = Epoch(5);
  state.transfer_time = kFailoverStateNow;
  state.queued_requests = {{{1, 1}, 3, 1, 2, Epoch(), kFailoverStateNow},
                           {{1, 2}, 0, 0, 0, Epoch(), kFailoverStateNow}};
  state.active_jobs = {{{1, 3}, 0, 0, 1, Epoch(5), kFailoverStateNow}};
  state.completed_jobs = {{{1, 4}, Outcome::kFailed, true, {Epoch(4), 3}, kFailoverStateNow, "no luck"}};
  state.cluster_state = {{NodeId(1), NodeId(2), NodeId(3)}, kFailoverStateNow};
  state.resource_allocations = {{"gpu-1", {0.5, 1 << 30}}};
  state.node_assignments = {{"n1", {"index", "digest"}}, {"n2", {}}};
  state.manager_config = {"command", 4};
  state.generation_policy = {true, Duration::seconds(5), Duration::seconds(30), 0.7, 0.8};
  state.queue_policy = {1000, Duration::seconds(60), 3, true};
  state.state_version = 1;
  state.health_snapshot.total_nodes = 3;
  state.health_snapshot.healthy_nodes = 2;
  state.health_snapshot.unhealthy_nodes = {NodeId(3)};
  state.health_snapshot.node_healths = {{NodeId(1), 0.9}, {NodeId(3), 0.1}};
  state.health_snapshot.overall = 0.6;
  state.transfer_reason = "maintenance";
  state.transfer_source = "operator";
  state.transfer_duration = Duration::seconds(3);
  state.validation_results = {kFailoverStateNow, NodeId(1), true, {{StateField::kQueuePolicy, "an issue of before"}}};
  return state;
}

std::string bytes_of(const FailoverState& state) {
  auto bytes = encode(state, sha256);
  check(bytes.has_value(), "it is within its bounds");
  return *bytes;
}

ReadState read(const std::string& bytes) { return read_state(bytes, sha256, kFailoverStateNow, kHere); }

// Where a field begins in the bytes: its number, four bytes of length, its content, and its digest.
std::size_t place_of(const std::string& bytes, StateField field) {
  std::size_t at = 8;
  while (static_cast<StateField>(bytes[at]) != field) {
    std::size_t size = 0;
    for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
    at += 5 + size + 32;
  }
  return at;
}

// With the digest of all made anew: as somebody would write it who means it.
std::string sealed(std::string bytes) {
  bytes.resize(bytes.size() - 32);
  bytes += as_text(sha256(as_bytes(bytes)));
  return bytes;
}

std::vector<StateField> fields(const std::vector<StateIssue>& issues) {
  std::vector<StateField> found;
  for (const StateIssue& one : issues) found.push_back(one.field);
  return found;
}

const std::vector<StateField>& all_fields() {
  static const std::vector<StateField> all = [] {
    std::vector<StateField> fields;
    for (int i = 1; i <= 18; ++i) fields.push_back(static_cast<StateField>(i));
    return fields;
  }();
  return all;
}

TEST(FailoverState, comes_back_as_it_was) {
  const ReadState back = read(bytes_of(sound()));
  EXPECT_THAT(back.validation.issues, IsEmpty());
  EXPECT_TRUE(back.validation.checksum_valid);
  EXPECT_EQ(back.validation.validated_by, kHere);
  EXPECT_EQ(back.validation.validated_at, kFailoverStateNow);
  EXPECT_EQ(back.state, sound());
}

TEST(FailoverState, has_one_encoding) { EXPECT_EQ(bytes_of(sound()), bytes_of(read(bytes_of(sound())).state)); }

// Nodes of two versions stand side by side while a cluster is updated.
TEST(FailoverState, its_bytes_and_those_of_a_queue_are_the_same_in_each_version) {
  const auto digest_of = [](std::string_view bytes) {
    std::string hex;
    for (const std::byte one : sha256(as_bytes(bytes))) {
      for (const auto digit : {one >> 4, one & std::byte{15}}) hex += "0123456789abcdef"[std::to_integer<int>(digit)];
    }
    return hex;
  };
  EXPECT_EQ(digest_of(bytes_of(sound())), "877c494d201805c1982e24a9240a0b5a4c4bba1616ad6e0065cc74f619a61f4b");
  RequestQueue queue;
  queue.open(NodeId(3), Epoch(7));
  for (uint64_t i = 1; i <= 3; ++i)
    queue.admit({{9, i}, static_cast<uint8_t>(i), {static_cast<int64_t>(i) * 1000}, ""});
  queue.finish({9, 2}, queue.start({9, 2}), Outcome::kFailed, "no luck");
  queue.start({9, 3});
  EXPECT_EQ(digest_of(queue.encode()), "1cf60452ee1cc1070e1908b471cf48a0f33380d2f1c96e283d870d96021121ab");
}

TEST(FailoverState, a_bit_that_flips_anywhere_is_seen) {
  const std::string bytes = bytes_of(sound());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 4);
    EXPECT_FALSE(read(other).validation.valid()) << "byte " << at;
  }
}

TEST(FailoverState, bytes_that_end_anywhere_are_seen) {
  const std::string bytes = bytes_of(sound());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read(bytes.substr(0, size)).validation.valid()) << size;
  }
  EXPECT_FALSE(read(bytes + 'x').validation.valid());
}

TEST(FailoverState, a_wrong_checksum_drops_nothing_that_its_own_digest_shows_to_be_sound) {
  std::string bytes = bytes_of(sound());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const ReadState back = read(bytes);
  EXPECT_FALSE(back.validation.checksum_valid);
  EXPECT_THAT(fields(back.validation.issues), ElementsAre(StateField::kChecksum));
  const auto recovered = recover(back);
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->state, sound());
  EXPECT_THAT(fields(recovered->dropped), ElementsAre(StateField::kChecksum));
}

class EachField : public testing::TestWithParam<StateField> {};

TEST_P(EachField, that_is_damaged_is_named_and_dropped_alone) {
  std::string bytes = bytes_of(sound());
  const std::size_t at = place_of(bytes, GetParam()) + 5;
  bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
  const ReadState back = read(sealed(bytes));
  EXPECT_TRUE(back.validation.checksum_valid);
  EXPECT_THAT(fields(back.validation.issues), ElementsAre(GetParam()));
  EXPECT_THAT(back.validation.issues[0].text, HasSubstr("damaged"));
  EXPECT_NE(back.state, sound());
}

TEST_P(EachField, that_is_malformed_is_named_and_dropped_alone) {
  std::string bytes = bytes_of(sound());
  const std::size_t at = place_of(bytes, GetParam());
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
  const std::string content = bytes.substr(at + 5, size) + "x";
  std::string field(1, bytes[at]);
  for (int shift = 24; shift >= 0; shift -= 8) field.push_back(static_cast<char>(content.size() >> shift));
  field += content;
  field += as_text(sha256(as_bytes(content)));
  bytes.replace(at, 5 + size + 32, field);
  const ReadState back = read(sealed(bytes));
  EXPECT_THAT(fields(back.validation.issues), ElementsAre(GetParam()));
  EXPECT_THAT(back.validation.issues[0].text, HasSubstr("malformed"));
}

TEST_P(EachField, that_is_missing_is_named) {
  std::string bytes = bytes_of(sound());
  const std::size_t at = place_of(bytes, GetParam());
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
  bytes.erase(at, 5 + size + 32);
  EXPECT_THAT(fields(read(sealed(bytes)).validation.issues), ElementsAre(GetParam()));
}

TEST_P(EachField, that_is_there_twice_is_named) {
  std::string bytes = bytes_of(sound());
  const std::size_t at = place_of(bytes, GetParam());
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
  bytes.insert(at, bytes.substr(at, 5 + size + 32));
  const ReadState back = read(sealed(bytes));
  EXPECT_THAT(fields(back.validation.issues), ElementsAre(GetParam()));
  EXPECT_NE(back.state, sound()) << "nobody knows which of the two is meant";
}

INSTANTIATE_TEST_SUITE_P(FailoverState, EachField, testing::ValuesIn(all_fields()),
                         [](const auto& info) { return std::string(to_string(info.param)); });

struct Fault {
  StateField field;
  std::function<void(FailoverState&)> make;
  const char* text;
};

TEST(FailoverState, each_field_is_judged_in_words) {
  using S = FailoverState;
  const Fault faults[] = {
      {StateField::kLeader, [](S& s) { s.leader = NodeId(); }, "missing"},
      {StateField::kTerm, [](S& s) { s.term = Epoch(); }, "1 or more"},
      {StateField::kTransferTime, [](S& s) { s.transfer_time = {}; }, "missing"},
      {StateField::kTransferTime, [](S& s) { s.transfer_time.unix_ns += 61'000'000'000; }, "in the future"},
      {StateField::kQueuedRequests, [](S& s) { s.queued_requests[0].id = {}; }, "without an id"},
      {StateField::kQueuedRequests,
       [](S& s) {
         s.queued_requests[1].id = {1, 1};
       },
       "twice"},
      {StateField::kQueuedRequests, [](S& s) { s.queued_requests[1].active_under = Epoch(1); }, "active already"},
      {StateField::kQueuedRequests, [](S& s) { s.queued_requests[0].failures = 9; }, "more failures than attempts"},
      {StateField::kQueuedRequests, [](S& s) { s.queued_requests[0].submitted_at.unix_ns *= 2; }, "in the future"},
      {StateField::kActiveJobs, [](S& s) { s.active_jobs[0].active_under = Epoch(); }, "no running attempt"},
      {StateField::kActiveJobs, [](S& s) { s.active_jobs[0].attempts = 0; }, "attempt 0; expected 1 or more"},
      {StateField::kActiveJobs, [](S& s) { s.active_jobs[0].active_under = Epoch(6); },
       "a later epoch than its leader"},
      {StateField::kActiveJobs,
       [](S& s) {
         s.active_jobs[0].id = {1, 1};
       },
       "also queued"},
      {StateField::kCompletedJobs,
       [](S& s) {
         s.completed_jobs[0].id = {1, 1};
       },
       "listed twice as finished"},
      {StateField::kCompletedJobs, [](S& s) { s.completed_jobs[0].fence = {}; }, "without an attempt"},
      {StateField::kClusterState, [](S& s) { s.cluster_state.members.clear(); }, "no members"},
      {StateField::kClusterState, [](S& s) { s.cluster_state.members[1] = NodeId(1); }, "twice"},
      {StateField::kClusterState, [](S& s) { s.leader = NodeId(9); }, "not a member"},
      {StateField::kClusterState, [](S& s) { s.cluster_state.last_election.unix_ns *= 2; }, "in the future"},
      {StateField::kResourceAllocations, [](S& s) { s.resource_allocations[""] = {}; }, "without a name"},
      {StateField::kResourceAllocations, [](S& s) { s.resource_allocations["a"].cores = -1; }, "cores of 'a'"},
      {StateField::kNodeAssignments, [](S& s) { s.node_assignments["n1"].emplace_back(); }, "without a name"},
      {StateField::kManagerConfig, [](S& s) { s.manager_config.name.clear(); }, "no name"},
      {StateField::kManagerConfig, [](S& s) { s.manager_config.slots = 0; }, "1 to 1,000"},
      {StateField::kGenerationPolicy, [](S& s) { s.generation_policy.stop_timeout = Duration::hours(25); }, "24h"},
      {StateField::kGenerationPolicy,
       [](S& s) { s.generation_policy.leader_threshold = std::numeric_limits<double>::quiet_NaN(); }, "0 to 1"},
      {StateField::kQueuePolicy, [](S& s) { s.queue_policy.most_requests = 1001; }, "1 to 1,000"},
      {StateField::kQueuePolicy, [](S& s) { s.queue_policy.tries = 0; }, "0 tries"},
      {StateField::kStateVersion, [](S& s) { s.state_version = 0; }, "1 or more"},
      {StateField::kHealthSnapshot, [](S& s) { s.health_snapshot.overall = 1.5; }, "0 to 1"},
      {StateField::kHealthSnapshot, [](S& s) { s.health_snapshot.healthy_nodes = 4; }, "more healthy nodes"},
      {StateField::kHealthSnapshot, [](S& s) { s.health_snapshot.node_healths[NodeId(3)] = -1; }, "node 3"},
      {StateField::kTransferReason, [](S& s) { s.transfer_reason.clear(); }, "the reason"},
      {StateField::kTransferSource, [](S& s) { s.transfer_source.clear(); }, "the source"},
      {StateField::kTransferDuration, [](S& s) { s.transfer_duration = Duration::seconds(-1); }, "0 to 24h"},
      {StateField::kValidationResults, [](S& s) { s.validation_results.validated_at.unix_ns *= 2; }, "in the future"},
  };
  for (const Fault& fault : faults) {
    FailoverState state = sound();
    fault.make(state);
    const StateValidation judged = read(bytes_of(state)).validation;
    ASSERT_THAT(fields(judged.issues), ElementsAre(fault.field)) << fault.text;
    EXPECT_THAT(judged.issues[0].text, HasSubstr(fault.text));
  }
}

TEST(FailoverState, a_newer_version_is_taken_as_far_as_it_is_known_and_says_so) {
  std::string bytes = bytes_of(sound());
  bytes[7] = 2;
  bytes.resize(bytes.size() - 32);
  const std::string news = "news";
  bytes += std::string("\x63\0\0\0\4", 5) + news + std::string(as_text(sha256(as_bytes(news)))) + std::string(32, 'x');
  const auto recovered = recover(read(sealed(bytes)));
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->state, sound());
  ASSERT_THAT(fields(recovered->dropped), ElementsAre(StateField::kForm, StateField::kForm));
  EXPECT_THAT(recovered->dropped[0].text, HasSubstr("version 2"));
  EXPECT_THAT(recovered->dropped[1].text, HasSubstr("field 99 is not known"));
}

TEST(FailoverState, what_is_recovered_of_many_faults_is_sound_and_all_others_are_named) {
  FailoverState state = sound();
  state.queued_requests[0].id = {};
  state.manager_config.slots = 0;
  state.transfer_reason.clear();
  const auto recovered = recover(read(bytes_of(state)));
  ASSERT_TRUE(recovered);
  EXPECT_THAT(fields(recovered->dropped),
              ElementsAre(StateField::kQueuedRequests, StateField::kManagerConfig, StateField::kTransferReason));
  EXPECT_TRUE(recovered->state.queued_requests.empty());
  EXPECT_EQ(recovered->state.manager_config, ManagerConfig());
  EXPECT_EQ(recovered->state.active_jobs, sound().active_jobs);
  EXPECT_EQ(recovered->state.node_assignments, sound().node_assignments);
}

TEST(FailoverState, nothing_is_recovered_when_nobody_knows_whose_it_is) {
  FailoverState state = sound();
  state.leader = NodeId();
  EXPECT_EQ(recover(read(bytes_of(state))).error().code, Errc::kInvalid);
  EXPECT_THAT(recover(read("garbage")).error().message, HasSubstr("BWCF"));
}

TEST(FailoverState, what_another_node_would_not_take_is_not_sent) {
  FailoverState state = sound();
  state.transfer_reason = std::string(kMaxTextBytes + 1, 'x');
  EXPECT_EQ(encode(state, sha256).error().code, Errc::kTooLarge);
  state = sound();
  for (int node = 0; node < 100; ++node) {
    state.node_assignments["n" + std::to_string(node)] = std::vector<std::string>(100, std::string(150, 'x'));
  }
  EXPECT_THAT(encode(state, sha256).error().message, HasSubstr("the limit is 1 MiB"));
}

TEST(FailoverState, a_full_queue_can_be_handed_over) {
  FailoverState state = sound();
  state.queued_requests.clear();
  for (uint64_t i = 1; i <= kMaxRequests; ++i)
    state.queued_requests.push_back({{7, i}, 0, 0, 0, Epoch(), kFailoverStateNow});
  EXPECT_EQ(read(bytes_of(state)).state, state);
}

}  // namespace
}  // namespace bellwether::context_lead
