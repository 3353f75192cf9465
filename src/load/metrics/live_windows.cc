#include "load/metrics/live_windows.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"

namespace bellwether::metrics {

namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

bool has_fallen(const LiveCounts& before, const LiveCounts& after) {
  return after.requests < before.requests || after.failed < before.failed || after.iterations < before.iterations ||
         after.dropped < before.dropped;
}

}  // namespace

Instant ClockOffset::heard(Instant now, Instant written) {
  const Duration seen = now - written;
  if (!heard_ || now - began_ >= kSpan) {
    const bool follows = heard_ && now - began_ < kSpan * 2;
    least_before_ = follows ? least_ : Duration::max();
    least_ = seen;
    began_ = now;
    heard_ = true;
  }
  least_ = std::min(least_, seen);
  return now - (seen - std::min(least_, least_before_));
}

LiveCounts operator+(const LiveCounts& a, const LiveCounts& b) {
  return {a.requests + b.requests, a.failed + b.failed, a.iterations + b.iterations, a.dropped + b.dropped,
          a.vus + b.vus};
}

LiveCounts operator-(const LiveCounts& a, const LiveCounts& b) {
  return {a.requests - b.requests, a.failed - b.failed, a.iterations - b.iterations, a.dropped - b.dropped,
          a.vus - b.vus};
}

int64_t LiveWindows::window_of(Instant at) const { return std::max<int64_t>((at - origin_).ns(), 0) / kLength.ns(); }

LiveWindows::Slot& LiveWindows::slot(int64_t window) {
  Slot& found = ring_[static_cast<std::size_t>(window) % kRing];
  if (found.number != window) {
    check(found.number < window, "a window that is forgotten is not asked for");
    found = Slot();
    found.number = window;
  }
  return found;
}

LiveWindows::Source LiveWindows::open(Instant now, bool from_zero) {
  if (first_ < 0) {
    first_ = window_of(now);
    closed_ = first_;
  }
  advance(now);
  auto source = static_cast<Source>(sources_.size());
  // Its last part is in a window that is forgotten.
  if (!ended_.empty() && sources_[ended_.front()].newest.window + static_cast<int64_t>(kRing) <= closed_) {
    source = ended_.front();
    ended_.erase(ended_.begin());
    sources_[source] = State();
  } else {
    sources_.emplace_back();
  }
  sources_[source].from_zero = from_zero;
  return source;
}

bool LiveWindows::take(Instant now, Source source, Instant collected, uint64_t number, const LiveCounts& counts) {
  State& from = sources_[source];
  if (from.over) return false;
  if (now - collected > kMaxAge) {
    ++too_old_;
    return false;
  }
  advance(now);
  Part part{std::max(window_of(std::min(collected, now)), first_), number, counts};
  if (from.newest.window < 0 || number > from.newest.number) {
    part.window = std::max(part.window, from.newest.window);
    return take_newest(from, part);
  }
  return number < from.newest.number && take_between(from, part);
}

bool LiveWindows::take_newest(State& source, const Part& part) {
  const bool is_first = source.newest.window < 0;
  LiveCounts difference = part.counts;
  if (!is_first) {
    if (has_fallen(source.newest.counts, part.counts)) return false;
    difference = part.counts - source.newest.counts;
  }
  total_ = total_ + difference;
  if (is_first && !source.from_zero) difference = {0, 0, 0, 0, difference.vus};
  apply(part.window, kNever, difference, source.newest.window != part.window);
  source.newest = part;
  keep(source, part);
  return true;
}

