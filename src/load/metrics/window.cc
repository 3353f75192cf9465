#include "load/metrics/window.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/check.h"

namespace bellwether::metrics {

namespace {

template <std::size_t N>
std::array<Histogram, N> histograms(PiecePool* pool) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Histogram, N>{((void)I, Histogram(pool))...};
  }(std::make_index_sequence<N>{});
}

template <class Array>
void add(Array& to, const Array& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

template <class Item>
std::vector<Item> items(std::size_t count, PiecePool* pool) {
  std::vector<Item> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(pool);
  return out;
}

template <class Item>
void merge_each(std::vector<Item>& to, const std::vector<Item>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i].merge(from[i]);
}

}  // namespace

void PiecePool::Release::operator()(std::byte* slab) const { std::free(slab); }

PiecePool::Size& PiecePool::of_size(std::size_t bytes) {
  std::size_t i = 0;
  while (i < sizes_.size() && sizes_[i].bytes != bytes && sizes_[i].bytes != 0) ++i;
  check(i < sizes_.size(), "pieces have few sizes");
  sizes_[i].bytes = bytes;
  return sizes_[i];
}

// Memory of the kernel costs nothing until its use.
void PiecePool::add_slab(std::size_t at_least) {
  const std::size_t bytes = std::max(at_least, std::clamp(slab_bytes_, kFirstSlab, kLargestSlab));
  auto* slab = static_cast<std::byte*>(std::malloc(bytes));
  check(slab != nullptr, "memory for histograms");
  slabs_.emplace_back(slab);
  slab_bytes_ += bytes;
  next_ = slab;
  left_ = bytes;
}

void* PiecePool::take(std::size_t bytes) {
  Size& size = of_size(bytes);
  void* piece = size.free;
  if (size.free != nullptr) {
    size.free = size.free->next;
  } else {
    if (left_ < bytes) add_slab(bytes);
    piece = next_;
    next_ += bytes;
    left_ -= bytes;
  }
  return std::memset(piece, 0, bytes);
}

void PiecePool::give_back(void* piece, std::size_t bytes) {
  Size& size = of_size(bytes);
  size.free = new (piece) Free{size.free};
}

void PiecePool::top_up() {
  if (left_ < kLowWater) add_slab(kLowWater);
}

uint64_t StatusCounts::of(uint16_t status) const {
  const auto found = std::ranges::find_if(entries_, [&](const Entry& e) { return e.status == status; });
  return found == entries_.end() ? 0 : found->count;
}

void StatusCounts::insert(uint16_t status, uint64_t times) {
  check(status < kMaxStatus, "a status that exists");
  if (times == 0) return;
  const auto after = [&](const Entry& e) { return e.status > status; };
  entries_.insert(std::ranges::find_if(entries_, after), {status, times});
}

bool MetricWindow::takes(double value, double least_value) {
  if (!std::isfinite(value) || value < least_value || value > kMaxValue) {
    ++refused;
    return false;
  }
  ++count;
  return true;
}

void MetricWindow::add(double amount) {
  if (takes(amount, 0)) sum += static_cast<uint64_t>(std::llround(amount * 1e6));
}

void MetricWindow::observe(double truth) {
  if (takes(truth, -kMaxValue) && truth != 0) ++trues;
}

void MetricWindow::set(double value, Duration at) {
  if (!takes(value, -kMaxValue)) return;
  least = count == 1 ? value : std::min(least, value);
  greatest = count == 1 ? value : std::max(greatest, value);
  last = value;
  last_at = at;
}

void MetricWindow::record(double value, double scale) {
  if (!takes(value, 0)) return;
  const double scaled = std::min(value * scale, static_cast<double>(Histogram::kMaxTracked));
  trend.record(Duration::nanos(std::llround(scaled)));
}

void MetricWindow::merge(const MetricWindow& other) {
  if (other.count > 0) {
    if (count == 0 || other.last_at > last_at || (other.last_at == last_at && other.last > last)) {
      last = other.last;
      last_at = other.last_at;
    }
    least = count == 0 ? other.least : std::min(least, other.least);
    greatest = count == 0 ? other.greatest : std::max(greatest, other.greatest);
  }
  count += other.count;
  refused += other.refused;
  sum += other.sum;
  trues += other.trues;
  trend.merge(other.trend);
}

void MetricWindow::clear() {
  count = refused = trues = 0;
  sum = 0;
  last = least = greatest = 0;
  last_at = Duration::zero();
  trend.clear();
}

StepWindow::StepWindow(PiecePool* pool) : service(pool), response(pool), phases(histograms<kPhases>(pool)) {}

void StepWindow::merge(const StepWindow& other) {
  count += other.count;
  failed += other.failed;
  left_out += other.left_out;
  repeated += other.repeated;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  service.merge(other.service);
  response.merge(other.response);
  for (std::size_t i = 0; i < kPhases; ++i) phases[i].merge(other.phases[i]);
  status.merge(other.status);
  add(errors, other.errors);
}

void StepWindow::clear() {
  count = failed = left_out = repeated = bytes_sent = bytes_received = 0;
  service.clear();
  response.clear();
  for (Histogram& phase : phases) phase.clear();
  status.clear();
  errors.fill(0);
}

WorkflowWindow::WorkflowWindow(PiecePool* pool) : iteration(pool), start_lag(pool) {}

