// What leadership costs one process: many keys renewed over one store, many keys watched, and the check before each
// guarded act. Prints one JSON object.
//   leases renew URL KEYS LEASE_S SECONDS    leads KEYS keys; then for SECONDS: processor time, and late renewals
//   leases watch KEYS                        bytes of heap for each key of a listing that is watched
//   leases check                             nanoseconds of valid_for(now), with the clock's reading and without

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"
#include "election/lease_record.h"
#include "election/store/candidate.h"
#include "election/store/lease_store.h"

namespace {

using namespace bellwether;  // NOLINT(google-build-using-namespace)

constexpr Duration kLateAfter = Duration::millis(250);  // beyond the interval in which it is due

class Key final : public lead::CandidateListener {
 public:
  Key(runtime::Runtime& runtime, store::LeaseStore& store, const election::LeaseTiming& timing, std::string name)
      : due_(timing.renew_every) {
    auto opened = store.open(name);
    check(opened.has_value(), "a key of the store");
    key_ = std::move(*opened);
    election::ElectorConfig config;
    config.key = std::move(name);
    config.claim.holder = "bench";
    config.claim.trust_empty = true;
    config.timing = timing;
    config.traits = store.traits();
    candidate_ = std::make_unique<lead::Candidate>(runtime, *key_, std::move(config), runtime.prng().next(), *this);
  }

  lead::Candidate& candidate() { return *candidate_; }
  bool leads() const { return leads_; }
  uint64_t renewals = 0;
  uint64_t late = 0;
  uint64_t lost = 0;

  void on_elected(const election::TermOfOffice& term) override {
    leads_ = true;
    ends_ = term.end->ends_at();
  }
  void on_renewed(Instant ends, Duration) override {
    ++renewals;
    if (ends - ends_ > due_ + kLateAfter) ++late;
    ends_ = ends;
  }
  void on_drain(const std::string&) override { candidate_->work_stopped(); }
  void on_term_ended(const election::TermEnded& ended) override {
    leads_ = false;
    ++lost;
    if (ended.work_runs) candidate_->work_stopped();
  }

 private:
  Duration due_;
  std::unique_ptr<store::StoreKey> key_;
  std::unique_ptr<lead::Candidate> candidate_;
  bool leads_ = false;
  Instant ends_;
};

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::vector<std::unique_ptr<Key>> make_keys(runtime::Runtime& runtime, store::LeaseStore& store,
                                            const election::LeaseTiming& timing, int64_t count) {
  std::vector<std::unique_ptr<Key>> keys;
  keys.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    keys.push_back(std::make_unique<Key>(runtime, store, timing, "bench-" + std::to_string(i)));
  }
  return keys;
}

runtime::task<int> renew(runtime::Runtime& runtime, std::string url, int64_t count, Duration lease, Duration span) {
  const auto store = co_await store::open_store(runtime, url);
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    co_return 1;
  }
  auto keys = make_keys(runtime, **store, election::LeaseTiming::of(lease), count);
  {
    runtime::Scope scope;
    // A tenth of a lease apart from each other at most, so that the store is not asked for everything at once.
    int64_t started = 0;
    for (const auto& key : keys) {
      scope.spawn(key->candidate().run(scope.cancellation()));
      if (++started % 100 == 0) co_await runtime.sleep(lease / 10 * 100 / count);
    }
    const Instant most = runtime.boot_now() + lease * 3;
    const auto leads = [](const auto& key) { return key->leads(); };
    while (!std::all_of(keys.begin(), keys.end(), leads) && runtime.boot_now() < most) {
      co_await runtime.sleep(Duration::millis(100));
    }
    const auto elected = std::count_if(keys.begin(), keys.end(), leads);
    for (const auto& key : keys) key->renewals = key->late = key->lost = 0;
    const double before = processor_seconds();
    const Instant from = runtime.boot_now();
    co_await runtime.sleep(span);
    const double seconds = static_cast<double>((runtime.boot_now() - from).ns()) / 1e9;
    const double used = processor_seconds() - before;
    uint64_t renewals = 0;
    uint64_t late = 0;
    uint64_t lost = 0;
    for (const auto& key : keys) {
      renewals += key->renewals;
      late += key->late;
      lost += key->lost;
    }
    std::printf(
        "{\"keys\": %lld, \"elected\": %lld, \"seconds\": %.3f, \"renewals\": %llu, \"late\": %llu, "
        "\"lost\": %llu, \"cpu_per_s\": %.4f}\n",
        static_cast<long long>(count), static_cast<long long>(elected), seconds,
        static_cast<unsigned long long>(renewals), static_cast<unsigned long long>(late),
        static_cast<unsigned long long>(lost), used / seconds);
    std::fflush(stdout);
    scope.cancel();
    co_await scope.join();
  }
  co_return 0;
}

