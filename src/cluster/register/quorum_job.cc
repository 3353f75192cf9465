#include "cluster/register/quorum_job.h"

#include <utility>

#include "register/content.h"
#include "runtime/until.h"

namespace bellwether::jobs {
namespace {

using runtime::task;

constexpr const char* kStoreEnded = "the node that asks is ending";

void set_event(void* event) { static_cast<runtime::Event*>(event)->set(); }

}  // namespace

QuorumJob::QuorumJob(QuorumJobStore& store, std::string key, Listener& listener, registers::JobOwnerConfig config,
                     uint64_t seed)
    : store_(store),
      key_(std::move(key)),
      listener_(listener),
      kernel_(std::move(config), seed),
      loop_(store.runtime_, kernel_, *this),
      alive_(std::make_shared<QuorumJob*>(this)) {
  loop_.begin();
}

QuorumJob::~QuorumJob() {
  close();
  *alive_ = nullptr;
  if (nap_ != nullptr) nap_->cancel();
  store_.forget(key_);
}

void QuorumJob::close() {
  if (std::exchange(closed_, true)) return;
  taken_ = false;
  step(registers::GiveJobBack{});
  if (taking_ != nullptr) take_outcome_ = fail(Errc::kClosed, kStoreEnded), taking_->set();
}

// --- calls -----------------------------------------------------------------------------------------------------------

task<Result<TakenJob>> QuorumJob::take(Instant deadline, runtime::Cancellation* cancel) {
  if (closed_) co_return fail(Errc::kClosed, kStoreEnded);
  if (taking_ != nullptr) co_return fail(Errc::kExists, "job '" + key_ + "' is being taken already");
  if (held(store_.runtime_.boot_now())) co_return fail(Errc::kExists, "job '" + key_ + "' is held already");
  if (taken_) step(registers::JobTick{});  // the loss of it is not noticed yet
  runtime::Event event;
  taking_ = &event;
  take_outcome_.reset();
  busy_with_ = quorum::kNobody;
  step(registers::TakeJob{});
  runtime::Until until(store_.runtime_, deadline, cancel);
  runtime::CancelCallback on_end(until.cancellation(), &set_event, &event);
  co_await event.wait();
  taking_ = nullptr;
  if (!take_outcome_) {
    step(registers::GiveJobBack{});
    co_return fail(until.why(), "job '" + key_ + "' was not taken in time: " + waiting_for());
  }
  co_return std::move(*take_outcome_);
}

std::string QuorumJob::waiting_for() const {
  if (busy_with_ == quorum::kNobody) return store_.silence();
  const std::string name = store_.lines_.name_of(busy_with_);
  return (name.empty() ? "another node" : "'" + name + "'") + " holds it";
}

// A write when there is something to write, else a read.
task<tl::expected<std::string, NotWritten>> QuorumJob::ask(std::optional<std::string> write, Instant deadline,
                                                           runtime::Cancellation* cancel) {
  if (closed_) co_return tl::unexpected(NotWritten{{Errc::kClosed, kStoreEnded}, false});
  if (!taken_) {
    co_return tl::unexpected(NotWritten{{Errc::kRefused, "this node does not hold job '" + key_ + "'"}, false});
  }
  if (calls_.size() >= kMostCalls) {
    co_return tl::unexpected(NotWritten{{Errc::kExhausted, "too much waits for job '" + key_ + "' already"}, false});
  }
  Call call;
  const uint64_t ticket = ++ticket_;
  calls_[ticket] = &call;
  if (write) {
    step(registers::WriteJob{ticket, std::move(*write)});
  } else {
    step(registers::ReadJob{ticket});
  }
  runtime::Until until(store_.runtime_, deadline, cancel);
  runtime::CancelCallback on_end(until.cancellation(), &set_event, &call.done);
  co_await call.done.wait();
  if (!call.outcome) {
    step(registers::Withdraw{ticket});
    // It may have been dropped, or it goes on: then nobody waits for its end any more.
    const bool perhaps = !call.outcome.has_value();
    call.outcome = tl::unexpected(NotWritten{{until.why(), "job '" + key_ + "': " + store_.silence()}, perhaps});
  }
  calls_.erase(ticket);
  co_return std::move(*call.outcome);
}

task<Written> QuorumJob::write(std::string value, Instant deadline, runtime::Cancellation* cancel) {
  if (value.size() > kMostStateBytes) {
    co_return tl::unexpected(NotWritten{too_large(key_, value.size()), false});
  }
  std::string bytes = registers::bytes_of_value(value);
  BW_CO_RETURN_IF_ERROR(co_await ask(std::move(bytes), deadline, cancel));
  co_return Written();
}

task<Result<std::optional<std::string>>> QuorumJob::read(Instant deadline, runtime::Cancellation* cancel) {
  auto done = co_await ask(std::nullopt, deadline, cancel);
  if (!done) co_return tl::unexpected(std::move(done.error().error));
  BW_CO_TRY(auto content, registers::parse_content(*done));
  co_return std::move(content.value);
}

task<Status> QuorumJob::give_back(Instant, runtime::Cancellation*) {
  taken_ = false;
  step(registers::GiveJobBack{});
  co_return Status();
}

task<Written> QuorumJob::retire(Instant deadline, runtime::Cancellation* cancel) {
  std::string bytes = registers::bytes_of_retired();
  BW_CO_RETURN_IF_ERROR(co_await ask(std::move(bytes), deadline, cancel));
  taken_ = false;
  step(registers::GiveJobBack{});
  co_return Written();
}

// --- the kernel ------------------------------------------------------------------------------------------------------

void QuorumJob::carry_out(registers::SendAsk& sending) { store_.lines_.send(sending.to, std::move(sending.ask)); }

void QuorumJob::carry_out(const registers::JobFailed& failed) {
  finish(failed.ticket,
         tl::unexpected(NotWritten{{Errc::kRefused, "job '" + key_ + "': " + failed.why}, failed.perhaps}));
}

void QuorumJob::carry_out(const registers::JobTaken& taken) {
  auto content = registers::parse_content(taken.value);
  if (taking_ != nullptr && content && !content->retired) {
    taken_ = true;
    fence_ = taken.fence;
    take_outcome_ = TakenJob{taken.fence, std::move(content->value)};
  } else {
    // Nobody wants it any more, or nobody may have it.
    step(registers::GiveJobBack{});
    if (taking_ == nullptr) return;
    take_outcome_ = content ? fail(Errc::kNotFound, "job '" + key_ + "' was retired")
                            : fail(content.error().code, "job '" + key_ + "': " + content.error().message);
  }
  taking_->set();
}

void QuorumJob::carry_out(const registers::JobLost& lost) {
  const bool surprise = std::exchange(taken_, false);
  step(registers::GiveJobBack{});  // whoever wants it again says so
  if (surprise) listener_.on_lost({lost.fence, store_.lines_.name_of(lost.owner), lost.why});
}

void QuorumJob::finish(uint64_t ticket, tl::expected<std::string, NotWritten> outcome) {
  const auto call = calls_.find(ticket);
  if (call == calls_.end() || call->second->outcome) return;
  if (closed_ && !outcome) outcome.error().error = {Errc::kClosed, kStoreEnded};
  call->second->outcome = std::move(outcome);
  call->second->done.set();
}

// --- time ------------------------------------------------------------------------------------------------------------

void QuorumJob::keep_time() {
  if (nap_ != nullptr) return nap_->cancel();  // the time to wake at may be another one now
  if (ticking_ || kernel_.wake() == Instant::never()) return;
  ticking_ = true;
  store_.scope_.spawn(tick(alive_));
}

task<void> QuorumJob::tick(std::shared_ptr<QuorumJob*> self) {
  runtime::Runtime& runtime = (*self)->store_.runtime_;
  runtime::Cancellation* const all = (*self)->store_.scope_.cancellation();
  while (*self != nullptr && !all->cancelled()) {
    const Instant wake = (*self)->kernel_.wake();
    if (wake == Instant::never()) break;
    runtime::Cancellation nap(all);
    (*self)->nap_ = &nap;
    const bool due = co_await runtime.sleep_until_boot(wake, &nap);
    if (*self == nullptr) co_return;
    (*self)->nap_ = nullptr;
    if (due) (*self)->step(registers::JobTick{});
  }
  if (*self != nullptr) (*self)->ticking_ = false;
}

}  // namespace bellwether::jobs
