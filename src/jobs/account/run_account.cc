#include "jobs/account/run_account.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/message/describe.h"
#include "load/codec/totals_codec.h"

namespace bellwether::message {

using account::AccountCopy;
using Stream = account::AccountBook::StreamState;

namespace {

constexpr account::AccountBook::Settings kLimits;
// Larger than the maximum in storage.
constexpr std::size_t kBytesMost = account::kMostTotalsBytes + kLimits.open_bytes_most;
constexpr Rule kOpen = list(kLimits.open_seconds_most, text(account::kMostWindowBytes));

}  // namespace

template <>
constexpr auto kDescription<Stream> = describe<Stream>(
    "a stream", field<&Stream::id>(1), field<&Stream::from>(2), field<&Stream::applied>(3), field<&Stream::ended>(4),
    field<&Stream::closed>(5), field<&Stream::iterated, &plan::Iterated::ended>(6),
    field<&Stream::iterated, &plan::Iterated::last>(7), field<&Stream::iterated, &plan::Iterated::under_way>(8));

template <>
constexpr auto kDescription<AccountCopy> =
    describe<AccountCopy>("a copy of a run's account", field<&AccountCopy::totals>(1, text(account::kMostTotalsBytes)),
                          field<&AccountCopy::streams>(2, list(kLimits.streams_most)),
                          field<&AccountCopy::open>(3, kOpen), field<&AccountCopy::closed_upto>(4),
                          field<&AccountCopy::seconds>(5), field<&AccountCopy::excess>(6))
        .within(kBytesMost, Errc::kInvalid);

template <>
const Message& message_of<AccountCopy>() {
  return described<AccountCopy>();
}

}  // namespace bellwether::message

namespace bellwether::account {
namespace {

constexpr Duration kSecond = Duration::seconds(1);

}  // namespace

RunAccount::RunAccount(const plan::Plan& plan, AccountBook::Settings settings)
    : shape_(aggregate::shape_of(plan)), book_(shape_, settings), totals_(plan) {}

Status RunAccount::open(StreamId stream, uint64_t from) {
  if (book_.knows(stream)) return {};
  return book_.open(stream, from);
}

void RunAccount::close(StreamId stream) {
  closed_.insert(stream);
  book_.end(stream);
}

Result<RunAccount::Heard> RunAccount::hear(Instant now, StreamId stream, uint64_t first, uint64_t last,
                                           std::string_view window) {
  BW_TRY(const auto decoded, decode_window(window, shape_));
  if (closed_.contains(stream)) {
    if (last <= book_.applied(stream)) return Heard::kKnown;
    for (const metrics::StepWindow& step : decoded.steps) excess_ += step.count;
    return Heard::kExcess;
  }
  BW_TRY(const auto verdict, book_.apply(now, stream, first, last, decoded, window.size()));
  switch (verdict) {
    case AccountBook::Verdict::kApplied:
      ++told_.windows;
      told_.bytes += window.size();
      return Heard::kCounted;
    case AccountBook::Verdict::kKnown: return Heard::kKnown;
    case AccountBook::Verdict::kGap: return Heard::kGap;
  }
  return Heard::kGap;
}

bool RunAccount::settle(Instant now) {
  const uint64_t before = seconds_;
  for (const AccountBook::Closed& one : book_.take(now)) take(one);
  return seconds_ != before;
}

void RunAccount::finish(Instant now) {
  for (const auto& [stream, applied] : book_.applied()) close(stream);
  settle(now);
}

void RunAccount::take(const AccountBook::Closed& closed) {
  const Duration covered = closed.window.covered > Duration::zero() ? closed.window.covered : kSecond;
  if (closed.amends) {
    totals_.amend(closed.window);
  } else {
    totals_.add(closed.window, covered);
  }
  ++seconds_;
  recent_.push_back({covered, closed.amends, encode_window(closed.window)});
  if (recent_.size() > kRecentMost) recent_.pop_front();
}

std::vector<const RunAccount::Second*> RunAccount::news_since(uint64_t seconds) const {
  check(has_news_since(seconds), "what came since then is at hand");
  std::vector<const Second*> out;
  for (std::size_t i = recent_.size() - static_cast<std::size_t>(seconds_ - seconds); i < recent_.size(); ++i) {
    out.push_back(&recent_[i]);
  }
  return out;
}

Result<std::string> RunAccount::save(Instant now) {
  settle(now);
  BW_TRY(auto totals, encode_totals(totals_.save()));
  AccountBook::State state = book_.save();
  for (AccountBook::StreamState& one : state.streams) one.closed = closed_.contains(one.id);
  AccountCopy out{std::move(totals), std::move(state.streams), {}, state.closed_upto, seconds_, excess_};
  for (const metrics::Window* window : state.open) out.open.push_back(encode_window(*window));
  saved_ = {told_.windows, told_.bytes, book_.applied()};
  return message::encode(out);
}

uint64_t RunAccount::durable(StreamId stream) const {
  const auto found = safe_.applied.find(stream);
  return found == safe_.applied.end() ? 0 : found->second;
}

Result<std::string> RunAccount::totals_of(std::string_view bytes) {
  BW_TRY(auto copy, message::decode<AccountCopy>(bytes));
  return std::move(copy.totals);
}

Result<RunAccount> RunAccount::restore(Instant now, const plan::Plan& plan, std::string_view bytes,
                                       AccountBook::Settings settings) {
  BW_TRY(const auto copy, message::decode<AccountCopy>(bytes));
  RunAccount account(plan, settings);
  BW_TRY(auto totals, decode_totals(copy.totals, plan));
  account.totals_ = aggregate::Totals::restore(plan, std::move(totals));
  account.seconds_ = copy.seconds;
  account.excess_ = copy.excess;
  std::vector<metrics::Window> open;
  for (const std::string& one : copy.open) {
    BW_TRY(auto window, decode_window(one, account.shape_));
    open.push_back(std::move(window));
  }
  for (const AccountBook::StreamState& one : copy.streams) {
    if (one.closed) account.closed_.insert(one.id);
  }
  BW_RETURN_IF_ERROR(account.book_.restore(now, copy.streams, std::move(open), copy.closed_upto));
  account.safe_.applied = account.book_.applied();
  return account;
}

}  // namespace bellwether::account
