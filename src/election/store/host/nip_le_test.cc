// The behaviours that NIP-LE requires of readers and writers of a lock file, with whole instances: the Elector of the
// kernel on real lock files. (Those of its gates are in lead/leader_gate_test.cc.)
#include <atomic>
#include <barrier>
#include <csignal>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "core/base/units.h"
#include "core/runtime/stream_testing.h"
#include "core/runtime/temporary_testing.h"
#include "election/elector.h"
#include "election/store/host/host_store.h"
#include "lead/leader_gate.h"

namespace bellwether::store {
namespace {

using namespace election;
using Json = nlohmann::json;
using runtime::EpollRuntime;

constexpr const char* kKey = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d";
constexpr Duration kRefresh = Duration::minutes(1);  // a claim of this age is fresh by the real clock

// One process that shares the key: reads, claims and releases as a candidate does, whenever the test says so, in time
// that the test decides.
class Instance {
 public:
  Instance(const std::string& folder, std::string id, uint64_t seed, bool claims = true, bool starts = true)
      : runtime_(runtime::test_runtime()), gate_(lead::FailPolicy::kOpen) {
    HostStoreOptions options;
    options.folder = folder;
    options.rules.nip_le = true;
    options.rules.own_id = id;
    options.rules.refresh = kRefresh;
    store_ = std::move(*runtime_->run(open_host_store(*runtime_, options)));
    key_ = std::move(*store_->open(kKey));
    ElectorConfig config;
    config.key = kKey;
    config.claim.holder = std::move(id);
    config.timing = LeaseTiming::of(kRefresh * 2);
    config.campaign = claims;
    config.fail_open = true;
    elector_.emplace(std::move(config), seed);
    if (starts) start();
  }

  bool leads() const { return gate_.permits(now_); }
  const Elector& elector() const { return *elector_; }

  void start() { tell(Start{}); }
  // What a living instance does within this time.
  void live(Duration span) {
    const Instant end = now_ + span;
    while (elector_->wake() <= end) {
      now_ = std::max(now_, elector_->wake());
      tell(Tick{});
    }
    now_ = end;
  }
  void release() {
    tell(Resign{.cause = "shut down", .heir = {}, .stay_out = true});
    if (elector_->holds()) tell(WorkStopped{});
  }

 private:
  void tell(Event first) {
    std::vector<Event> events{std::move(first)};
    for (std::size_t i = 0; i < events.size(); ++i) {
      Effects effects;
      const Event event = std::move(events[i]);
      elector_->step(now_, event, effects);
      for (Effect& effect : effects) carry_out(effect, events);
    }
  }
  void carry_out(Effect& effect, std::vector<Event>& events) {
    const Instant soon = runtime_->read_clock() + Duration::minutes(1);
    if (std::holds_alternative<Look>(effect)) events.emplace_back(Looked{runtime_->run(key_->look(soon, nullptr))});
    if (auto* act = std::get_if<Act>(&effect)) {
      events.emplace_back(Acted{runtime_->run(key_->act(std::move(act->request), soon, nullptr))});
    }
    if (const auto* elected = std::get_if<Elected>(&effect)) gate_.leads_until(elected->ends);
    if (const auto* renewed = std::get_if<Renewed>(&effect)) gate_.leads_until(renewed->ends);
    if (const auto* open = std::get_if<FailOpen>(&effect)) gate_.set_open(open->open);
    if (const auto* ended = std::get_if<TermEnded>(&effect)) {
      gate_.term_ended();
      if (ended->work_runs) events.emplace_back(WorkStopped{});
    }
  }

