#include "jobs/ingest/run_ingest.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/message/describe.h"
#include "load/codec/totals_codec.h"

namespace bellwether::ingest {
namespace {

constexpr Duration kSecond = Duration::seconds(1);
std::vector<Duration> times_of(const metrics::Window& window) {
  std::vector<Duration> out;
  for (const metrics::WorkflowWindow& workflow : window.workflows) out.push_back(workflow.ran);
  return out;
}

constexpr std::size_t kMaxAmendments = 16;  // that wait; those of a worker that was cut off for long may be many

}  // namespace

Status WindowIngest::open(StreamId stream, uint64_t from, uint64_t applied) {
  if (streams_.contains(stream)) return fail(Errc::kInvalid, "the stream of statistics is open already");
  if (streams_.size() >= settings_.streams_most) {
    return fail(Errc::kExhausted, "more than {} streams of statistics", settings_.streams_most);
  }
  streams_.emplace(stream, Stream{from, applied, false, {}});
  return {};
}

void WindowIngest::move(StreamId stream, uint64_t from) {
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second.applied == 0) found->second.from = from;
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
  // A second that is not whole stands alone (Outbox::add()).
  const bool cut = first == last && window.covered > Duration::zero();
  of.iterated.idle = cut ? std::max(kSecond - window.covered, Duration::zero()) : Duration::zero();
  for (const metrics::WorkflowWindow& workflow : window.workflows) {  // of which a stream has one
    of.iterated.ended += workflow.iterations + workflow.interrupted;
    of.iterated.begun += workflow.begun;
    of.iterated.taken = std::max(of.iterated.taken, workflow.taken);
    if (workflow.pace != 0) of.iterated.pace = workflow.pace;
  }
  const uint64_t second = of.from + first - 1;
  if (first == last) {
    merge(second, now, window, bytes, [](Duration ran) { return ran; });
  } else {
    // Merged seconds are whole (Outbox::add()): a workflow may begin in them, and runs to their end.
    lived_.covered = window.covered;
    for (std::size_t w = 0; w < shape_.workflows; ++w) {
      lived_.workflows[w].vus_active = window.workflows[w].vus_active;
      lived_.workflows[w].vus_allocated = window.workflows[w].vus_allocated;
      lived_.workflows[w].ran = window.workflows[w].ran;
    }
    const uint64_t end = std::min(last - first + 1, kMergedMost);
    for (uint64_t i = 0; i < end; ++i) {
      const Duration later = kSecond * static_cast<int64_t>(last - first - i);
      merge(second + i, now, i == 0 ? window : lived_, i == 0 ? bytes : 0,
            [later](Duration ran) { return std::clamp(ran - later, Duration::zero(), kSecond); });
    }
  }
  while (open_.size() > settings_.open_seconds_most || open_bytes_ > open_bytes_most()) {
    close_upto(open_.begin()->first);
  }
  return Verdict::kApplied;
}

template <class RanOf>
void WindowIngest::merge(uint64_t second, Instant now, const metrics::Window& window, std::size_t bytes, RanOf ran_of) {
  const bool is_closed = second < closed_upto_;
  std::map<uint64_t, Open>& into = is_closed ? amendments_ : open_;
  auto at = into.find(second);
  if (at == into.end()) {
    at = into.emplace(second, Open{metrics::Window(shape_), now}).first;
    at->second.window.second = second;
  }
  metrics::Window& all = at->second.window;
  const std::vector<Duration> ran = times_of(all);
  all.merge(window);
  for (std::size_t w = 0; w < ran.size(); ++w) {
    all.workflows[w].ran = std::max(ran[w], ran_of(window.workflows[w].ran));
  }
  if (is_closed) {
    BW_PROBE("ingest: a closed second is amended");
    return;
  }
  at->second.bytes += bytes;
  open_bytes_ += bytes;
}

void WindowIngest::amend_now() {
  for (auto& [second, amendment] : amendments_) {
    std::vector<Duration> all = times_of(amendment.window);
    const auto known = ran_.find(second);
    for (std::size_t w = 0; w < all.size(); ++w) {
      const Duration before = second < ran_from_ ? all[w] : known != ran_.end() ? known->second[w] : Duration::zero();
      all[w] = std::max(all[w], before);
      amendment.window.workflows[w].ran = all[w] - before;
    }
    if (second >= ran_from_) ran_[second] = std::move(all);
    ready_.push_back({std::move(amendment.window), true});
  }
  amendments_.clear();
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
    ran_[open_.begin()->first] = times_of(open_.begin()->second.window);
    ready_.push_back({std::move(open_.begin()->second.window), false});
    open_.erase(open_.begin());
  }
  closed_upto_ = std::max(closed_upto_, second + 1);
  for (; ran_.size() > settings_.open_seconds_most; ran_.erase(ran_.begin())) ran_from_ = ran_.begin()->first + 1;
}

