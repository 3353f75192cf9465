#include "lead/metrics/lease_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/thread.h"
#include "core/runtime/timers.h"

namespace bellwether::lead {
namespace {

constexpr std::size_t kMaxSamples = 100'000;

// Takes everything up to `mark`, and that, off `text`; nothing when it is not there.
std::optional<std::string_view> cut(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view front = text.substr(0, at);
  text.remove_prefix(at + 1);
  return front;
}

// A value behind its opening quote, with the closing one.
std::optional<std::string> quoted(std::string_view& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return out;
    }
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) break;
    out += text[i] == 'n' ? '\n' : text[i];
  }
  return std::nullopt;
}

// name="value",… behind the opening brace, with the closing one. False for other text.
bool take_labels(std::string_view& text, MetricSample& sample) {
  while (!text.starts_with('}')) {
    const auto name = cut(text, '=');
    if (!name || !text.starts_with('"')) return false;
    text.remove_prefix(1);
    auto value = quoted(text);
    if (!value) return false;
    sample.labels.emplace(std::string(trim(*name)), std::move(*value));
    if (text.starts_with(',')) text.remove_prefix(1);
    if (text.empty()) return false;
  }
  text.remove_prefix(1);
  return true;
}

// The bound of a bucket.
std::optional<double> bound_of(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  const auto value = parse_double(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  MetricSample sample;
  const auto end = line.find_first_of("{ ");
  if (end == 0 || end == std::string_view::npos || line.front() == '#') return std::nullopt;
  sample.name = line.substr(0, end);
  line.remove_prefix(end);
  if (line.front() == '{') {
    line.remove_prefix(1);
    if (!take_labels(line, sample)) return std::nullopt;
  }
  line = trim(line);
  const auto value = parse_double(line.substr(0, line.find(' ')));  // a time may follow
  if (!value || !std::isfinite(*value)) return std::nullopt;
  sample.value = *value;
  return sample;
}

uint64_t counted(double value) { return value >= 0 && value < 1e18 ? static_cast<uint64_t>(value) : 0; }

void take_in(const MetricSample& sample, std::map<double, double>& buckets, LockPressure& out) {
  if (sample.name == metric::kLeader) {
    ++out.processes;
    out.holders += sample.value == 1 ? 1 : 0;
  } else if (sample.name == metric::kRenewalFailures) {
    out.renewal_failures += counted(sample.value);
  } else if (sample.name == metric::kStaleJobs) {
    out.stale_jobs = out.stale_jobs.value_or(0) + sample.value;
  } else if (sample.name == std::string(metric::kLockWait) + "_count") {
    out.waits += counted(sample.value);
  } else if (sample.name == std::string(metric::kLockWait) + "_bucket") {
    if (const auto bound = bound_of(sample.label("le"))) buckets[*bound] += sample.value;
  }
}

}  // namespace

using Guard = std::lock_guard<std::mutex>;

void WaitHistogram::add(Duration span) {
  const double seconds = static_cast<double>(span.ns()) / 1e9;
  const auto* bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  if (bound != kBounds.end()) ++at_most[static_cast<std::size_t>(bound - kBounds.begin())];
  ++count;
  sum += seconds;
}

void LeaseFigures::elected(const election::TermOfOffice& term, Instant now) {
  const Guard guard(mutex_);
  term_ = term;
  renewal_sent_ = now;
}

void LeaseFigures::renewed(Instant now, Duration took) {
  const Guard guard(mutex_);
  ++figures_.renewals;
  figures_.renew_seconds.add(took);
  renewal_sent_ = now - took;
}

void LeaseFigures::term_ended() {
  const Guard guard(mutex_);
  term_ = {};
}

void LeaseFigures::leader_changed(const election::LeaseRecord& record, Duration failover) {
  const Guard guard(mutex_);
  if (record.held() && record.epoch > figures_.epoch) {
    // The time before the first observed holder is unknown.
    if (figures_.epoch.value() > 0) figures_.failover = failover;
    ++figures_.transitions;
  }
  figures_.epoch = std::max(figures_.epoch, record.epoch);
}