  std::unique_ptr<EpollRuntime> runtime_;
  std::unique_ptr<LeaseStore> store_;
  std::unique_ptr<StoreKey> key_;
  std::optional<Elector> elector_;
  lead::LeaderGate gate_;
  Instant now_ = Instant::from_ns(1);
};

// The id of a process that has ended.
pid_t pid_of_the_dead() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

class NipLeTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path(std::string(kKey) + ".lock"); }
  std::string text() const { return std::string(as_text_of(path())); }
  Json claim() const { return Json::parse(text(), nullptr, false); }
  static std::string as_text_of(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string all(1 << 16, '\0');
    const ssize_t size = fd < 0 ? 0 : ::read(fd, all.data(), all.size());
    if (fd >= 0) ::close(fd);
    all.resize(static_cast<std::size_t>(size));
    return all;
  }
  void write(const std::string& content) { folder_.file(std::string(kKey) + ".lock", content); }
  // As another program claims the key, so long ago.
  void write_claim_of(const std::string& id, pid_t pid, Duration age = Duration::zero()) {
    const WallTime at{runtime::test_runtime()->wall_now().unix_ns - age.ns()};
    write(Json{{"instance_id", id}, {"pid", pid}, {"claimed_at", format_wall(at)}}.dump());
  }
  Instance instance(const std::string& id, uint64_t seed = 1, bool claims = true) {
    return Instance(folder_.path(), id, seed, claims);
  }
  runtime::TemporaryFolder folder_;
};

// --- reader ----------------------------------------------------------------------------------------------------------

class NipLeReader : public NipLeTest {};

TEST_F(NipLeReader, absent_means_leader) {
  auto window = instance("window-a", 1, false);
  EXPECT_TRUE(window.leads());
}

TEST_F(NipLeReader, self_owned_means_leader) {
  write_claim_of("window-a", ::getppid());
  auto window = instance("window-a", 1, false);
  EXPECT_TRUE(window.leads());
}

TEST_F(NipLeReader, foreign_owned_means_observer) {
  write_claim_of("window-b", ::getppid());
  auto window = instance("window-a", 1, false);
  EXPECT_FALSE(window.leads());
}

TEST_F(NipLeReader, malformed_means_leader_so_that_the_only_responder_is_never_silenced) {
  for (const char* content : {"not json", "{", "{}", "", "[1]", "{\"instance_id\": 5}"}) {
    write(content);
    auto window = instance("window-a", 1, false);
    EXPECT_TRUE(window.leads()) << content;
  }
}

TEST_F(NipLeReader, no_election_id_means_leader_even_beside_a_foreign_lock) {
  write_claim_of("window-b", ::getppid());
  const auto none = [](const char*) -> const char* { return nullptr; };
  const auto id = choose_instance_id(none, false, true, 1, {});
  ASSERT_TRUE(id);
  EXPECT_FALSE(id->elects);
}

TEST_F(NipLeReader, a_refresh_flips_the_status_when_the_lock_changes) {
  auto window = instance("window-a", 1, false);
  EXPECT_TRUE(window.leads());
  write_claim_of("window-b", ::getppid());
  window.live(kRefresh);
  EXPECT_FALSE(window.leads());
  write("");
  window.live(kRefresh);
  EXPECT_TRUE(window.leads());
}

// --- writer ----------------------------------------------------------------------------------------------------------

class NipLeWriter : public NipLeTest {};

TEST_F(NipLeWriter, claiming_an_unowned_lock_writes_ourselves) {
  auto window = instance("window-a");
  EXPECT_TRUE(window.leads());
  EXPECT_EQ(claim()["instance_id"], "window-a");
  EXPECT_EQ(claim()["pid"], ::getpid());
  EXPECT_TRUE(parse_wall(claim()["claimed_at"].get<std::string>()));
}

