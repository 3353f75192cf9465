#include "jobs/ingest/run_ingest.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/message/describe.h"
#include "load/codec/totals_codec.h"

namespace bellwether::message {

using ingest::IngestSnapshot;
using Stream = ingest::WindowIngest::StreamState;

namespace {

constexpr ingest::WindowIngest::Settings kLimits;
// Larger than the maximum in storage.
constexpr std::size_t kMaxBytes = ingest::kMaxTotalsBytes + kLimits.open_bytes_most;
constexpr Rule kOpen = list(kLimits.open_seconds_most, text(ingest::kMaxWindowBytes));

}  // namespace

template <>
constexpr auto kDescription<Stream> = describe<Stream>(
    "a stream", field<&Stream::id>(1), field<&Stream::from>(2), field<&Stream::applied>(3), field<&Stream::ended>(4),
    field<&Stream::closed>(5), field<&Stream::iterated, &plan::Iterated::ended>(6),
    field<&Stream::iterated, &plan::Iterated::begun>(9), field<&Stream::iterated, &plan::Iterated::taken>(10),
    field<&Stream::iterated, &plan::Iterated::pace>(11));

template <>
constexpr auto kDescription<IngestSnapshot> =
    describe<IngestSnapshot>(
        "a copy of a run's ingest", field<&IngestSnapshot::totals>(1, text(ingest::kMaxTotalsBytes)),
        field<&IngestSnapshot::streams>(2, list(kLimits.streams_most)), field<&IngestSnapshot::open>(3, kOpen),
        field<&IngestSnapshot::closed_upto>(4), field<&IngestSnapshot::seconds>(5), field<&IngestSnapshot::excess>(6))
        .within(kMaxBytes, Errc::kInvalid);

template <>
const Message& message_of<IngestSnapshot>() {
  return described<IngestSnapshot>();
}

}  // namespace bellwether::message

namespace bellwether::ingest {
namespace {

constexpr Duration kSecond = Duration::seconds(1);

}  // namespace

RunIngest::RunIngest(const plan::Plan& plan, WindowIngest::Settings settings)
    : shape_(aggregate::shape_of(plan)), book_(shape_, settings), totals_(plan) {}

Status RunIngest::open(StreamId stream, uint64_t from) {
  if (book_.knows(stream)) return {};
  return book_.open(stream, from);
}

void RunIngest::close(StreamId stream) {
  closed_.insert(stream);
  book_.end(stream);
}

Result<RunIngest::Heard> RunIngest::hear(Instant now, StreamId stream, uint64_t first, uint64_t last,
                                         std::string_view window) {
  BW_TRY(const auto decoded, decode_window(window, shape_));
  if (closed_.contains(stream)) {
    if (last <= book_.applied(stream)) return Heard::kKnown;
    for (const metrics::StepWindow& step : decoded.steps) excess_ += step.count;
    return Heard::kExcess;
  }
  BW_TRY(const auto verdict, book_.apply(now, stream, first, last, decoded, window.size()));
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
  settle(now);
  BW_TRY(auto totals, encode_totals(totals_.save()));
  WindowIngest::State state = book_.save();
  for (WindowIngest::StreamState& one : state.streams) one.closed = closed_.contains(one.id);
  IngestSnapshot out{std::move(totals), std::move(state.streams), {}, state.closed_upto, seconds_, excess_};
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
  BW_TRY(const auto copy, message::decode<IngestSnapshot>(bytes));
  RunIngest ingest(plan, settings);
  BW_TRY(auto totals, decode_totals(copy.totals, plan));
  ingest.totals_ = aggregate::Totals::restore(plan, std::move(totals));
  ingest.seconds_ = copy.seconds;
  ingest.excess_ = copy.excess;
  std::vector<metrics::Window> open;
  for (const std::string& one : copy.open) {
    BW_TRY(auto window, decode_window(one, ingest.shape_));
    open.push_back(std::move(window));
  }
  for (const WindowIngest::StreamState& one : copy.streams) {
    if (one.closed) ingest.closed_.insert(one.id);
  }
  BW_RETURN_IF_ERROR(ingest.book_.restore(now, copy.streams, std::move(open), copy.closed_upto));
  ingest.safe_.applied = ingest.book_.applied();
  return ingest;
}

}  // namespace bellwether::ingest
