#include "account/run_account.h"

#include <algorithm>
#include <utility>

#include "account/totals_codec.h"
#include "base/check.h"
#include "proto/account.pb.h"

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
  const auto decoded = decode_window(window, shape_);
  if (!decoded) return tl::unexpected(decoded.error());
  if (closed_.contains(stream)) {
    if (last <= book_.applied(stream)) return Heard::kKnown;
    for (const metrics::StepWindow& step : decoded->steps) excess_ += step.count;
    return Heard::kExcess;
  }
  const auto verdict = book_.apply(now, stream, first, last, *decoded, window.size());
  if (!verdict) return tl::unexpected(verdict.error());
  switch (*verdict) {
    case AccountBook::Verdict::kApplied: return Heard::kCounted;
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
  wire::AccountCopy out;
  auto totals = encode_totals(totals_.save());
  if (!totals) return tl::unexpected(totals.error());
  out.set_totals(std::move(*totals));
  out.set_seconds(seconds_);
  out.set_excess(excess_);
  const AccountBook::State state = book_.save();
  out.set_closed_upto(state.closed_upto);
  for (const AccountBook::StreamState& one : state.streams) {
    auto& stream = *out.add_streams();
    stream.set_id(one.id.value());
    stream.set_from(one.from);
    stream.set_applied(one.applied);
    stream.set_ended(one.ended);
    stream.set_closed(closed_.contains(one.id));
  }
  for (const metrics::Window* window : state.open) out.add_open(encode_window(*window));
  return out.SerializeAsString();
}

Result<std::string> RunAccount::totals_of(std::string_view bytes) {
  wire::AccountCopy in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "this is no copy of a run's account");
  }
  return std::move(*in.mutable_totals());
}

Result<RunAccount> RunAccount::restore(Instant now, const plan::Plan& plan, std::string_view bytes,
                                       AccountBook::Settings settings) {
  wire::AccountCopy in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return fail(Errc::kInvalid, "this is no copy of a run's account");
  }
  RunAccount account(plan, settings);
  auto totals = decode_totals(in.totals(), plan);
  if (!totals) return tl::unexpected(totals.error());
  account.totals_ = aggregate::Totals::restore(plan, std::move(*totals));
  account.seconds_ = in.seconds();
  account.excess_ = in.excess();
  const auto read = [&](const std::string& from) { return decode_window(from, account.shape_); };
  std::vector<metrics::Window> open;
  for (const std::string& one : in.open()) {
    auto window = read(one);
    if (!window) return tl::unexpected(window.error());
    open.push_back(std::move(*window));
  }
  std::vector<AccountBook::StreamState> streams;
  for (const auto& one : in.streams()) {
    const StreamId id(one.id());
    streams.push_back({id, one.from(), one.applied(), one.ended()});
    if (one.closed()) account.closed_.insert(id);
  }
  const Status restored = account.book_.restore(now, streams, std::move(open), in.closed_upto());
  if (!restored) return tl::unexpected(restored.error());
  return account;
}

}  // namespace bellwether::account