std::vector<WindowIngest::Closed> WindowIngest::take(Instant now) {
  // A due second takes the earlier ones along: seconds are closed in order.
  for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
    if (at->second.told + settings_.patience > now && !told_by_all(at->first)) continue;
    close_upto(at->first);
    break;
  }
  if (amendments_due() <= now) amend_now();
  return std::exchange(ready_, {});
}

Instant WindowIngest::next_deadline() const {
  Instant next = ready_.empty() ? Instant::never() : Instant();
  for (const auto& [second, open] : open_) {
    if (told_by_all(second)) return Instant();
    next = std::min(next, open.told + settings_.patience);
  }
  return std::min(next, amendments_due());
}

Instant WindowIngest::amendments_due() const {
  if (amendments_.size() > kMaxAmendments) return {};
  Instant due = Instant::never();
  for (const auto& [second, amendment] : amendments_) due = std::min(due, amendment.told + settings_.together);
  return due;
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
  check(ready_.empty() && amendments_.empty(), "what is closed has been taken before a book is saved");
  State state;
  for (const auto& [id, stream] : streams_) {
    state.streams.push_back({id, stream.from, stream.applied, stream.ended, false, stream.iterated});
  }
  for (const auto& [second, open] : open_) state.open.push_back(&open.window);
  state.closed_upto = closed_upto_;
  auto from = ran_.begin();
  std::advance(from, ran_.size() - std::min(ran_.size(), kRanMost));
  for (; from != ran_.end(); ++from) state.ran.push_back({from->first, from->second});
  return state;
}

Status WindowIngest::restore(Instant now, const std::vector<StreamState>& streams, std::vector<OpenSecond> open,
                             uint64_t closed_upto, std::vector<RanSecond> ran) {
  check(streams_.empty() && open_.empty(), "a book is restored into an empty one");
  for (const StreamState& one : streams) {
    BW_RETURN_IF_ERROR(this->open(one.id, one.from, one.applied));
    if (one.ended) end(one.id);
    streams_.at(one.id).iterated = one.iterated;
  }
  closed_upto_ = ran_from_ = closed_upto;
  if (!ran.empty()) ran_from_ = std::min(ran_from_, ran.front().second);
  for (RanSecond& one : ran) {
    const bool is_good = one.second < closed_upto_ && one.ran.size() == shape_.workflows;
    if (!is_good || !ran_.emplace(one.second, std::move(one.ran)).second)
      return fail(Errc::kInvalid, "a copied ingest has times of a second that it cannot have");
  }
  for (OpenSecond& one : open) {
    const uint64_t second = one.window.second;
    if (second < closed_upto_ || one.window.shape() != shape_ || open_.contains(second)) {
      return fail(Errc::kInvalid, "a copied ingest has a second that it cannot have");
    }
    open_.emplace(second, Open{std::move(one.window), now, one.bytes});
    open_bytes_ += one.bytes;
  }
  return {};
}

bool WindowIngest::has_ended(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found != streams_.end() && found->second.ended;
}

}  // namespace bellwether::ingest

namespace bellwether::message {

using ingest::IngestSnapshot;
using Stream = ingest::WindowIngest::StreamState;
using RanSecond = ingest::WindowIngest::RanSecond;

namespace {

constexpr ingest::WindowIngest::Settings kLimits;
// Larger than the maximum in storage.
constexpr std::size_t kMaxBytes = ingest::kMaxTotalsBytes + kLimits.open_most.least;
constexpr std::size_t kWorkflowsMost = 1'000;
constexpr Rule kOpen = list(kLimits.open_seconds_most, text(ingest::kMaxWindowBytes));

}  // namespace

template <>
constexpr auto kDescription<Stream> = describe<Stream>(
    "a stream", field<&Stream::id>(1), field<&Stream::from>(2), field<&Stream::applied>(3), field<&Stream::ended>(4),
    field<&Stream::closed>(5), field<&Stream::iterated, &plan::Iterated::ended>(6),
    field<&Stream::iterated, &plan::Iterated::begun>(9), field<&Stream::iterated, &plan::Iterated::taken>(10),
    field<&Stream::iterated, &plan::Iterated::pace>(11),
    field<&Stream::iterated, &plan::Iterated::idle>(12, between(Duration::zero(), Duration::seconds(1))));

template <>
constexpr auto kDescription<RanSecond> = describe<RanSecond>(
    "the times of workflows in a second", field<&RanSecond::second>(1),
    field<&RanSecond::ran>(2, list(kWorkflowsMost, between(Duration::zero(), Duration::nanos(int64_t{1} << 58)))));

template <>
constexpr auto kDescription<IngestSnapshot> =
    describe<IngestSnapshot>(
        "a copy of a run's ingest", field<&IngestSnapshot::totals>(1, text(ingest::kMaxTotalsBytes)),
        field<&IngestSnapshot::streams>(2, list(kLimits.streams_most)), field<&IngestSnapshot::open>(3, kOpen),
        field<&IngestSnapshot::closed_upto>(4), field<&IngestSnapshot::seconds>(5), field<&IngestSnapshot::excess>(6),
        field<&IngestSnapshot::ran>(7, list(ingest::WindowIngest::kRanMost)))
        .within(kMaxBytes, Errc::kInvalid);

template const Message& message_of<IngestSnapshot>();

}  // namespace bellwether::message