// A newer report is known: this one only says when the counts in the sums happened.
bool LiveWindows::take_between(State& source, const Part& part) {
  const Part* before = nullptr;
  const Part* after = nullptr;
  for (const Part& one : source.parts) {
    if (one.window < 0) continue;
    if (one.window <= part.window) {
      if (before == nullptr || one.window > before->window) before = &one;
    } else if (after == nullptr || one.window < after->window) {
      after = &one;
    }
  }
  if (before == nullptr && (source.base.window >= 0 || source.from_zero)) before = &source.base;
  // Later reports were collected in the same window or before it, or the counts before this one are unknown.
  if (after == nullptr || after->number <= part.number || before == nullptr) return false;
  if (before->window >= 0 && before->number >= part.number) return false;
  const LiveCounts known = before->counts;
  if (has_fallen(known, part.counts) || has_fallen(part.counts, after->counts)) return false;
  apply(part.window, after->window, part.counts - known, before->window != part.window);
  keep(source, part);
  return true;
}

void LiveWindows::keep(State& source, const Part& part) {
  Part& place = source.parts[static_cast<std::size_t>(part.window) % kRing];
  if (place.window >= 0 && place.window < part.window && place.window > source.base.window) source.base = place;
  place = part;
}

void LiveWindows::apply(int64_t window, int64_t back, const LiveCounts& difference, bool newly_told) {
  Slot& at = slot(window);
  at.counts = at.counts + difference;
  if (newly_told) ++at.told;
  if (back != kNever) slot(back).counts = slot(back).counts - difference;
  if (!newly_told && difference == LiveCounts()) return;
  const bool moves_counters = difference != LiveCounts{0, 0, 0, 0, difference.vus};
  for (int64_t n = window; n < closed_ && n <= back; ++n) {
    // Between the two only the number of users changes.
    const bool changed = n == window || (n == back ? moves_counters : difference.vus != 0);
    if (!changed) continue;
    Slot& amended = slot(n);
    ++amended.revision;
    amended.change = ++change_;
  }
}

void LiveWindows::end(Instant now, Source source) {
  State& ended = sources_[source];
  if (ended.over) return;
  advance(now);
  ended.over = true;
  ended.newest.window = std::max({window_of(now), ended.newest.window, first_});
  const LiveCounts gone{0, 0, 0, 0, -ended.newest.counts.vus};
  total_ = total_ + gone;
  apply(ended.newest.window, kNever, gone, false);
  ended_.push_back(source);
}

bool LiveWindows::advance(Instant now) {
  if (first_ < 0) return false;
  const int64_t over = (now - origin_ - kTolerance).ns() / kLength.ns();
  if (over <= closed_) return false;
  // Windows that are already forgotten received no report.
  closed_ = std::max(closed_, over - static_cast<int64_t>(kKept));
  for (; closed_ < over; ++closed_) slot(closed_).change = ++change_;
  return true;
}

void LiveWindows::finish(Instant now) {
  advance(now);
  for (int64_t n = closed_; first_ >= 0 && n <= window_of(now); ++n) slot(n).change = ++change_;
  if (first_ >= 0) closed_ = std::max(closed_, window_of(now) + 1);
  sources_ = {};
  ended_ = {};
}

Instant LiveWindows::next_close() const {
  return first_ < 0 ? Instant::never() : origin_ + kLength * (closed_ + 1) + kTolerance;
}

void LiveWindows::since(uint64_t change, std::vector<LiveWindow>& out) const {
  if (first_ < 0) return;
  // Users at the end of the last window that has any, and back from there.
  int64_t vus = total_.vus;
  for (const Slot& one : ring_) {
    if (one.number >= closed_) vus -= one.counts.vus;
  }
  const std::size_t begin = out.size();
  const int64_t oldest = std::max(first_, closed_ - static_cast<int64_t>(kKept));
  for (int64_t n = closed_ - 1; n >= oldest; --n) {
    const Slot& one = ring_[static_cast<std::size_t>(n) % kRing];
    if (one.change > change) {
      LiveCounts counts = one.counts;
      counts.vus = vus;
      out.push_back({static_cast<uint64_t>(n), one.revision, one.told, counts});
    }
    vus -= one.counts.vus;
  }
  std::reverse(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
}

}  // namespace bellwether::metrics