void LeaseFigures::renewal_failed() {
  const Guard guard(mutex_);
  ++figures_.renewal_failures;
}

void LeaseFigures::fell_open() {
  const Guard guard(mutex_);
  ++figures_.fail_opens;
}

void LeaseFigures::lock_waited(Duration took) {
  const Guard guard(mutex_);
  figures_.lock_wait.add(took);
}

void LeaseFigures::tick_ended(bool succeeded) {
  const Guard guard(mutex_);
  ++figures_.ticks;
  if (!succeeded) ++figures_.tick_failures;
}

void LeaseFigures::stale_jobs(uint64_t count) {
  const Guard guard(mutex_);
  figures_.stale_jobs = count;
}

void LeaseFigures::orphans_replayed(uint64_t more) {
  const Guard guard(mutex_);
  figures_.orphans_replayed = figures_.orphans_replayed.value_or(0) + more;
}

LeaseSnapshot LeaseFigures::read(Instant now) const {
  const Guard guard(mutex_);
  LeaseSnapshot out = figures_;
  // Asks the term itself: a process that was paused holds nothing any more although it has not noticed yet.
  out.leader = term_.valid_for(now) > Duration::zero();
  if (out.leader) out.since_renewal = now - renewal_sent_;
  return out;
}

// --- as text ---------------------------------------------------------------------------------------------------------

namespace {

std::string labels(const LeaseSnapshot& key, const std::string& more = {}) {
  const std::string loop = key.loop.empty() ? "" : "," + metric_label("loop", key.loop);
  return fmt::format("{{{}{}{}}}", metric_label("key", key.key), loop, more);
}

class Page {
 public:
  explicit Page(const std::vector<LeaseSnapshot>& keys) : keys_(keys) {}