namespace bellwether::ingest {

RunIngest::RunIngest(const plan::Plan& plan, WindowIngest::Settings settings)
    : book_(aggregate::shape_of(plan), settings), report_(aggregate::shape_of(plan)), totals_(plan) {}

Status RunIngest::open(StreamId stream, uint64_t from) {
  if (!book_.knows(stream)) return book_.open(stream, from);
  book_.move(stream, from);
  return {};
}

void RunIngest::close(StreamId stream) {
  closed_.insert(stream);
  book_.end(stream);
}

Result<RunIngest::Heard> RunIngest::hear(Instant now, StreamId stream, uint64_t first, uint64_t last,
                                         std::string_view window) {
  BW_RETURN_IF_ERROR(decode_window_into(report_, window));
  if (closed_.contains(stream)) {
    if (last <= book_.applied(stream)) return Heard::kKnown;
    for (const metrics::StepWindow& step : report_.steps) excess_ += step.count;
    return Heard::kExcess;
  }
  BW_TRY(const auto verdict, book_.apply(now, stream, first, last, report_, window.size()));
  switch (verdict) {
    case WindowIngest::Verdict::kApplied:
      ++told_.windows;
      told_.bytes += window.size();
      return Heard::kCounted;
    case WindowIngest::Verdict::kKnown: return Heard::kKnown;
    case WindowIngest::Verdict::kGap: return Heard::kGap;
  }
  return Heard::kGap;
}

bool RunIngest::settle(Instant now) {
  const uint64_t before = seconds_;
  for (const WindowIngest::Closed& one : book_.take(now)) take(one);
  return seconds_ != before;
}

void RunIngest::finish(Instant now) {
  for (const auto& [stream, applied] : book_.applied()) close(stream);
  book_.amend_now();
  settle(now);
}

void RunIngest::take(const WindowIngest::Closed& closed) {
  const Duration covered = closed.window.covered > Duration::zero() ? closed.window.covered : kSecond;
  if (closed.amends) {
    totals_.amend(closed.window);
  } else {
    totals_.add(closed.window, covered);
  }
  ++seconds_;
  recent_.push_back({covered, closed.amends, encode_window(closed.window)});
  if (recent_.size() > kMaxRecent) recent_.pop_front();
}

std::vector<const RunIngest::Second*> RunIngest::news_since(uint64_t seconds) const {
  check(has_news_since(seconds), "what came since then is at hand");
  std::vector<const Second*> out;
  for (std::size_t i = recent_.size() - static_cast<std::size_t>(seconds_ - seconds); i < recent_.size(); ++i) {
    out.push_back(&recent_[i]);
  }
  return out;
}

Result<std::string> RunIngest::save(Instant now) {
  book_.amend_now();
  settle(now);
  BW_TRY(auto totals, encode_totals(totals_.save()));
  WindowIngest::State state = book_.save();
  for (WindowIngest::StreamState& one : state.streams) one.closed = closed_.contains(one.id);
  IngestSnapshot out{std::move(totals), std::move(state.streams), {}, state.closed_upto, seconds_,
                     excess_,           std::move(state.ran)};
  for (const metrics::Window* window : state.open) out.open.push_back(encode_window(*window));
  saved_ = {told_.windows, told_.bytes, book_.applied()};
  return message::encode(out);
}

uint64_t RunIngest::durable(StreamId stream) const {
  const auto found = safe_.applied.find(stream);
  return found == safe_.applied.end() ? 0 : found->second;
}

Result<std::string> RunIngest::totals_of(std::string_view bytes) {
  BW_TRY(auto copy, message::decode<IngestSnapshot>(bytes));
  return std::move(copy.totals);
}

Result<RunIngest> RunIngest::restore(Instant now, const plan::Plan& plan, std::string_view bytes,
                                     WindowIngest::Settings settings) {
  BW_TRY(auto copy, message::decode<IngestSnapshot>(bytes));
  RunIngest ingest(plan, settings);
  BW_TRY(auto totals, decode_totals(copy.totals, plan));
  ingest.totals_ = aggregate::Totals::restore(plan, std::move(totals));
  ingest.seconds_ = copy.seconds;
  ingest.excess_ = copy.excess;
  std::vector<WindowIngest::OpenSecond> open;
  for (const std::string& one : copy.open) {
    BW_TRY(auto window, decode_window(one, ingest.report_.shape()));
    open.push_back({std::move(window), one.size()});
  }
  for (const WindowIngest::StreamState& one : copy.streams) {
    if (one.closed) ingest.closed_.insert(one.id);
  }
  BW_RETURN_IF_ERROR(ingest.book_.restore(now, copy.streams, std::move(open), copy.closed_upto, std::move(copy.ran)));
  ingest.safe_.applied = ingest.book_.applied();
  return ingest;
}

}  // namespace bellwether::ingest
