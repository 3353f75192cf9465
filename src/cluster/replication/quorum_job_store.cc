#include "cluster/replication/quorum_job_store.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cluster/register/owner.h"
#include "cluster/register/small.h"
#include "core/base/check.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"
#include "core/runtime/kernel_driver.h"

namespace bellwether::jobs {

// One job of a QuorumJobStore: the kernel of its owner, at work. Private to the store.
class QuorumJob final : public JobHandle {
 public:
  QuorumJob(QuorumJobStore& store, std::string key, Listener& listener, registers::JobOwnerConfig config,
            uint64_t seed);
  ~QuorumJob() override;

  const std::string& key() const override { return key_; }
  runtime::task<Result<TakenJob>> take(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Written> write(std::string value, Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Result<std::optional<std::string>>> read(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Status> give_back(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Written> retire(Instant deadline, runtime::Cancellation* cancel) override;
  Instant held_until() const override { return taken_ ? kernel_.ends() : Instant(); }
  JobFence fence() const override { return fence_; }

  void step(registers::OwnerEvent event) { loop_.tell(std::move(event)); }
  void close();

 private:
  using Loop = runtime::KernelDriver<QuorumJob, registers::JobOwner, registers::OwnerEvent, registers::OwnerEffects>;
  friend Loop;
  static constexpr std::size_t kMaxCalls = 128;

  // A call that waits for the kernel's answer.
  struct Call {
    runtime::Event done;
    std::optional<tl::expected<std::string, NotWritten>> outcome;  // the register's bytes, of a read
  };

  runtime::task<tl::expected<std::string, NotWritten>> ask(std::optional<std::string> write, Instant deadline,
                                                           runtime::Cancellation* cancel);
  void carry_out(registers::SendAsk& sending);
  void carry_out(const registers::JobTaken& taken);
  void carry_out(const registers::JobRenewed&) {}  // held_until() asks the kernel
  void carry_out(const registers::JobWritten& written) { finish(written.ticket, std::string()); }
  void carry_out(const registers::JobRead& read) { finish(read.ticket, read.value); }
  void carry_out(const registers::JobFailed& failed);
  void carry_out(const registers::JobLost& lost);
  void carry_out(const registers::JobBusy& busy) { busy_with_ = busy.owner; }
  void settled() { keep_time(); }
  void finish(uint64_t ticket, tl::expected<std::string, NotWritten> outcome);
  void keep_time();
  static runtime::task<void> tick(std::shared_ptr<QuorumJob*> self);
  std::string waiting_for() const;

  QuorumJobStore& store_;
  std::string key_;
  Listener& listener_;
  registers::JobOwner kernel_;
  Loop loop_;
  std::shared_ptr<QuorumJob*> alive_;  // background work finds nothing in it after the end
  runtime::Cancellation* nap_ = nullptr;
  bool ticking_ = false;

  bool closed_ = false;
  bool taken_ = false;
  JobFence fence_;
  runtime::Event* taking_ = nullptr;
  std::optional<Result<TakenJob>> take_outcome_;
  MemberId busy_with_ = quorum::kNobody;  // the holder, while it is being taken
  uint64_t ticket_ = 0;
  std::map<uint64_t, Call*> calls_;
};

namespace {

using runtime::task;

constexpr const char* kStoreEnded = "this node is ending";

void set_event(void* event) { static_cast<runtime::Event*>(event)->set(); }

constexpr Duration kRetry = Duration::millis(200);
constexpr Duration kTroubleLasts = Duration::seconds(30);

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

task<Result<TakenJob>> QuorumJob::take(Instant deadline, runtime::Cancellation* cancel) {
  if (closed_) co_return fail(Errc::kClosed, kStoreEnded);
  if (taking_ != nullptr) co_return fail(Errc::kExists, "this node is taking job '{}' already", key_);
  if (held(store_.runtime_.boot_now())) co_return fail(Errc::kExists, "this node holds job '{}' already", key_);
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
    co_return fail(until.why(), "job '{}' was not taken in time: {}", key_, waiting_for());
  }
  co_return std::move(*take_outcome_);
}

std::string QuorumJob::waiting_for() const {
  if (busy_with_ == quorum::kNobody) return store_.silence();
  const std::string name = store_.lines_.name_of(busy_with_);
  return (name.empty() ? "another node" : fmt::format("'{}'", name)) + " holds it";
}

// A write when a value is given, else a read.
task<tl::expected<std::string, NotWritten>> QuorumJob::ask(std::optional<std::string> write, Instant deadline,
                                                           runtime::Cancellation* cancel) {
  if (closed_) co_return tl::unexpected(NotWritten{{Errc::kClosed, kStoreEnded}, false});
  if (!taken_) {
    co_return tl::unexpected(
        NotWritten{{Errc::kRefused, fmt::format("this node does not hold job '{}'", key_)}, false});
  }
  if (calls_.size() >= kMaxCalls) {
    co_return tl::unexpected(
        NotWritten{{Errc::kExhausted, fmt::format("too many writes of job '{}' are waiting", key_)}, false});
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
    // It may have been dropped, or it goes on without a waiting caller.
    const bool perhaps = !call.outcome.has_value();
    call.outcome =
        tl::unexpected(NotWritten{{until.why(), fmt::format("job '{}': {}", key_, store_.silence())}, perhaps});
  }
  calls_.erase(ticket);
  co_return std::move(*call.outcome);
}

task<Written> QuorumJob::write(std::string value, Instant deadline, runtime::Cancellation* cancel) {
  if (value.size() > kMaxStateBytes) {
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

void QuorumJob::carry_out(registers::SendAsk& sending) { store_.lines_.send(sending.to, std::move(sending.ask)); }

void QuorumJob::carry_out(const registers::JobFailed& failed) {
  finish(failed.ticket,
         tl::unexpected(NotWritten{{Errc::kRefused, fmt::format("job '{}': {}", key_, failed.why)}, failed.perhaps}));
}

void QuorumJob::carry_out(const registers::JobTaken& taken) {
  auto content = registers::parse_content(taken.value);
  if (taking_ != nullptr && content && !content->retired) {
    taken_ = true;
    fence_ = taken.fence;
    take_outcome_ = TakenJob{taken.fence, std::move(content->value)};
  } else {
    // It is no longer wanted, or no node may have it.
    step(registers::GiveJobBack{});
    if (taking_ == nullptr) return;
    take_outcome_ = content ? fail(Errc::kNotFound, "job '{}' was retired", key_)
                            : fail(content.error().code, "job '{}': {}", key_, content.error().message);
  }
  taking_->set();
}

void QuorumJob::carry_out(const registers::JobLost& lost) {
  const bool surprise = std::exchange(taken_, false);
  step(registers::GiveJobBack{});  // the next caller that wants it says so
  if (surprise) listener_.on_lost({lost.fence, store_.lines_.name_of(lost.owner), lost.why});
}

void QuorumJob::finish(uint64_t ticket, tl::expected<std::string, NotWritten> outcome) {
  const auto call = calls_.find(ticket);
  if (call == calls_.end() || call->second->outcome) return;
  if (closed_ && !outcome) outcome.error().error = {Errc::kClosed, kStoreEnded};
  call->second->outcome = std::move(outcome);
  call->second->done.set();
}

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

QuorumJobStore::QuorumJobStore(runtime::Runtime& runtime, registers::Lines& lines, const JobSettings& settings,
                               uint64_t seed)
    : runtime_(runtime), lines_(lines), settings_(settings), prng_(seed) {
  check(check_settings(settings).has_value(), "settings are validated before they are used");
  lines_.serve(this);
}

QuorumJobStore::~QuorumJobStore() {
  check(jobs_.empty(), "handles end before their store");
  lines_.serve(static_cast<QuorumJobStore*>(nullptr));
}

std::string QuorumJobStore::describe() const { return "the quorum of " + registers::names_of(lines_.set(), ", "); }

Result<std::unique_ptr<JobHandle>> QuorumJobStore::open(std::string key, JobHandle::Listener& listener) {
  BW_RETURN_IF_ERROR(check_key(key));
  if (closed_) return fail(Errc::kClosed, "this node is ending");
  if (jobs_.contains(key)) return fail(Errc::kExists, "job '{}' is open already: a node has one handle of it", key);
  if (jobs_.size() >= kMaxHandles) return fail(Errc::kExhausted, "too many jobs are open on this node");
  registers::JobOwnerConfig config;
  config.key = key;
  config.self = lines_.self_id();
  config.replicas = lines_.replica_ids();
  config.lease = settings_.lease;
  config.renew_every = settings_.renew_every();
  config.retry = kRetry;
  config.drift = settings_.drift;
  auto job = std::make_unique<QuorumJob>(*this, key, listener, std::move(config), prng_.next());
  jobs_[std::move(key)] = job.get();
  return job;
}

runtime::task<void> QuorumJobStore::close(Duration) {
  closed_ = true;
  for (const auto& [key, job] : jobs_) job->close();
  scope_.cancel();
  co_await scope_.join();
}

void QuorumJobStore::on_answer(MemberId from, const registers::Answer& answer) {
  const auto job = jobs_.find(answer.key);
  if (answer.verdict != registers::Verdict::kUnable) troubles_.erase(from);
  if (job != jobs_.end()) job->second->step(registers::JobAnswered{from, answer});
}

void QuorumJobStore::on_freed(const registers::Freed& freed) {
  const auto job = jobs_.find(freed.key);
  if (job != jobs_.end()) job->second->step(registers::JobFreed{});
}

void QuorumJobStore::on_replicas() {
  for (const auto& [key, job] : jobs_) job->step(registers::ReplicasAre{lines_.replica_ids()});
}

void QuorumJobStore::on_unable(MemberId from, const registers::Unable& unable) {
  troubles_[from] = {unable.why, runtime_.boot_now()};
}

// Why nothing happens, if that is known.
std::string QuorumJobStore::silence() const {
  std::string text =
      fmt::format("no majority of the replicas ({}) answered in time", registers::names_of(lines_.set(), ", "));
  const Instant now = runtime_.boot_now();
  for (const auto& [peer, trouble] : troubles_) {
    if (now - trouble.at < kTroubleLasts) text += fmt::format("; '{}': {}", lines_.name_of(peer), trouble.why);
  }
  return text;
}

}  // namespace bellwether::jobs
