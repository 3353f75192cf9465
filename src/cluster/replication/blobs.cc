#include "cluster/replication/blobs.h"

#include <algorithm>
#include <utility>

#include "core/resilience/retry.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"

namespace bellwether::blobs {
namespace {

using runtime::task;
using Vote = Tally::Vote;

// Until the deadline; the number of attempts is no limit.
constexpr resilience::RetryPolicy kAgain{1'000'000, Duration::millis(50), Duration::seconds(1),
                                         resilience::Jitter::kEqual};
constexpr const char* kEnding = "this node is ending";
constexpr Errc kOutdated = Errc::kReset;  // of a round: it begins again with the newer set of replicas

void wake(void* event) { static_cast<runtime::Event*>(event)->set(); }

// Whether it ends the work with this voter.
bool is_final(Verdict verdict) {
  return verdict != Verdict::kWanted && verdict != Verdict::kBusy && verdict != Verdict::kUnable &&
         verdict != Verdict::kOtherSet;
}

}  // namespace

struct Blobs::Value {
  BlobKey key;
  BlobHead head;
  std::string bytes;
  bool again = false;
};

// One value on its way to a majority, or one question to a majority.
struct Blobs::Round {
  Round(const registers::ReplicaSet& set, runtime::Cancellation* parent)
      : tally(set), answers(tally.voters()), troubles(tally.voters()), cancel(parent) {}