// What `lease watch` keeps of each key of a listing.
int watch(int64_t count) {
  malloc_trim(0);
  const std::size_t before = mallinfo2().uordblks;
  election::WatchTable table;
  std::vector<election::WatchTable::Change> changes;
  election::Observation seen;
  seen.present = true;
  for (int64_t i = 0; i < count; ++i) {
    seen.record.holder = "host-" + std::to_string(i % 100) + ".example.org:" + std::to_string(10'000 + i % 1000);
    seen.record.epoch = election::Epoch(static_cast<uint64_t>(i));
    seen.version = std::to_string(i) + ".1.0123456789abcdef0123456789abcdef";
    table.see(Instant::from_ns(i), "service/orders/shard-" + std::to_string(i), seen, changes);
    changes.clear();
  }
  changes.shrink_to_fit();
  const std::size_t used = mallinfo2().uordblks - before;
  std::printf("{\"keys\": %lld, \"bytes_per_key\": %.0f}\n", static_cast<long long>(table.size()),
              static_cast<double>(used) / static_cast<double>(count));
  return 0;
}

int check_cost(runtime::Runtime& runtime) {
  constexpr int kTimes = 20'000'000;
  const auto end = std::make_shared<election::TermEnd>();
  end->move_to(Instant::from_ns(runtime.boot_now().ns() + 1'000'000'000'000));
  const election::TermOfOffice term{"key", "holder", election::Epoch(1), Instant(), end};
  int64_t valid = 0;
  const Instant now = runtime.boot_now();
  const Instant from = runtime.read_clock();
  for (int i = 0; i < kTimes; ++i) valid += term.valid_for(now + Duration::nanos(i)) > Duration::zero() ? 1 : 0;
  const Instant half = runtime.read_clock();
  for (int i = 0; i < kTimes; ++i) valid += term.valid_for(runtime.boot_now()) > Duration::zero() ? 1 : 0;
  const Instant to = runtime.read_clock();
  check(valid == 2 * kTimes, "a term that goes on");
  std::printf("{\"valid_for_ns\": %.2f, \"with_clock_ns\": %.2f}\n", static_cast<double>((half - from).ns()) / kTimes,
              static_cast<double>((to - half).ns()) / kTimes);
  return 0;
}

int64_t number(const char* text) { return std::strtoll(text, nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  auto created = runtime::EpollRuntime::create({});
  if (!created) return 1;
  runtime::EpollRuntime& runtime = **created;
  if (words.size() == 5 && words[0] == "renew") {
    return runtime.run(renew(runtime, argv[2], number(argv[3]), Duration::seconds(number(argv[4])),
                             Duration::seconds(number(argv[5]))));
  }
  if (words.size() == 2 && words[0] == "watch") return watch(number(argv[2]));
  if (words.size() == 1 && words[0] == "check") return check_cost(runtime);
  std::fprintf(stderr, "usage: leases renew URL KEYS LEASE_S SECONDS | watch KEYS | check\n");
  return 2;
}