void WorkflowWindow::merge(const WorkflowWindow& other) {
  iterations += other.iterations;
  interrupted += other.interrupted;
  scheduled += other.scheduled;
  on_time += other.on_time;
  late += other.late;
  dropped += other.dropped;
  vus_active += other.vus_active;
  vus_allocated += other.vus_allocated;
  ran = std::max(ran, other.ran);
  begun += other.begun;
  taken = std::max(taken, other.taken);
  pace = std::max(pace, other.pace);
  iteration.merge(other.iteration);
  start_lag.merge(other.start_lag);
}

void WorkflowWindow::clear() {
  iterations = interrupted = scheduled = on_time = late = dropped = 0;
  vus_active = vus_allocated = 0;
  ran = Duration::zero();
  begun = taken = pace = 0;
  iteration.clear();
  start_lag.clear();
}

Window::Window(const Shape& shape)
    : pool(std::make_unique<PiecePool>()),
      steps(items<StepWindow>(shape.steps, pool.get())),
      workflows(items<WorkflowWindow>(shape.workflows, pool.get())),
      checks(shape.checks),
      series(items<MetricWindow>(shape.series, pool.get())),
      watches(items<Histogram>(shape.watches, pool.get())),
      loop_lag(pool.get()) {}

// Not member by member: the old content gives its memory back to its own pool.
Window& Window::operator=(Window&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

void Window::merge(const Window& other) {
  check(shape() == other.shape(), "windows of one plan are merged");
  merge_each(steps, other.steps);
  merge_each(workflows, other.workflows);
  merge_each(series, other.series);
  merge_each(watches, other.watches);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i].passes += other.checks[i].passes;
    checks[i].fails += other.checks[i].fails;
  }
  loop_lag.merge(other.loop_lag);
  cpu += other.cpu;
  covered = std::max(covered, other.covered);
}

void Window::clear() {
  for (StepWindow& step : steps) step.clear();
  for (WorkflowWindow& workflow : workflows) workflow.clear();
  for (CheckCount& one : checks) one = {};
  for (MetricWindow& one : series) one.clear();
  for (Histogram& one : watches) one.clear();
  loop_lag.clear();
  cpu = covered = Duration::zero();
  second = 0;
  make_room();
}

namespace {

constexpr uint64_t kTenSeconds = 10;
constexpr uint64_t kMinute = 60;
constexpr uint64_t kHour = 3'600;
constexpr uint64_t kDay = 24 * kHour;

}  // namespace

bool Retention::reach(uint64_t second) {
  if (second < end_) return false;
  end_ = second + 1;
  const uint64_t before = hot_;
  // The least border with at most `most` seconds plus less than a interval between it and `to`.
  const auto border = [this](uint64_t to, uint64_t most, uint64_t interval) {
    const uint64_t long_ago = to - begin_;
    return long_ago <= most ? begin_ : begin_ + (long_ago - most + interval - 1) / interval * interval;
  };
  hot_ = border(end_, hot_seconds_ + kTenSeconds - 1, kTenSeconds);
  warm_ = border(hot_, kHour, kMinute);
  cold_ = border(warm_, kDay, kMinute);
  return hot_ != before;
}

uint64_t Retention::interval_of(uint64_t second) const {
  if (second >= hot_ || second < begin_) return second;
  if (second < cold_) return 0;
  const uint64_t length = second >= warm_ ? kTenSeconds : kMinute;
  return begin_ + (second - begin_) / length * length;
}

std::vector<Fold> Retention::add(uint64_t second) {
  check(second >= end_, "seconds come in their order");
  const Retention before = *this;
  reach(second);
  std::vector<Fold> folds;
  // The oldest first, so that no tier is ever over its limit. The time between the old end and the second is empty.
  if (cold_ > before.cold_) folds.push_back({Tier::kArchive, 0, cold_});
  for (uint64_t at = std::max(before.warm_, cold_); at < std::min(warm_, before.end_); at += kMinute) {
    folds.push_back({Tier::kCold, at, at + kMinute});
  }
  for (uint64_t at = std::max(before.hot_, warm_); at < std::min(hot_, before.end_); at += kTenSeconds) {
    folds.push_back({Tier::kWarm, at, at + kTenSeconds});
  }
  return folds;
}

void append(Window& earlier, const Window& later) {
  check(earlier.workflows.size() == later.workflows.size(), "windows of one plan");
  std::vector<std::pair<int64_t, int64_t>> gauges;
  gauges.reserve(earlier.workflows.size());
  for (std::size_t w = 0; w < earlier.workflows.size(); ++w) {
    gauges.emplace_back(std::max(earlier.workflows[w].vus_active, later.workflows[w].vus_active),
                        std::max(earlier.workflows[w].vus_allocated, later.workflows[w].vus_allocated));
    earlier.workflows[w].ran += later.workflows[w].ran;
  }
  const Duration covered = earlier.covered + later.covered;
  const uint64_t second = earlier.second;
  earlier.merge(later);
  earlier.covered = covered;
  earlier.second = second;
  for (std::size_t w = 0; w < gauges.size(); ++w) {
    earlier.workflows[w].vus_active = gauges[w].first;
    earlier.workflows[w].vus_allocated = gauges[w].second;
  }
}

}  // namespace bellwether::metrics
