// Many processes see the same dead holder of a host lock at the same moment, and all of them take the key: exactly one
// must get it. Each round is real: the winner of the one before was ended by SIGKILL, and a new process has its place.
//   BW_RACE_ROUNDS=100000 host_lock_race_test     the long run of docs/reliability.md

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/temporary_testing.h"
#include "election/store/lease_store.h"

namespace bellwether::store {
namespace {

constexpr std::size_t kCandidates = 64;
constexpr uint64_t kRoundsInEachRun = 40;
constexpr Duration kPatience = Duration::seconds(60);

// What parent and children share. Everything about a round is written between its two barriers.
struct Arena {
  pthread_barrier_t begin;
  pthread_barrier_t end;
  std::atomic<uint32_t> winners{0};
  std::atomic<uint32_t> takes{0};  // claims that were tried
  std::atomic<uint32_t> errors{0};
  std::atomic<uint32_t> winner{0};
  std::atomic<uint64_t> epoch{0};
  std::array<char, 200> error{};  // the last one, in words

  void fail(const std::string& why) {
    std::snprintf(error.data(), error.size(), "%s", why.c_str());
    errors.fetch_add(1);
  }

  Arena() {
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&begin, &shared, kCandidates + 1);
    pthread_barrier_init(&end, &shared, kCandidates + 1);
    pthread_barrierattr_destroy(&shared);
  }
  static Arena* make() {
    void* memory = ::mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Arena();
  }
};

// One look, and one claim when the look says that nobody alive holds the key. True when the key is ours.
runtime::task<bool> try_to_take(runtime::Runtime& runtime, StoreKey& key, std::string name, Arena& arena) {
  const Instant deadline = runtime.read_clock() + kPatience;
  auto seen = co_await key.look(deadline, nullptr);
  if (!seen) {
    arena.fail(seen.error().message);
    co_return false;
  }
  const bool free = !seen->record.held() || seen->sight == election::HolderSight::kDead;
  if (!free) co_return false;
  election::WriteRequest request;
  request.expected = seen->version;
  request.token = name + "-" + std::to_string(runtime.self().pid);
  request.record.holder = std::move(name);
  request.record.token = request.token;
  request.record.epoch = election::Epoch(seen->record.epoch.value() + 1);
  request.record.lease = Duration::seconds(10);
  arena.takes.fetch_add(1);
  auto outcome = co_await key.act(std::move(request), deadline, nullptr);
  if (!outcome) arena.fail(outcome.error().message);
  if (!outcome || !outcome->applied) co_return false;
  arena.epoch = outcome->after.record.epoch.value();
  co_return true;
}

// In a process of its own, until the race is won. A candidate that cannot take part says so, and goes on turning up.
[[noreturn]] void contend(uint32_t number, const std::string& url, Arena& arena) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto runtime = runtime::EpollRuntime::create({});
  auto store = runtime ? (*runtime)->run(open_store(**runtime, url)) : tl::unexpected(runtime.error());
  auto key = store ? (*store)->open("key") : tl::unexpected(store.error());
  while (true) {
    pthread_barrier_wait(&arena.begin);
    if (!key) arena.fail(key.error().message);
    const bool won = key && (*runtime)->run(try_to_take(**runtime, **key, "c" + std::to_string(number), arena));
    if (won) {
      arena.winners.fetch_add(1);
      arena.winner = number;
    }
    pthread_barrier_wait(&arena.end);
    if (won) ::kill(::getpid(), SIGKILL);
  }
}

class HostLockRace : public testing::TestWithParam<const char*> {
 protected:
  void start(uint32_t number) {
    const pid_t child = ::fork();
    if (child == 0) contend(number, url_, *arena_);
    ASSERT_GT(child, 0);
    children_[number] = child;
  }
  void one_round(uint64_t round) {
    arena_->winners = arena_->takes = 0;
    pthread_barrier_wait(&arena_->begin);
    pthread_barrier_wait(&arena_->end);
    ASSERT_EQ(arena_->errors.load(), 0u) << "round " << round << ": " << arena_->error.data();
    ASSERT_EQ(arena_->winners.load(), 1u) << "round " << round;
    ASSERT_EQ(arena_->epoch.load(), round);
    beaten_ += arena_->takes.load() - 1;
    const uint32_t winner = arena_->winner;
    int how = 0;
    ASSERT_EQ(::waitpid(children_[winner], &how, 0), children_[winner]);
    ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    start(winner);
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      if (child > 0) ::kill(child, SIGKILL);
    }
    for (const pid_t child : children_) {
      if (child > 0) ::waitpid(child, nullptr, 0);
    }
    ::munmap(arena_, sizeof(Arena));
  }

  const runtime::TemporaryFolder folder_;
  const std::string url_ = "flock:" + folder_.path("locks") + GetParam();
  Arena* arena_ = Arena::make();
  std::vector<pid_t> children_ = std::vector<pid_t>(kCandidates);
  uint64_t beaten_ = 0;
};

TEST_P(HostLockRace, a_dead_holder_has_exactly_one_successor) {
  ASSERT_NE(arena_, nullptr);
  const char* asked = std::getenv("BW_RACE_ROUNDS");  // NOLINT(concurrency-mt-unsafe): one thread
  const uint64_t rounds = asked == nullptr ? kRoundsInEachRun : std::strtoull(asked, nullptr, 10);
  for (uint32_t i = 0; i < kCandidates; ++i) ASSERT_NO_FATAL_FAILURE(start(i));
  for (uint64_t round = 1; round <= rounds; ++round) {
    ASSERT_NO_FATAL_FAILURE(one_round(round));
    if (asked != nullptr && round % 10'000 == 0) std::printf("%llu rounds\n", static_cast<unsigned long long>(round));
  }
  EXPECT_GT(beaten_, rounds) << "the candidates never met: nothing was raced for";
  std::printf("%llu rounds, %llu claims came too late\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(beaten_));
}

INSTANTIATE_TEST_SUITE_P(Each, HostLockRace, testing::Values("", "?profile=nip-le"),
                         [](const auto& info) { return std::string(*info.param == '\0' ? "flock" : "nip_le"); });

}  // namespace
}  // namespace bellwether::store