  // `value`: a figure of a snapshot, or nothing.
  template <class Value>
  void figure(std::string_view name, std::string_view type, std::string_view help, Value value) {
    bool begun = false;
    for (const LeaseSnapshot& key : keys_) {
      const std::optional<double> now = value(key);
      if (!now) continue;
      if (!begun) begin(name, type, help);
      begun = true;
      text_ += fmt::format("{}{} {}\n", name, labels(key), metric_number(*now));
    }
  }
  void histogram(std::string_view name, std::string_view help, WaitHistogram LeaseSnapshot::*which, bool loops_only) {
    bool begun = false;
    for (const LeaseSnapshot& key : keys_) {
      if (loops_only && key.loop.empty()) continue;
      if (!begun) begin(name, "histogram", help);
      begun = true;
      const WaitHistogram& waits = key.*which;
      uint64_t sum = 0;
      for (std::size_t i = 0; i < WaitHistogram::kBounds.size(); ++i) {
        sum += waits.at_most[i];
        bucket(name, key, metric_number(WaitHistogram::kBounds[i]), sum);
      }
      bucket(name, key, "+Inf", waits.count);
      text_ += fmt::format("{}_sum{} {}\n", name, labels(key), metric_number(waits.sum));
      text_ += fmt::format("{}_count{} {}\n", name, labels(key), waits.count);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    text_ += fmt::format("# HELP {} {}\n", name, help);
    text_ += fmt::format("# TYPE {} {}\n", name, type);
  }
  void bucket(std::string_view name, const LeaseSnapshot& key, const std::string& bound, uint64_t count) {
    text_ += fmt::format("{}_bucket{} {}\n", name, labels(key, fmt::format(",le=\"{}\"", bound)), count);
  }

  const std::vector<LeaseSnapshot>& keys_;
  std::string text_;
};

std::optional<double> seconds(const std::optional<Duration>& span) {
  if (!span) return std::nullopt;
  return static_cast<double>(span->ns()) / 1e9;
}

std::optional<double> count(uint64_t value) { return static_cast<double>(value); }

}  // namespace

std::string prometheus_text(const std::vector<LeaseSnapshot>& keys) {
  using Snapshot = LeaseSnapshot;
  Page page(keys);
  page.figure(metric::kLeader, "gauge", "1 while this process holds the key.",
              [](const Snapshot& s) { return count(s.leader ? 1 : 0); });
  page.figure(metric::kEpoch, "gauge", "The highest epoch of the key that this process has seen.",
              [](const Snapshot& s) { return count(s.epoch.value()); });
  page.figure(metric::kTransitions, "counter", "Changes of holder that this process has seen.",
              [](const Snapshot& s) { return count(s.transitions); });
  page.figure(metric::kRenewals, "counter", "Renewals of this process that the store confirmed.",
              [](const Snapshot& s) { return count(s.renewals); });
  page.figure(metric::kRenewalFailures, "counter", "Renewals of this process that failed or got no answer in time.",
              [](const Snapshot& s) { return count(s.renewal_failures); });
  page.histogram(metric::kRenewSeconds, "Seconds from sending a renewal to its confirmation.", &Snapshot::renew_seconds,
                 false);
  page.figure(metric::kLastRenewal, "gauge",
              "Seconds since the last confirmed renewal was sent; only while this process holds the key.",
              [](const Snapshot& s) { return seconds(s.since_renewal); });
  page.figure(metric::kFailover, "gauge", "Seconds without a sign of life of the key before the last change of holder.",
              [](const Snapshot& s) { return seconds(s.failover); });
  page.figure(metric::kFailOpen, "counter", "How often the fail policy permitted work without proof of leadership.",
              [](const Snapshot& s) { return count(s.fail_opens); });
  page.histogram(metric::kLockWait, "Seconds from requesting the lock of a tick to the store's answer.",
                 &Snapshot::lock_wait, true);
  const auto of_loop = [](const Snapshot& s, uint64_t value) { return s.loop.empty() ? std::nullopt : count(value); };
  page.figure(metric::kTicks, "counter", "Ticks that have ended.",
              [&](const Snapshot& s) { return of_loop(s, s.ticks); });
  page.figure(metric::kTickFailures, "counter", "Ticks that failed.",
              [&](const Snapshot& s) { return of_loop(s, s.tick_failures); });
  page.figure(metric::kStaleJobs, "gauge", "Overdue work, as last counted by the tick.",
              [](const Snapshot& s) { return s.stale_jobs ? count(*s.stale_jobs) : std::nullopt; });
  page.figure(metric::kOrphanReplayed, "counter", "Work that was found without an owner and started again.",
              [&](const Snapshot& s) { return of_loop(s, s.orphans_replayed.value_or(0)); });
  return page.take();
}

std::string_view MetricSample::label(std::string_view which) const {
  const auto found = labels.find(which);
  return found == labels.end() ? std::string_view() : std::string_view(found->second);
}

std::vector<MetricSample> parse_metrics(std::string_view text) {
  std::vector<MetricSample> samples;
  while (!text.empty() && samples.size() < kMaxSamples) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (auto sample = sample_of(trim(line))) samples.push_back(std::move(*sample));
  }
  return samples;
}

LockPressure pressure_of(const std::vector<std::vector<MetricSample>>& pages, std::string_view loop,
                         std::string_view key) {
  LockPressure out;
  const std::string loop_label = label_text(loop);
  const std::string key_label = label_text(key);
  std::map<double, double> buckets;  // counts of all processes, already added up within each
  for (const auto& page : pages) {
    for (const MetricSample& sample : page) {
      if (sample.label("key") != key_label || sample.label("loop") != loop_label) continue;
      take_in(sample, buckets, out);
    }
  }
  if (buckets.empty() || buckets.rbegin()->second <= 0) return out;
  const double wanted = buckets.rbegin()->second * 0.99;
  const auto reached =
      std::find_if(buckets.begin(), buckets.end(), [&](const auto& bucket) { return bucket.second >= wanted; });
  out.wait_p99_s = reached->first;
  return out;
}

