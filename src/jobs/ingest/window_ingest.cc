#include "jobs/ingest/window_ingest.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"

namespace bellwether::ingest {

Status WindowIngest::open(StreamId stream, uint64_t from, uint64_t applied) {
  if (streams_.contains(stream)) return fail(Errc::kInvalid, "the stream of statistics is open already");
  if (streams_.size() >= settings_.streams_most) {
    return fail(Errc::kExhausted, "more than {} streams of statistics", settings_.streams_most);
  }
  streams_.emplace(stream, Stream{from, applied, false, {}});
  return {};
}

void WindowIngest::end(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found != streams_.end()) found->second.ended = true;
}

Result<WindowIngest::Verdict> WindowIngest::apply(Instant now, StreamId stream, uint64_t first, uint64_t last,
                                                  const metrics::Window& window, std::size_t bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return fail(Errc::kNotFound, "a stream of statistics that is not open");
  if (first == 0 || last < first || last > kMaxCount) {
    return fail(Errc::kProtocol, fmt::format("statistics with the impossible numbers {} to {}", first, last));
  }
  if (window.shape() != shape_) return fail(Errc::kProtocol, "statistics of another plan");
  Stream& of = found->second;
  if (last <= of.applied) return Verdict::kKnown;
  if (first > of.applied + 1) return Verdict::kGap;
  if (first <= of.applied) {
    return fail(Errc::kProtocol, "statistics were applied up to {}, but arrive again with the numbers {} to {}",
                of.applied, first, last);
  }
  of.applied = last;
  for (const metrics::WorkflowWindow& workflow : window.workflows) {  // of which a stream has one
    of.iterated.ended += workflow.iterations + workflow.interrupted;
    of.iterated.begun += workflow.begun;
    of.iterated.taken = std::max(of.iterated.taken, workflow.taken);
    if (workflow.pace != 0) of.iterated.pace = workflow.pace;
  }
  const uint64_t second = of.from + first - 1;
  if (second < closed_upto_) {
    BW_PROBE("ingest: a closed second is amended");
    Closed late{metrics::Window(shape_), true};
    late.window.merge(window);
    late.window.second = second;
    ready_.push_back(std::move(late));
    return Verdict::kApplied;
  }
  auto at = open_.find(second);
  if (at == open_.end()) {
    Open fresh{metrics::Window(shape_), now};
    fresh.window.second = second;
    at = open_.emplace(second, std::move(fresh)).first;
  }
  at->second.window.merge(window);
  at->second.bytes += bytes;
  open_bytes_ += bytes;
  while (open_.size() > settings_.open_seconds_most || open_bytes_ > settings_.open_bytes_most) {
    close_upto(open_.begin()->first);
  }
  return Verdict::kApplied;
}

// From the last one on: streams that begin together mostly report in their order, so the last one decides soon.
bool WindowIngest::told_by_all(uint64_t second) const {
  return std::all_of(streams_.rbegin(), streams_.rend(), [&](const auto& one) {
    const Stream& stream = one.second;
    return stream.ended || stream.from + stream.applied > second;
  });
}

void WindowIngest::close_upto(uint64_t second) {
  while (!open_.empty() && open_.begin()->first <= second) {
    open_bytes_ -= open_.begin()->second.bytes;
    ready_.push_back({std::move(open_.begin()->second.window), false});
    open_.erase(open_.begin());
  }
  closed_upto_ = std::max(closed_upto_, second + 1);
}

std::vector<WindowIngest::Closed> WindowIngest::take(Instant now) {
  // A due second takes the earlier ones along: seconds are closed in order.
  for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
    if (at->second.told + settings_.patience > now && !told_by_all(at->first)) continue;
    close_upto(at->first);
    break;
  }
  return std::exchange(ready_, {});
}

Instant WindowIngest::next_deadline() const {
  Instant next = ready_.empty() ? Instant::never() : Instant();
  for (const auto& [second, open] : open_) {
    if (told_by_all(second)) return Instant();
    next = std::min(next, open.told + settings_.patience);
  }
  return next;
}

uint64_t WindowIngest::applied(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.applied;
}

plan::Iterated WindowIngest::iterated(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? plan::Iterated() : found->second.iterated;
}

std::map<StreamId, uint64_t> WindowIngest::applied() const {
  std::map<StreamId, uint64_t> out;
  for (const auto& [id, stream] : streams_) out[id] = stream.applied;
  return out;
}

WindowIngest::State WindowIngest::save() const {
  check(ready_.empty(), "what is closed has been taken before a book is saved");
  State state;
  for (const auto& [id, stream] : streams_) {
    state.streams.push_back({id, stream.from, stream.applied, stream.ended, false, stream.iterated});
  }
  for (const auto& [second, open] : open_) state.open.push_back(&open.window);
  state.closed_upto = closed_upto_;
  return state;
}

Status WindowIngest::restore(Instant now, const std::vector<StreamState>& streams, std::vector<metrics::Window> open,
                             uint64_t closed_upto) {
  check(streams_.empty() && open_.empty(), "a book is restored into an empty one");
  for (const StreamState& one : streams) {
    BW_RETURN_IF_ERROR(this->open(one.id, one.from, one.applied));
    if (one.ended) end(one.id);
    streams_.at(one.id).iterated = one.iterated;
  }
  closed_upto_ = closed_upto;
  for (metrics::Window& window : open) {
    const uint64_t second = window.second;
    if (second < closed_upto_ || window.shape() != shape_ || open_.contains(second)) {
      return fail(Errc::kInvalid, "a copied ingest has a second that it cannot have");
    }
    open_.emplace(second, Open{std::move(window), now});
  }
  return {};
}

bool WindowIngest::has_ended(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.ended;
}

}  // namespace bellwether::ingest