TEST_F(NipLeWriter, a_folder_that_is_not_there_is_made_for_its_owner_only) {
  Instance window(folder_.path("deep/leader-locks"), "window-a", 1);
  EXPECT_TRUE(window.leads());
  struct stat status {};
  ASSERT_EQ(::stat(folder_.path("deep/leader-locks").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(folder_.path("deep/leader-locks/" + std::string(kKey) + ".lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(NipLeWriter, of_two_writers_exactly_one_wins) {
  auto a = instance("window-a", 1);
  auto b = instance("window-b", 2);
  EXPECT_TRUE(a.leads());
  EXPECT_FALSE(b.leads());
  EXPECT_EQ(claim()["instance_id"], "window-a");
}

TEST_F(NipLeWriter, a_lock_of_a_dead_process_is_taken_over) {
  write_claim_of("window-b", pid_of_the_dead());
  auto window = instance("window-a");
  EXPECT_TRUE(window.leads());
  EXPECT_EQ(claim()["instance_id"], "window-a");
}

TEST_F(NipLeWriter, a_living_fresh_foreign_lock_blocks_the_claim) {
  write_claim_of("window-b", ::getppid(), kRefresh);
  const std::string before = text();
  auto window = instance("window-a");
  EXPECT_FALSE(window.leads());
  EXPECT_EQ(text(), before);
}

TEST_F(NipLeWriter, a_stale_claim_whose_process_id_was_given_to_a_living_process_is_taken_over) {
  write_claim_of("window-b", ::getppid(), kRefresh * 2 + Duration::seconds(1));
  auto window = instance("window-a");
  EXPECT_TRUE(window.leads());
  EXPECT_EQ(claim()["instance_id"], "window-a");
}

TEST_F(NipLeWriter, claiming_an_own_lock_again_renews_it_under_the_same_epoch) {
  auto window = instance("window-a");
  const Json before = claim();
  window.live(kRefresh);
  EXPECT_TRUE(window.leads());
  EXPECT_EQ(claim()["instance_id"], "window-a");
  EXPECT_EQ(claim()["epoch"], before["epoch"]);
  EXPECT_EQ(claim()["token"], before["token"]);
  EXPECT_GT(claim()["renewal"], before["renewal"]);
}

TEST_F(NipLeWriter, a_release_frees_the_lock_for_another_and_leaves_the_same_file) {
  auto a = instance("window-a", 1);
  auto b = instance("window-b", 2);
  struct stat before {};
  ASSERT_EQ(::stat(path().c_str(), &before), 0);
  a.release();
  EXPECT_EQ(text(), "");
  b.live(kRefresh);
  EXPECT_TRUE(b.leads());
  EXPECT_FALSE(a.leads());
  struct stat after {};
  ASSERT_EQ(::stat(path().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(claim()["epoch"], 2);
}

TEST_F(NipLeWriter, a_release_does_not_stomp_a_successor) {
  auto window = instance("window-a");
  write_claim_of("window-b", ::getppid());
  const std::string before = text();
  window.release();
  EXPECT_EQ(text(), before);
  EXPECT_FALSE(window.leads());
}

TEST_F(NipLeWriter, without_an_election_id_nothing_is_claimed) {
  const auto none = [](const char*) -> const char* { return nullptr; };
  EXPECT_FALSE(choose_instance_id(none, false, true, 1, {})->elects);
  EXPECT_FALSE(choose_instance_id(none, false, false, 1, {})) << "outside the profile that is an error";
  EXPECT_EQ(choose_instance_id(none, true, true, 77, {5})->id, "77-5");
  const auto given = [](const char* name) -> const char* {
    return std::string_view(name) == "BUZZ_INSTANCE_ELECTION_ID" ? "window-a" : nullptr;
  };
  EXPECT_EQ(choose_instance_id(given, true, true, 77, {5})->id, "window-a");
  EXPECT_TRUE(text().empty());
}

TEST_F(NipLeWriter, of_eight_threads_that_claim_at_once_exactly_one_wins) {
  for (uint64_t round = 0; round < 5; ++round) {
    write_claim_of("window-z", pid_of_the_dead());
    std::barrier together(8);
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        Instance window(folder_.path(), "window-" + std::to_string(i), round * 8 + i + 1, true, false);
        together.arrive_and_wait();
        window.start();
        winners += window.leads() ? 1 : 0;
        together.arrive_and_wait();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(winners, 1) << "round " << round;
  }
}

}  // namespace
}  // namespace bellwether::store