namespace {

using runtime::task;

// The value of ?name=…, decoded; nothing when it is not there.
std::optional<std::string> parameter(const web::Request& request, std::string_view name) {
  for (const auto& [other, value] : web::form_fields(request.query)) {
    if (other == name) return value;
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& at,
                                                            std::vector<const LeaseFigures*> figures) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(std::move(figures)));
  BW_RETURN_IF_ERROR(server->begin(at));
  return server;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  runtime::post_patiently(
      *runtime_, [](void* self) { static_cast<MetricsServer*>(self)->over_->cancel(); }, this);
  thread_.join();
}

Status MetricsServer::begin(std::string at) {
  auto listening = std::make_shared<std::promise<Status>>();
  auto answer = listening->get_future();
  const runtime::NoSignals no_signals;
  thread_ = std::thread([this, listening, at = std::move(at)] {
    runtime::set_up_thread("metrics", std::nullopt);
    auto made = runtime::EpollRuntime::create({});
    if (!made) {
      listening->set_value(tl::unexpected(made.error()));
      return;
    }
    runtime_ = std::move(*made);
    runtime_->run(serve(at, listening));
  });
  Status done = answer.get();
  if (!done) thread_.join();
  return done;
}

task<void> MetricsServer::serve(std::string at, std::shared_ptr<std::promise<Status>> listening) {
  const auto endpoint = co_await web::endpoint_of(*runtime_, std::move(at));
  if (!endpoint) {
    listening->set_value(tl::unexpected(endpoint.error()));
    co_return;
  }
  auto server = web::HttpServer::listen(*runtime_, *endpoint, *this, {});
  if (!server) {
    listening->set_value(tl::unexpected(server.error()));
    co_return;
  }
  runtime::Cancellation over;
  over_ = &over;
  where_ = (*server)->local().to_string();
  listening->set_value(Status());
  co_await (*server)->serve(&over);
}

task<web::Answer> MetricsServer::answer(web::Request request, runtime::Cancellation*) {
  if (request.method != "GET" && request.method != "HEAD") {
    co_return web::Answer{
        .status = 405, .body = "this page supports only GET and HEAD\n", .fields = {{"Allow", "GET, HEAD"}}};
  }
  if (request.path == "/metrics") co_return metrics();
  if (request.path == "/healthz" || request.path == "/leader") co_return health(request, true);
  if (request.path == "/follower") co_return health(request, false);
  co_return web::Answer{.status = 404, .body = "the pages are /metrics, /healthz, /leader and /follower\n"};
}

web::Answer MetricsServer::metrics() const {
  std::vector<LeaseSnapshot> keys;
  const Instant now = runtime::BootClock::now();
  keys.reserve(figures_.size());
  for (const LeaseFigures* figures : figures_) keys.push_back(figures->read(now));
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = prometheus_text(keys)};
}

web::Answer MetricsServer::health(const web::Request& request, bool as_leader) const {
  const auto loop = parameter(request, "loop");
  const auto key = parameter(request, "key");
  const Instant now = runtime::BootClock::now();
  std::size_t asked = 0;
  std::size_t held = 0;
  std::string body;
  for (const LeaseFigures* figures : figures_) {
    if ((loop && *loop != figures->loop()) || (key && *key != figures->key())) continue;
    const LeaseSnapshot one = figures->read(now);
    ++asked;
    held += one.leader ? 1 : 0;
    body += fmt::format("{}{}\n", one.leader ? "leader   " : "follower ",
                        label_value(one.loop.empty() ? one.key : one.loop));
  }
  if (asked == 0) return {.status = 404, .body = "there is no such loop or key here\n"};
  return {.status = held == (as_leader ? asked : 0) ? 200 : 503, .body = std::move(body)};
}

}  // namespace bellwether::lead