  Tally tally;
  std::vector<std::optional<Answer>> answers;
  std::vector<std::string> troubles;  // the last one of each voter
  std::optional<Answer> refusal;      // that ends all of it
  bool outdated = false;              // a newer set of replicas is known
  runtime::Event changed;
  runtime::Cancellation cancel;
  std::size_t running = 0;
  std::size_t behind = 0;  // bytes that are reserved while voters catch up
};

struct Blobs::Sending {
  std::vector<uint32_t> wanted;
  std::size_t next = 0;
  std::optional<Tried> ended;
};

struct Blobs::Collecting {
  BlobKey key;
  Newest newest;
  std::vector<std::string> at;  // the voters that have it
  std::string bytes;
  std::size_t next = 0;
  Status outcome;
  Instant deadline;
  runtime::Cancellation* cancel = nullptr;
};

Blobs::Blobs(runtime::Runtime& runtime, registers::Lines& lines, BlobsSettings settings, uint64_t seed)
    : runtime_(runtime), lines_(lines), settings_(settings), prng_(seed) {}

task<void> Blobs::close() {
  closed_ = true;
  scope_.cancel();
  co_await scope_.join();
}

// --- common parts ----------------------------------------------------------------------------------------------------

task<Blobs::Tried> Blobs::ask(RoundPtr round, std::size_t voter, Question question, Instant deadline) {
  const Duration left = deadline - runtime_.read_clock();
  if (left <= Duration::zero()) co_return fail(Errc::kTimeout, "the time limit has passed");
  std::string name = round->tally.name(voter);
  const Duration most = std::min(left, settings_.ask_most);
  auto answered =
      co_await lines_.ask(std::move(name), round->tally.set().number, std::move(question), most, &round->cancel);
  co_return answered;
}

task<Blobs::Tried> Blobs::try_once(RoundPtr round, std::size_t voter, Question question, ValuePtr value,
                                   Instant deadline) {
  if (value != nullptr) {
    Tried pushed = co_await push(round, voter, value, deadline);
    co_return pushed;
  }
  Tried answered = co_await ask(round, voter, std::move(question), deadline);
  co_return answered;
}

// Asks one voter, or brings it a value, again and again until its answer is final.
task<void> Blobs::convince(Blobs* self, RoundPtr round, std::size_t voter, Question question, ValuePtr value,
                           Instant deadline) {
  resilience::Retry retry(kAgain, deadline, self->prng_.fork());
  ++round->running;
  while (!round->cancel.cancelled()) {
    Tried tried = co_await self->try_once(round, voter, question, value, deadline);
    if (tried && is_final(tried->verdict)) {
      const Verdict verdict = tried->verdict;
      const bool newer_will_do = verdict == Verdict::kNewer && value != nullptr && value->again;
      const bool yes = verdict == Verdict::kKept || verdict == Verdict::kNothing || newer_will_do;
      round->tally.say(voter, yes ? Vote::kYes : Vote::kNo);
      if (!yes && !round->refusal) round->refusal = *tried;
      round->answers[voter] = std::move(*tried);
      break;
    }
    if (round->tally.set().number != self->lines_.set().number) {
      round->outdated = true;
      break;
    }
    round->troubles[voter] = !tried ? tried.error().message : tried->why.empty() ? "it is busy" : tried->why;
    const Errc code = tried ? Errc::kExhausted : tried.error().code;
    const auto next = retry.failed(self->runtime_.now(), code);
    if (!next && !resilience::is_retryable(code)) round->tally.say(voter, Vote::kNo);
    if (!next) break;
    const bool due = co_await self->runtime_.sleep_until(*next, &round->cancel);
    if (!due) break;
  }
  round->changed.set();
  if (--round->running == 0) self->behind_bytes_ -= std::exchange(round->behind, 0);
}

std::string Blobs::describe(const Round& round) const {
  std::string text = fmt::format("no majority of the voters ({}) agreed", registers::names_of(round.tally.set(), ", "));
  for (std::size_t voter = 0; voter < round.troubles.size(); ++voter) {
    if (round.tally.of(voter) == Vote::kYes || round.troubles[voter].empty()) continue;
    text += fmt::format("; '{}': {}", round.tally.name(voter), round.troubles[voter]);
  }
  return text;
}

// Waits until a majority has said yes, or until that is impossible.
task<Status> Blobs::settle(RoundPtr round, Instant deadline, runtime::Cancellation* cancel) {
  runtime::Until until(runtime_, deadline, cancel);
  runtime::CancelCallback on_end(until.cancellation(), &wake, &round->changed);
  runtime::CancelCallback on_close(&round->cancel, &wake, &round->changed);
  const auto open = [&] {
    return !round->tally.agreed() && !round->tally.hopeless() && !round->refusal && !round->cancel.cancelled() &&
           !round->outdated;
  };
  while (open() && !until.over()) {
    co_await round->changed.wait();
    round->changed.reset();
  }
  if (round->tally.agreed()) co_return Status();
  const bool closed = round->cancel.cancelled();
  round->cancel.cancel();
  if (round->outdated && !round->refusal) co_return fail(kOutdated, "the set of replicas has changed");
  if (round->refusal) {
    const Answer& refusal = *round->refusal;
    if (refusal.verdict == Verdict::kDropped) co_return fail(Errc::kNotFound, "the job was dropped");
    if (refusal.verdict == Verdict::kFenced) {
      co_return fail(Errc::kRefused, "the job has a newer owner, under fence {}", refusal.fence.value());
    }
    co_return fail(Errc::kRefused, "there is a newer version: " + to_string(refusal.head.version));
  }
  if (closed) co_return fail(Errc::kClosed, kEnding);
  co_return fail(round->tally.hopeless() ? Errc::kUnreachable : until.why(), describe(*round));
}

// --- writing ---------------------------------------------------------------------------------------------------------

// Digests take a while; others run between them.
task<Blobs::ValuePtr> Blobs::prepare(BlobKey key, Version version, std::string bytes, bool again) {
  auto value = std::make_shared<Value>();
  value->key = std::move(key);
  value->bytes = std::move(bytes);
  value->again = again;
  value->head.version = version;
  value->head.size = value->bytes.size();
  for (std::size_t i = 0; i < pieces_of(value->head.size); ++i) {
    value->head.pieces.push_back(wire::sha256(as_bytes(piece_of(value->bytes, i))));
    co_await runtime_.yield();
  }
  co_return ValuePtr(std::move(value));
}

// Offers it, sends the wanted pieces, and offers it once more, to hear that it is complete.
task<Blobs::Tried> Blobs::push(RoundPtr round, std::size_t voter, ValuePtr value, Instant deadline) {
  Question offer = Offer{value->key, value->head, value->again};
  Tried answered = co_await ask(round, voter, offer, deadline);
  if (!answered || answered->verdict != Verdict::kWanted) co_return answered;
  auto sending = std::make_shared<Sending>();
  sending->wanted = std::move(answered->wanted);
  runtime::Scope scope(&round->cancel);
  const std::size_t lines = std::min(settings_.pieces_under_way, sending->wanted.size());
  for (std::size_t i = 0; i < lines; ++i) scope.spawn(send_pieces(this, round, voter, value, sending, deadline));
  co_await scope.join();
  if (sending->ended) co_return std::move(*sending->ended);
  Tried complete = co_await ask(round, voter, std::move(offer), deadline);
  co_return complete;
}

task<void> Blobs::send_pieces(Blobs* self, RoundPtr round, std::size_t voter, ValuePtr value,
                              std::shared_ptr<Sending> sending, Instant deadline) {
  while (sending->next < sending->wanted.size() && !sending->ended) {
    const uint32_t index = sending->wanted[sending->next++];
    if (index >= value->head.pieces.size()) {
      sending->ended = fail(Errc::kProtocol, "it requests a chunk that does not exist");
      co_return;
    }
    Question piece =
        Piece{value->key, value->head.version, index, value->again, std::string(piece_of(value->bytes, index))};
    Tried answered = co_await self->ask(round, voter, std::move(piece), deadline);
    const bool taken = answered && (answered->verdict == Verdict::kWanted || answered->verdict == Verdict::kBusy);
    if (taken || sending->ended) continue;
    // It has forgotten the offer: the sender begins again.
    if (answered && answered->verdict == Verdict::kNothing) answered = answer(Verdict::kBusy);
    sending->ended = std::move(answered);
  }
}

task<Status> Blobs::spread(ValuePtr value, RoundPtr round, Instant deadline, runtime::Cancellation* cancel) {
  const auto before = behind_.find(value->key);
  if (before != behind_.end()) {
    if (const RoundPtr old = before->second.lock()) old->cancel.cancel();
    behind_.erase(before);
  }
  const Instant last = deadline + settings_.catch_up;
  for (std::size_t voter = 0; voter < round->tally.voters(); ++voter) {
    if (round->tally.of(voter) == Vote::kNone) scope_.spawn(convince(this, round, voter, Question(), value, last));
  }
  Status done = co_await settle(round, deadline, cancel);
  if (!done || round->running == 0) co_return done;
  if (behind_bytes_ + value->head.size > settings_.most_behind) {
    round->cancel.cancel();
  } else {
    round->behind = value->head.size;
    behind_bytes_ += round->behind;
    behind_[value->key] = round;
  }
  std::erase_if(behind_, [](const auto& one) { return one.second.expired(); });
  co_return done;
}

task<Status> Blobs::put(BlobKey key, Version version, std::string bytes, Instant deadline,
                        runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(check_key(key));
  const std::string what = fmt::format("putting {}, version {}: ", to_string(key), to_string(version));
  if (bytes.size() > kMaxBlobBytes) {
    co_return fail(Errc::kTooLarge, "{}it has {} bytes; the limit is {}", what, bytes.size(), kMaxBlobBytes);
  }
  if (closed_) co_return fail(Errc::kClosed, what + kEnding);
  ValuePtr value = co_await prepare(std::move(key), version, std::move(bytes), false);
  while (true) {
    auto round = std::make_shared<Round>(lines_.set(), scope_.cancellation());
    const Status done = co_await spread(value, std::move(round), deadline, cancel);
    if (done) co_return done;
    if (done.error().code != kOutdated) co_return fail(done.error().code, what + done.error().message);
  }
}

task<Status> Blobs::drop(std::string job, Instant deadline, runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(check_key({job, "all"}));
  if (closed_) co_return fail(Errc::kClosed, kEnding);
  const Instant last = deadline + settings_.catch_up;
  while (true) {
    auto round = std::make_shared<Round>(lines_.set(), scope_.cancellation());
    for (std::size_t voter = 0; voter < round->tally.voters(); ++voter) {
      scope_.spawn(convince(this, round, voter, Drop{job, false}, nullptr, last));
    }
    const Status done = co_await settle(round, deadline, cancel);
    if (done) co_return done;
    if (done.error().code == kOutdated) continue;
    co_return fail(done.error().code, "dropping the blobs of job '{}': {}", job, done.error().message);
  }
}

// --- reading ---------------------------------------------------------------------------------------------------------

task<void> Blobs::fetch_pieces(Blobs* self, std::shared_ptr<Collecting> work, std::size_t first) {
  const BlobHead& head = *work->newest.head;
  const std::vector<std::string>& at = work->at;
  while (work->next < head.pieces.size() && work->outcome) {
    const auto index = static_cast<uint32_t>(work->next++);
    Error trouble;
    bool got = false;
    for (std::size_t i = 0; i < at.size() && !got; ++i) {
      std::string voter = at[(first + i) % at.size()];
      Question question = Fetch{work->key, head.version, index};
      const Duration most = std::min(work->deadline - self->runtime_.read_clock(), self->settings_.ask_most);
      const Tried answered =
          co_await self->lines_.ask(voter, self->lines_.set().number, std::move(question), most, work->cancel);
      got = answered && answered->verdict == Verdict::kKept && fits(head, index, answered->bytes);
      if (got) std::copy(answered->bytes.begin(), answered->bytes.end(), work->bytes.begin() + index * kPieceBytes);
      if (got) continue;
      trouble = answered ? Error{Errc::kReset,
                                 fmt::format("it answered '{}' {}", to_string(answered->verdict), answered->why)}
                         : answered.error();
      trouble.message = fmt::format("'{}': {}", voter, trouble.message);
    }
    if (!got) work->outcome = tl::unexpected(trouble);
  }
}

task<Result<std::string>> Blobs::collect(BlobKey key, RoundPtr looks, Newest newest, Instant deadline,
                                         runtime::Cancellation* cancel) {
  auto work = std::make_shared<Collecting>();
  work->key = std::move(key);
  for (const std::size_t voter : newest.at) work->at.push_back(looks->tally.name(voter));
  work->newest = std::move(newest);
  work->bytes.resize(work->newest.head->size);
  work->deadline = deadline;
  runtime::Scope scope(cancel);
  work->cancel = scope.cancellation();
  for (std::size_t i = 0; i < settings_.pieces_under_way; ++i) scope.spawn(fetch_pieces(this, work, i));
  co_await scope.join();
  if (!work->outcome) co_return tl::unexpected(work->outcome.error());
  co_return std::move(work->bytes);
}

task<Result<std::optional<Blob>>> Blobs::get_once(BlobKey key, JobFence fence, Instant deadline,
                                                  runtime::Cancellation* cancel) {
  auto looks = std::make_shared<Round>(lines_.set(), scope_.cancellation());
  for (std::size_t voter = 0; voter < looks->tally.voters(); ++voter) {
    scope_.spawn(convince(this, looks, voter, Look{key, fence}, nullptr, deadline));
  }
  BW_CO_RETURN_IF_ERROR(co_await settle(looks, deadline, cancel));
  const Newest newest = newest_of(looks->answers);
  if (!newest.head) co_return std::optional<Blob>();
  const std::vector<std::size_t> at = newest.at;
  const Version version = newest.head->version;
  auto bytes = co_await collect(key, looks, newest, deadline, cancel);
  // It may have been replaced, or its voter have died.
  if (!bytes) co_return fail(Errc::kReset, bytes.error().message);
  Blob blob{version, std::move(*bytes)};
  Tally has(looks->tally.set());
  for (const std::size_t voter : at) has.say(voter, Vote::kYes);
  if (!has.agreed()) {
    std::string again = blob.bytes;
    const ValuePtr value = co_await prepare(std::move(key), version, std::move(again), true);
    // Under a newer set all begins again.
    auto round = std::make_shared<Round>(looks->tally.set(), scope_.cancellation());
    for (const std::size_t voter : at) round->tally.say(voter, Vote::kYes);
    BW_CO_RETURN_IF_ERROR(co_await spread(value, std::move(round), deadline, cancel));
  }
  co_return std::optional<Blob>(std::move(blob));
}

task<void> Blobs::look(Blobs* self, RoundPtr round, std::size_t voter, BlobKey key, Instant deadline) {
  Tried answered = co_await self->ask(round, voter, Look{std::move(key), JobFence()}, deadline);
  if (answered) {
    round->answers[voter] = std::move(*answered);
  } else {
    round->troubles[voter] = answered.error().message;
  }
}

task<Result<std::optional<Blob>>> Blobs::get_unconfirmed(BlobKey key, Instant deadline, runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(check_key(key));
  if (closed_) co_return fail(Errc::kClosed, kEnding);
  const Instant looked = std::min(deadline, runtime_.read_clock() + settings_.look_most);
  auto looks = std::make_shared<Round>(lines_.set(), cancel);
  runtime::Scope scope(cancel);
  for (std::size_t voter = 0; voter < looks->tally.voters(); ++voter)
    scope.spawn(look(this, looks, voter, key, looked));
  co_await scope.join();
  const Newest newest = newest_of(looks->answers);
  const bool any = std::ranges::any_of(looks->answers, [](const auto& one) { return one.has_value(); });
  if (!any) co_return fail(Errc::kUnreachable, describe(*looks));
  if (!newest.head) co_return std::optional<Blob>();
  const Version version = newest.head->version;
  BW_CO_TRY(auto bytes, co_await collect(std::move(key), looks, newest, deadline, cancel));
  co_return Blob{version, std::move(bytes)};
}

task<Result<std::optional<Blob>>> Blobs::get(BlobKey key, JobFence fence, Instant deadline,
                                             runtime::Cancellation* cancel) {
  BW_CO_RETURN_IF_ERROR(check_key(key));
  const std::string what = fmt::format("getting {}: ", to_string(key));
  resilience::Retry retry(kAgain, deadline, prng_.fork());
  while (!closed_) {
    auto got = co_await get_once(key, fence, deadline, cancel);
    if (got) co_return std::move(got);
    const auto next =
        got.error().code == Errc::kReset && !closed_ ? retry.failed(runtime_.now(), Errc::kReset) : std::nullopt;
    if (!next) co_return fail(got.error().code, what + got.error().message);
    const bool due = co_await runtime_.sleep_until(*next, cancel);
    if (!due) co_return fail(Errc::kCancelled, what + "the request was cancelled");
  }
  co_return fail(Errc::kClosed, what + kEnding);
}

}  // namespace bellwether::blobs
