// The figures of one key, as this process sees it: for a page of metrics and for load balancers. The thread of the
// candidate writes them, and that of the HTTP server reads them; each call takes a lock for some nanoseconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/web/http_server.h"
#include "election/elector_events.h"
#include "election/term_of_office.h"

namespace bellwether::lead {

// The names of the leadership metrics, in the form of Prometheus. Exporters and alerts both take them from here. Each
// has the label `key` (of the lock) and, where a loop of a policy sheet runs under it, `loop`. A counter starts at 0,
// else its first count would be no increase.

namespace metric {

// 1 while this process holds the key, and else 0.
inline constexpr std::string_view kLeader = "bellwether_leader";
// The highest epoch that this process has seen, as holder or as observer.
inline constexpr std::string_view kEpoch = "bellwether_lease_epoch";
// Changes of holder that this process has seen: terms of a new epoch, its own among them.
inline constexpr std::string_view kTransitions = "bellwether_lease_transitions_total";
// Renewals of this process that the store has confirmed, and renewals that failed or were not answered in time.
inline constexpr std::string_view kRenewals = "bellwether_lease_renewals_total";
inline constexpr std::string_view kRenewalFailures = "bellwether_lease_renewal_failures_total";
// Histogram: from sending a renewal until it was confirmed.
inline constexpr std::string_view kRenewSeconds = "bellwether_lease_renew_seconds";
// How long ago the last confirmed renewal of this process was sent; only while it holds the key.
inline constexpr std::string_view kLastRenewal = "bellwether_lease_last_renewal_seconds";
// Of the last change of holder: the time without one, as this process saw it.
inline constexpr std::string_view kFailover = "bellwether_failover_seconds";
// How often this process was permitted to act without proof of leadership.
inline constexpr std::string_view kFailOpen = "bellwether_fail_open_total";
// Histogram, in seconds: from the moment at which a tick wanted its lock until the store had answered.
inline constexpr std::string_view kLockWait = "job_lock_wait";
// Ticks of a loop that have ended, and the failed ones among them.
inline constexpr std::string_view kTicks = "bellwether_loop_ticks_total";
inline constexpr std::string_view kTickFailures = "bellwether_loop_tick_failures_total";
// Overdue work that no process has done, as the loop's tick counted it last.
inline constexpr std::string_view kStaleJobs = "stale_jobs";
// Work that was found without an owner and begun again.
inline constexpr std::string_view kOrphanReplayed = "orphan_replayed_total";

}  // namespace metric

// A histogram in the manner of Prometheus: counts of the waits up to each bound in seconds.
struct WaitHistogram {
  static constexpr std::array<double, 13> kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                  0.25,  0.5,    1,     2.5,  5,     10};
  std::array<uint64_t, kBounds.size()> at_most{};  // not added up
  uint64_t count = 0;
  double sum = 0;

  void add(Duration span);
};

struct LeaseSnapshot {
  std::string key;
  std::string loop;  // empty: no loop of a policy sheet
  bool leader = false;
  election::Epoch epoch;
  uint64_t transitions = 0;
  uint64_t renewals = 0;
  uint64_t renewal_failures = 0;
  WaitHistogram renew_seconds;
  std::optional<Duration> since_renewal;
  std::optional<Duration> failover;
  uint64_t fail_opens = 0;
  WaitHistogram lock_wait;
  uint64_t ticks = 0;
  uint64_t tick_failures = 0;
  std::optional<uint64_t> stale_jobs;
  std::optional<uint64_t> orphans_replayed;
};
// In the text format of Prometheus (version 0.0.4). Pure.
std::string prometheus_text(const std::vector<LeaseSnapshot>& keys);

class LeaseFigures {
 public:
  LeaseFigures(std::string key, std::string loop) {
    figures_.key = std::move(key);
    figures_.loop = std::move(loop);
  }

  // `now`: of the boot clock.
  void elected(const election::TermOfOffice& term, Instant now);
  void renewed(Instant now, Duration took);
  void term_ended();
  void leader_changed(const election::LeaseRecord& record, Duration failover);
  void renewal_failed();
  void fell_open();
  void lock_waited(Duration took);
  void tick_ended(bool succeeded);
  void stale_jobs(uint64_t count);
  void orphans_replayed(uint64_t more);

  LeaseSnapshot read(Instant now) const;
  const std::string& key() const { return figures_.key; }
  const std::string& loop() const { return figures_.loop; }

 private:
  mutable std::mutex mutex_;
  LeaseSnapshot figures_;
  election::TermOfOffice term_;
  Instant renewal_sent_;
};

// Reads the text format of Prometheus, as far as our own pages need it, and derives the pressure on a lock: who waits
// for it and for how long. Pure.
struct MetricSample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;  // without escapes
  double value = 0;

  std::string_view label(std::string_view which) const;
};

// Skips unreadable lines, and all after the first 100,000 samples.
std::vector<MetricSample> parse_metrics(std::string_view text);

struct LockPressure {
  std::size_t processes = 0;  // that report on this lock
  std::size_t holders = 0;    // that say they hold it now
  uint64_t waits = 0;         // how often the store was asked for the lock since they began
  uint64_t renewal_failures = 0;
  // The wait that 99 % did not exceed, in seconds, as precise as the buckets; infinite beyond the last one.
  std::optional<double> wait_p99_s;
  std::optional<double> stale_jobs;  // as the ticks counted them, added up

  std::size_t waiting() const { return processes - holders; }
};

// `pages`: one of each process. `loop`: of the sheet; `key`: its lock key.
LockPressure pressure_of(const std::vector<std::vector<MetricSample>>& pages, std::string_view loop,
                         std::string_view key);

// A small HTTP server for the figures of keys, on a separate thread: a slow scraper, or a load balancer that asks
// often, never delays a renewal, and a stuck one loses its connection (core/web/http_server.h). Its thread takes no
// signals. It answers
//   GET /metrics                      the text format of Prometheus
//   GET /healthz, /leader             200 while this process holds all its keys, else 503
//   GET /follower                     200 while it holds none of them, else 503
// where ?loop=NAME or ?key=KEY asks for one of several.
class MetricsServer final : private web::Handler {
 public:
  // `at`: HOST:PORT; port 0 takes a free one. `figures` must outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<MetricsServer>> start(const std::string& at, std::vector<const LeaseFigures*> figures);
  // Returns when its thread has ended.
  ~MetricsServer() override;
  // "127.0.0.1:9090", with the port that was really taken.
  const std::string& where() const { return where_; }

 private:
  explicit MetricsServer(std::vector<const LeaseFigures*> figures) : figures_(std::move(figures)) {}
  Status begin(std::string at);
  // Reports the result of the start to `listening`, and is the whole life of the thread.
  runtime::task<void> serve(std::string at, std::shared_ptr<std::promise<Status>> listening);
  runtime::task<web::Answer> answer(web::Request request, runtime::Cancellation* cancel) override;
  web::Answer metrics() const;
  web::Answer health(const web::Request& request, bool as_leader) const;

  std::vector<const LeaseFigures*> figures_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;  // made and used by the thread; ends after it
  runtime::Cancellation* over_ = nullptr;
  std::string where_;
  std::thread thread_;
};

}  // namespace bellwether::lead
