#include "jobs/manager/steward.h"

#include <algorithm>
#include <utility>

#include "core/base/overloaded.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/sheet_codec.h"
#include "jobs/manager/manager_service.h"
#include "jobs/manager/surroundings.h"
#include "load/aggregate/metric.h"
#include "load/plan/load.h"

namespace bellwether::node {

using dispatch::JobEffects;
using dispatch::Refusal;
using dispatch::refusal;
using runtime::task;

namespace {

constexpr Duration kWriteLimit = Duration::seconds(5);
constexpr Duration kCopyLimit = Duration::seconds(10);
constexpr Duration kAgain = Duration::millis(200);
// So that a client does not ask the same manager at once.
constexpr Duration kQuorumAgain = Duration::millis(500);
constexpr Duration kGiveBackMost = Duration::seconds(1);

std::string state_words(const dispatch::JobSheet& sheet) {
  return std::string(to_string(sheet.state)) + (sheet.why.empty() ? "" : ": " + sheet.why);
}

}  // namespace

Steward::Steward(Parts parts, StewardSettings settings, std::string id)
    : parts_(parts), settings_(settings), id_(std::move(id)), account_life_(parts.runtime.prng().next() | 1U) {}

Steward::~Steward() = default;

// A quorum did not confirm it: no voter could be asked, or too few answered in time.
Refusal Steward::no_quorum(const std::string& what, const Error& error) const {
  const std::string_view name = error.code == Errc::kTimeout ? kQuorumTimeout : kQuorumUnavailable;
  return refusal(Refusal::Kind::kUnavailable, fmt::format("{}: {}: {}", name, what, error.message), kQuorumAgain);
}

void Steward::say(const std::string& event, const std::string& text, bool warning) {
  parts_.owner.on_says(*this, event, text, warning);
}

Status Steward::make_plan(std::string bundle) {
  BW_TRY(auto decoded, dispatch::decode_bundle(bundle));
  BW_TRY(auto plan, plan::plan_of(decoded));
  bundle_ = std::move(bundle);
  plan_ = std::make_unique<plan::Plan>(std::move(plan));
  return {};
}

dispatch::JobRules Steward::rules() const {
  dispatch::JobRules rules = settings_.rules;
  rules.timeout = plan_->timeout;
  return rules;
}

// --- its begin -------------------------------------------------------------------------------------------------------

task<dispatch::Response> Steward::found(dispatch::Submit letter) {
  const Status planned = make_plan(std::move(letter.bundle));
  if (!planned) co_return refusal(Refusal::Kind::kBroken, planned.error().message);
  const Instant deadline = now() + settings_.submit_limit;
  auto opened = parts_.store.open(id_, *this);
  if (!opened) co_return no_quorum("the job's register", opened.error());
  handle_ = std::move(*opened);
  auto taken = co_await handle_->take(deadline, scope_.cancellation());
  if (!taken && taken.error().code == Errc::kNotFound) {
    co_return refusal(Refusal::Kind::kConflict, fmt::format("there was a job '{}': give this one another id", id_));
  }
  if (!taken) co_return no_quorum("the job's register", taken.error());
  owned_ = true;
  if (taken->value) {
    // It was submitted before to a manager that is gone, and this one did not know of it.
    const auto before = dispatch::read_sheet(*taken->value);
    if (before && before->bundle == dispatch::bundle_hash(bundle_)) {
      co_return dispatch::Submitted{id_, before->state, 0};
    }
    co_return refusal(Refusal::Kind::kConflict, fmt::format("there is another job '{}'", id_));
  }
  const copies::Version first{handle_->fence(), 1};
  const Status kept = co_await parts_.copies.put({id_, kBundleCopy}, first, bundle_, deadline, scope_.cancellation());
  if (!kept) co_return no_quorum("the scenario could not be kept", kept.error());
  dispatch::JobSheet sheet;
  sheet.id = id_;
  sheet.name = plan_->name;
  sheet.by = letter.by;
  sheet.bundle = dispatch::bundle_hash(bundle_);
  sheet.seed = letter.seed;
  sheet.submitted = parts_.runtime.wall_now();
  sheet.revision = 1;
  sheet.workflows = dispatch::JobDesk::new_workflows(dispatch::spec_of(*plan_));
  const Status written = co_await write_record(sheet, deadline);
  if (!written) co_return no_quorum("the job's register", written.error());
  if (!owned_) co_return refusal(Refusal::Kind::kUnavailable, "the job's register was lost");
  account_ = std::make_unique<account::RunAccount>(*plan_);
  job_ = std::make_unique<dispatch::JobDesk>(dispatch::spec_of(*plan_), rules(), std::move(sheet),
                                             parts_.runtime.prng().fork());
  start();
  step([&](Instant at, JobEffects& out) { job_->begin(at, out); });
  dispatch::Submitted done;
  done.job = id_;
  done.state = job_->sheet().state;
  co_return done;
}

task<Status> Steward::take_over(Instant deadline) {
  const auto about = [](const char* what, const Error& error) {
    return tl::unexpected(Error{error.code, fmt::format("{}: {}", what, error.message)});
  };
  BW_CO_TRY(handle_, parts_.store.open(id_, *this));
  BW_CO_TRY(auto taken, co_await handle_->take(deadline, scope_.cancellation()));
  owned_ = true;
  if (!taken.value) {
    // Its first owner died before it confirmed the job to anyone.
    const auto retired = co_await handle_->retire(deadline, scope_.cancellation());
    co_return fail(Errc::kNotFound, retired ? "nothing was ever written of it" : retired.error().error.message);
  }
  BW_CO_TRY(auto sheet, dispatch::read_sheet(*taken.value));
  if (dispatch::is_final(sheet.state)) co_return fail(Errc::kClosed, "it has ended");
  auto bundle = co_await parts_.copies.get({id_, kBundleCopy}, handle_->fence(), deadline, scope_.cancellation());
  if (!bundle && bundle.error().code != Errc::kNotFound) co_return about("what it is made from", bundle.error());
  if (!bundle || !*bundle) {
    // The inputs were kept before the job had a record, and were deleted with the job: the register missed that.
    const auto retired = co_await handle_->retire(deadline, scope_.cancellation());
    co_return fail(Errc::kNotFound, retired ? "it was forgotten long ago" : retired.error().error.message);
  }
  BW_CO_RETURN_IF_ERROR(make_plan(std::move((*bundle)->bytes)));
  if (dispatch::is_summary(*taken.value)) {
    auto record = co_await parts_.copies.get({id_, kRecordCopy}, handle_->fence(), deadline, scope_.cancellation());
    if (!record) co_return about("its record", record.error());
    if (!*record) co_return fail(Errc::kNotFound, "its record: nobody has it");
    const uint64_t known = sheet.revision;
    BW_CO_TRY(sheet, dispatch::read_sheet((*record)->bytes));
    if (sheet.revision != known) {
      // Its owner died between the two writes of write_record().
      const Status written = co_await write_record(sheet, deadline);
      if (!written) co_return about("its record", written.error());
      if (dispatch::is_final(sheet.state)) co_return fail(Errc::kClosed, "it has ended");
    }
  }
  auto copy = co_await parts_.copies.get({id_, kAccountCopy}, handle_->fence(), deadline, scope_.cancellation());
  if (!copy) co_return about("its account", copy.error());
  if (*copy) {
    auto restored = account::RunAccount::restore(now(), *plan_, (*copy)->bytes);
    if (!restored) co_return about("its account", restored.error());
    account_ = std::make_unique<account::RunAccount>(std::move(*restored));
  } else {
    account_ = std::make_unique<account::RunAccount>(*plan_);
  }
  auto context = co_await read_context(deadline);
  if (!context) co_return about("the values between its workflows", context.error());
  if (!owned_) co_return fail(Errc::kClosed, "somebody else has taken it");
  written_ = sheet.revision;
  std::map<dispatch::ShareId, uint64_t> applied;
  for (const auto& [stream, number] : account_->applied()) applied[dispatch::ShareId(stream.value())] = number;
  Duration ago;
  if (sheet.started.unix_ns != 0) {
    ago = Duration::nanos(std::max<int64_t>(0, parts_.runtime.wall_now().unix_ns - sheet.started.unix_ns));
    // A wall clock that was set back does not shorten the measured time.
    ago = std::max(ago, account_->totals().elapsed());
  }
  job_ = std::make_unique<dispatch::JobDesk>(dispatch::spec_of(*plan_), rules(), std::move(sheet),
                                             parts_.runtime.prng().fork());
  job_->restore(std::move(*context));
  start();
  for (const auto& [stream, number] : account_->applied()) {
    job_->iterated(dispatch::ShareId(stream.value()), account_->iterated(stream));
  }
  step([&](Instant at, JobEffects& out) {
    job_->adopt(at, ago, std::move(applied), out);
    for (const dispatch::ShareSheet& share : job_->sheet().shares) {
      dispatched_.insert(share.id);  // by the owner before
      if (!share.streams) continue;
      static_cast<void>(account_->open(account::StreamId(share.id.value()), share.from));
      if (!dispatch::is_live(share)) account_->close(account::StreamId(share.id.value()));
    }
    if (job_->zero()) watchers_->live().set_zero(*job_->zero());
    for (const std::string& worker : job_->workers_to_ask()) scope_.spawn(adopt(this, worker));
  });
  co_return Status{};
}

void Steward::start() {
  watchers_ = std::make_unique<Watchers>(Watchers::Parts{parts_.runtime, parts_.switchboard, *job_, *account_,
                                                         parts_.surroundings.self(), account_life_,
                                                         settings_.watch_pause, settings_.watchers_most});
  next_copy_ = now() + settings_.copy_every;
  scope_.spawn(keep_time(this));
}

void Steward::abandon() {
  closing_ = true;
  scope_.cancel();
}

task<void> Steward::close() {
  closing_ = true;
  if (watchers_ != nullptr) watchers_->send_away();
  scope_.cancel();
  co_await scope_.join();
  if (handle_ != nullptr && handle_->held(parts_.runtime.boot_now())) {
    const Status given = co_await handle_->give_back(now() + kGiveBackMost, nullptr);
    static_cast<void>(given);
  }
  handle_.reset();
}

// --- the kernel at work ----------------------------------------------------------------------------------------------

void Steward::after(const JobEffects& effects) {
  for (const dispatch::JobEffect& effect : effects) carry_out(effect);
  if (!effects.empty()) watchers_->changed();
  poke();
}

void Steward::carry_out(const dispatch::JobEffect& effect) {
  namespace fx = dispatch::job_effect;
  if (closing_) return;
  std::visit(Overloaded{
                 [&](const fx::Keep&) {
                   if (!std::exchange(writing_, true)) scope_.spawn(write_on(this));
                   parts_.owner.on_cores_changed();
                 },
                 [&](const fx::Offer& offering) {
                   dispatched_.insert(offering.share);
                   scope_.spawn(offer(this, offering.share));
                 },
                 [&](const fx::Begin& beginning) {
                   open_stream(*job_->find(beginning.share));
                   scope_.spawn(begin(this, beginning));
                 },
                 [&](const fx::TakeOver& taking) { scope_.spawn(take_over(this, taking)); },
                 [&](const fx::HandOver& handing) { scope_.spawn(hand_over(this, handing.share)); },
                 [&](const fx::OpenStream& open) { open_stream(*job_->find(open.share)); },
                 [&](const fx::Scale& scaling) { scope_.spawn(scale(this, scaling.share)); },
                 [&](const fx::Stop& stopping) { scope_.spawn(stop(this, stopping)); },
                 [&](const fx::CloseStream& closed) {
                   account_->close(account::StreamId(closed.share.value()));
                   watchers_->live().ended(now(), closed.share);
                 },
                 [&](const fx::Conclude&) { scope_.spawn(conclude(this)); },
                 [&](const fx::KeepContext&) {
                   if (!std::exchange(keeping_context_, true)) scope_.spawn(keep_context(this));
                 },
                 [&](const fx::Over&) {
                   over_since_ = parts_.runtime.now();
                   watchers_->live().finish(now());
                   say("job_over", fmt::format("job '{}' is {}", id_, state_words(job_->sheet())));
                   retire_all();
                   scope_.spawn(let_go(this));
                   watchers_->changed_now();
                 },
                 [&](const fx::Moved& moved) {
                   const std::string whose = moved.what == "job" ? fmt::format("job '{}'", id_)
                                                                 : fmt::format("job '{}', '{}'", id_, moved.what);
                   say("job_state", fmt::format("{}: {} -> {}{}", whose, moved.from, moved.to,
                                                moved.why.empty() ? "" : fmt::format(" ({})", moved.why)));
                 },
             },
             effect);
}

void Steward::poke() {
  if (nap_ != nullptr) nap_->cancel();
}

Instant Steward::next_deadline() const {
  Instant next = std::min({job_->wake(), account_->next_deadline(), watchers_->next_deadline()});
  if (account_->unsafe() && !copying_ && owned_) next = std::min(next, next_copy_);
  return next;
}

task<void> Steward::keep_time(Steward* self) {
  runtime::Runtime& runtime = self->parts_.runtime;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (!cancel->cancelled()) {
    {
      runtime::Cancellation nap(cancel);
      self->nap_ = &nap;
      // A limit, because the wall clock may be set, and a deadline may come from a clock that was read earlier.
      const Instant until = std::min(self->next_deadline(), self->now() + Duration::seconds(1));
      co_await runtime.sleep_until(until, &nap);
      self->nap_ = nullptr;
    }
    if (cancel->cancelled()) co_return;
    // All reports of this turn of the loop are processed together.
    co_await runtime.yield();
    const Instant at = self->now();
    self->settle(at);
    if (self->job_->wake() <= at) {
      self->step([&](Instant at, JobEffects& out) { self->job_->tick(at, out); });
    }
    if (self->account_->unsafe() && !self->copying_ && self->next_copy_ <= at && self->owned_) {
      self->copying_ = true;
      self->scope_.spawn(copy_on(self));
    }
    self->watchers_->answer(at);
  }
}

// One write at a time, always of the newest record.
task<void> Steward::write_on(Steward* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (self->owned_ && !cancel->cancelled() && self->written_ < self->job_->sheet().revision) {
    const uint64_t revision = self->job_->sheet().revision;
    const Status written = co_await self->write_record(self->job_->sheet(), self->now() + kWriteLimit);
    if (cancel->cancelled() || !self->owned_) break;
    if (!written) {
      self->say("register", fmt::format("job '{}' could not be written: {}", self->id_, written.error().message), true);
      co_await self->parts_.runtime.sleep(kAgain, cancel);
      continue;
    }
    self->written_ = revision;
    self->kept_.changed();
    self->step([&](Instant at, JobEffects& out) { self->job_->kept(at, revision, out); });
  }
  self->writing_ = false;
}

// A majority has the blob before the register refers to it. If only the first write is done, the next owner continues
// from either state: no action depends on the new record yet.
task<Status> Steward::write_record(const dispatch::JobSheet& sheet, Instant deadline) {
  BW_CO_TRY(auto bytes, dispatch::encode_sheet(sheet));
  if (!bytes.large.empty()) {
    const copies::Version version{handle_->fence(), ++records_put_};
    BW_CO_RETURN_IF_ERROR(co_await parts_.copies.put({id_, kRecordCopy}, version, std::move(bytes.large), deadline,
                                                     scope_.cancellation()));
  }
  const auto written = co_await handle_->write(std::move(bytes.value), deadline, scope_.cancellation());
  if (!written) co_return tl::unexpected(written.error().error);
  co_return Status();
}

// --- copies ----------------------------------------------------------------------------------------------------------

void Steward::settle(Instant now) {
  if (account_->next_deadline() > now || !account_->settle(now)) return;
  watchers_->changed_now();
  if (job_->sheet().stop || job_->over()) return;
  const auto failed = aggregate::abort_due(account_->totals());
  if (!failed) return;
  const plan::Threshold& threshold = plan_->thresholds[*failed];
  dispatch::JobStop stop;
  stop.cause = dispatch::JobStop::Cause::kThreshold;
  stop.how = dispatch::StopHow::kGraceful;
  stop.why = fmt::format("threshold {} {} failed", threshold.metric_text, threshold.expression);
  step([&](Instant at, JobEffects& out) { job_->stop(at, stop, {}, out); });
}

task<void> Steward::copy_on(Steward* self) {
  // An account with assignments that no record has would count them twice: the record goes first.
  if (self->written_ >= self->job_->sheet().revision) {
    const Status copied = co_await self->copy_account(self->now() + kCopyLimit);
    if (!copied && self->owned_ && !self->closing_) {
      self->say("account",
                fmt::format("job '{}': its account could not be copied: {}", self->id_, copied.error().message), true);
    }
    self->next_copy_ = self->now() + self->settings_.copy_every;
  } else {
    self->next_copy_ = self->now() + Duration::millis(50);
  }
  self->copying_ = false;
  self->kept_.changed();
  self->poke();
}

task<Status> Steward::copy_account(Instant deadline) {
  const copies::Version version{handle_->fence(), ++copies_put_};
  BW_CO_TRY(auto bytes, account_->save(now()));
  const Status put =
      co_await parts_.copies.put({id_, kAccountCopy}, version, std::move(bytes), deadline, scope_.cancellation());
  if (!put) co_return put;
  account_->kept();
  say_pressure();
  co_return Status();
}

// The account is complete: it is kept for good, and then the job is over.
task<void> Steward::conclude(Steward* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  const bool free = co_await self->kept_.wait(
      self->parts_.runtime, [self] { return !self->copying_; }, Instant::never(), cancel);
  if (!free) co_return;
  self->copying_ = true;
  self->account_->finish(self->now());
  self->watchers_->changed_now();
  while (self->owned_ && !cancel->cancelled()) {
    const Status copied = co_await self->copy_account(self->now() + kWriteLimit);
    if (cancel->cancelled() || !self->owned_) co_return;
    if (copied) break;
    if (copied.error().code == Errc::kTooLarge) {
      // It ends all the same: its result exists while this manager keeps it in memory.
      self->step(
          [&](Instant at, JobEffects& out) { self->job_->note(at, "result_not_kept", copied.error().message, out); });
      break;
    }
    self->say("account", fmt::format("job '{}': its result could not be kept: {}", self->id_, copied.error().message),
              true);
    co_await self->parts_.runtime.sleep(kAgain, cancel);
  }
  if (!self->owned_ || cancel->cancelled()) co_return;
  self->step([&](Instant at, JobEffects& out) { self->job_->concluded(at, out); });
}

// A finished job needs no owner. A manager that missed the end finds no owner, and learns of the end when it takes the
// register.
task<void> Steward::let_go(Steward* self) {
  self->owned_ = false;
  self->kept_.changed();
  const Status given = co_await self->handle_->give_back(self->now() + kGiveBackMost, nullptr);
  static_cast<void>(given);
}

// --- values between workflows: a quorum keeps them before a dependent workflow begins --------------------------------

// One at a time, always the newest.
task<void> Steward::keep_context(Steward* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  uint64_t kept = 0;
  while (self->owned_ && !cancel->cancelled() && kept < self->job_->context().version) {
    const uint64_t version = self->job_->context().version;
    const copies::CopyKey key{self->id_, kContextCopy};
    const Status put = co_await self->parts_.copies.put(key, {self->handle_->fence(), version},
                                                        dispatch::encode_context(self->job_->context()),
                                                        self->now() + kWriteLimit, cancel);
    if (cancel->cancelled() || !self->owned_) break;
    if (!put) {
      self->say("context",
                fmt::format("job '{}': values between workflows could not be kept: {}", self->id_, put.error().message),
                true);
      co_await self->parts_.runtime.sleep(kAgain, cancel);
      continue;
    }
    kept = version;
    self->step([&](Instant at, JobEffects& out) { self->job_->context_kept(at, version, out); });
  }
  self->keeping_context_ = false;
}

task<Result<plan::Values>> Steward::read_context(Instant deadline) {
  const auto& all = plan_->workflows;
  if (std::all_of(all.begin(), all.end(), [](const plan::Workflow& one) { return one.provides.empty(); })) {
    co_return plan::Values{};
  }
  BW_CO_TRY(auto copy,
            co_await parts_.copies.get({id_, kContextCopy}, handle_->fence(), deadline, scope_.cancellation()));
  if (!copy) co_return plan::Values{};
  co_return dispatch::decode_context(copy->bytes);
}

void Steward::on_lost(const jobs::LostJob& lost) {
  owned_ = false;
  kept_.changed();
  if (job_ != nullptr && job_->over()) return;
  say("job_lost", fmt::format("job '{}' is not this manager's any more: {}", id_, lost.why), true);
  parts_.owner.on_lost(*this);
}

void Steward::add_cores(std::map<std::string, uint32_t>& asked) const {
  if (job_ == nullptr) return;
  for (const dispatch::ShareSheet& share : job_->sheet().shares) {
    if (dispatch::is_live(share)) asked[share.worker] += share.cores;
  }
}

bool Steward::wants_cores() const { return job_ != nullptr && owned_ && job_->queued(); }

void Steward::pool(const std::vector<dispatch::WorkerSight>& workers) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->pool(at, workers, out); });
}

}  // namespace bellwether::node
