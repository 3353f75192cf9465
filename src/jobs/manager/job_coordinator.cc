#include "jobs/manager/job_coordinator.h"

#include <algorithm>
#include <utility>

#include "core/base/overloaded.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/manager/cluster_view.h"
#include "jobs/manager/manager_service.h"
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
constexpr Duration kMaxGiveBack = Duration::seconds(1);

std::string state_format(const dispatch::JobRecord& record) {
  return std::string(to_string(record.state)) + (record.why.empty() ? "" : ": " + record.why);
}

}  // namespace

JobCoordinator::JobCoordinator(Parts parts, JobCoordinatorSettings settings, std::string id)
    : parts_(parts), settings_(settings), id_(std::move(id)), ingest_life_(parts.runtime.prng().next() | 1U) {}

JobCoordinator::~JobCoordinator() = default;

// A quorum did not confirm it: no voter could be asked, or too few answered in time.
Refusal JobCoordinator::no_quorum(const std::string& what, const Error& error) const {
  const std::string_view name = error.code == Errc::kTimeout ? kQuorumTimeout : kQuorumUnavailable;
  return refusal(Refusal::Kind::kUnavailable, fmt::format("{}: {}: {}", name, what, error.message), kQuorumAgain);
}

void JobCoordinator::say(const std::string& event, const std::string& text, bool warning) {
  parts_.manager.on_says(*this, event, text, warning);
}

Status JobCoordinator::make_plan(std::string bundle) {
  BW_TRY(auto decoded, dispatch::decode_bundle(bundle));
  BW_TRY(auto plan, plan::plan_of(decoded));
  bundle_ = std::move(bundle);
  files_ = dispatch::files_beside(decoded);
  plan_ = std::make_unique<plan::Plan>(std::move(plan));
  return {};
}

dispatch::JobRules JobCoordinator::rules() const {
  dispatch::JobRules rules = settings_.rules;
  rules.timeout = plan_->timeout;
  rules.offer_limit += dispatch::reading_time(files_);
  return rules;
}

// --- its begin -------------------------------------------------------------------------------------------------------

task<dispatch::Response> JobCoordinator::submit(dispatch::Submit message) {
  const Status planned = make_plan(std::move(message.bundle));
  if (!planned) co_return refusal(Refusal::Kind::kBroken, planned.error().message);
  if (const Status kept = parts_.manager.files().kept(files_); !kept) {
    co_return refusal(Refusal::Kind::kBusy, kept.error().message, kQuorumAgain);
  }
  const Instant deadline = now() + settings_.submit_limit;
  auto opened = parts_.store.open(id_, *this);
  if (!opened) co_return no_quorum("the job's register", opened.error());
  handle_ = std::move(*opened);
  auto taken = co_await handle_->take(deadline, scope_.cancellation());
  if (!taken && taken.error().code == Errc::kNotFound) {
    co_return refusal(Refusal::Kind::kConflict, fmt::format("a former job has the id '{}'; choose another id", id_));
  }
  if (!taken) co_return no_quorum("the job's register", taken.error());
  owned_ = true;
  if (taken->value) {
    // It was submitted before to a manager that is gone, and this one did not know of it.
    const auto before = dispatch::read_record(*taken->value);
    if (before && before->bundle == dispatch::bundle_hash(bundle_)) {
      co_return dispatch::Submitted{id_, before->state, 0};
    }
    co_return refusal(Refusal::Kind::kConflict, fmt::format("another job has the id '{}'; choose another id", id_));
  }
  const blobs::Version first{handle_->fence(), 1};
  const Status kept = co_await parts_.blobs.put({id_, kBundleBlob}, first, bundle_, deadline, scope_.cancellation());
  if (!kept) co_return no_quorum("the scenario could not be stored", kept.error());
  dispatch::JobRecord record;
  record.id = id_;
  record.name = plan_->name;
  record.by = message.by;
  record.bundle = dispatch::bundle_hash(bundle_);
  record.seed = message.seed;
  record.submitted = parts_.runtime.wall_now();
  record.revision = 1;
  record.workflows = dispatch::JobKernel::new_workflows(dispatch::spec_of(*plan_));
  const Status written = co_await write_record(record, deadline);
  if (!written) co_return no_quorum("the job's register", written.error());
  if (!owned_) co_return refusal(Refusal::Kind::kUnavailable, "the job's register was lost");
  ingest_ = std::make_unique<ingest::RunIngest>(*plan_);
  job_ = std::make_unique<dispatch::JobKernel>(dispatch::spec_of(*plan_), rules(), std::move(record),
                                               parts_.runtime.prng().fork());
  start();
  step([&](Instant at, JobEffects& out) { job_->begin(at, out); });
  dispatch::Submitted done;
  done.job = id_;
  done.state = job_->record().state;
  co_return done;
}

task<Status> JobCoordinator::take_over(Instant deadline) {
  const auto about = [](const char* what, const Error& error) {
    return tl::unexpected(Error{error.code, fmt::format("{}: {}", what, error.message)});
  };
  BW_CO_TRY(handle_, parts_.store.open(id_, *this));
  BW_CO_TRY(auto taken, co_await handle_->take(deadline, scope_.cancellation()));
  owned_ = true;
  if (!taken.value) {
    // Its first owner died before it confirmed the job to anyone.
    const auto retired = co_await handle_->retire(deadline, scope_.cancellation());
    co_return fail(Errc::kNotFound, retired ? "its submission was never completed" : retired.error().error.message);
  }
  BW_CO_TRY(auto record, dispatch::read_record(*taken.value));
  if (dispatch::is_final(record.state)) co_return fail(Errc::kClosed, "it has ended");
  auto bundle = co_await parts_.blobs.get({id_, kBundleBlob}, handle_->fence(), deadline, scope_.cancellation());
  if (!bundle && bundle.error().code != Errc::kNotFound) co_return about("its scenario", bundle.error());
  if (!bundle || !*bundle) {
    // The inputs were kept before the job had a record, and were deleted with the job: the register missed that.
    const auto retired = co_await handle_->retire(deadline, scope_.cancellation());
    co_return fail(Errc::kNotFound, retired ? "it was deleted long ago" : retired.error().error.message);
  }
  BW_CO_RETURN_IF_ERROR(make_plan(std::move((*bundle)->bytes)));
  if (dispatch::is_summary(*taken.value)) {
    auto large = co_await parts_.blobs.get({id_, kRecordBlob}, handle_->fence(), deadline, scope_.cancellation());
    if (!large) co_return about("its record", large.error());
    if (!*large) co_return fail(Errc::kNotFound, "its record: no manager has it");
    const uint64_t known = record.revision;
    BW_CO_TRY(record, dispatch::read_record((*large)->bytes));
    if (record.revision != known) {
      // Its owner died between the two writes of write_record().
      const Status written = co_await write_record(record, deadline);
      if (!written) co_return about("its record", written.error());
      if (dispatch::is_final(record.state)) co_return fail(Errc::kClosed, "it has ended");
    }
  }
  auto copy = co_await parts_.blobs.get({id_, kIngestBlob}, handle_->fence(), deadline, scope_.cancellation());
  if (!copy) co_return about("its ingest", copy.error());
  if (*copy) {
    auto restored = ingest::RunIngest::restore(now(), *plan_, (*copy)->bytes);
    if (!restored) co_return about("its ingest", restored.error());
    ingest_ = std::make_unique<ingest::RunIngest>(std::move(*restored));
  } else {
    ingest_ = std::make_unique<ingest::RunIngest>(*plan_);
  }
  auto context = co_await read_context(deadline);
  if (!context) co_return about("the values between its workflows", context.error());
  if (!owned_) co_return fail(Errc::kClosed, "another manager has taken it");
  written_ = record.revision;
  std::map<dispatch::AssignmentId, uint64_t> applied;
  for (const auto& [stream, number] : ingest_->applied()) applied[dispatch::AssignmentId(stream.value())] = number;
  Duration ago;
  if (record.started.unix_ns != 0) {
    ago = Duration::nanos(std::max<int64_t>(0, parts_.runtime.wall_now().unix_ns - record.started.unix_ns));
    // A wall clock that was set back does not shorten the measured time.
    ago = std::max(ago, ingest_->totals().elapsed());
  }
  job_ = std::make_unique<dispatch::JobKernel>(dispatch::spec_of(*plan_), rules(), std::move(record),
                                               parts_.runtime.prng().fork());
  job_->restore(std::move(*context));
  start();
  for (const auto& [stream, number] : ingest_->applied()) {
    job_->iterated(dispatch::AssignmentId(stream.value()), ingest_->iterated(stream));
  }
  step([&](Instant at, JobEffects& out) {
    job_->adopt(at, ago, std::move(applied), out);
    for (const dispatch::AssignmentRecord& assignment : job_->record().assignments) {
      dispatched_.insert(assignment.id);  // by the owner before
      if (!assignment.streams) continue;
      static_cast<void>(ingest_->open(ingest::StreamId(assignment.id.value()), assignment.from));
      if (!dispatch::is_live(assignment)) ingest_->close(ingest::StreamId(assignment.id.value()));
    }
    if (job_->zero()) watchers_->live().set_zero(*job_->zero());
    for (const std::string& worker : job_->workers_to_ask()) scope_.spawn(orders_.adopt(worker));
  });
  co_return Status{};
}

void JobCoordinator::start() {
  watchers_ = std::make_unique<Watchers>(Watchers::Parts{parts_.runtime, parts_.router, *job_, *ingest_,
                                                         parts_.cluster_view.self(), ingest_life_,
                                                         settings_.watch_pause, settings_.watchers_most});
  next_copy_ = now() + settings_.copy_every;
  scope_.spawn(keep_time(this));
}

task<void> JobCoordinator::close() {
  closing_ = true;
  if (watchers_ != nullptr) watchers_->send_away();
  scope_.cancel();
  co_await scope_.join();
  if (handle_ != nullptr && handle_->held(parts_.runtime.boot_now())) {
    const Status given = co_await handle_->give_back(now() + kMaxGiveBack, nullptr);
    static_cast<void>(given);
  }
  handle_.reset();
}

// --- the kernel at work ----------------------------------------------------------------------------------------------

void JobCoordinator::after(const JobEffects& effects) {
  for (const dispatch::JobEffect& effect : effects) carry_out(effect);
  if (!effects.empty()) watchers_->changed();
  poke();
}

void JobCoordinator::carry_out(const dispatch::JobEffect& effect) {
  namespace fx = dispatch::job_effect;
  if (closing_) return;
  std::visit(Overloaded{
                 [&](const fx::Keep&) {
                   if (!std::exchange(writing_, true)) scope_.spawn(write_on(this));
                   parts_.manager.on_cores_changed();
                 },
                 [&](const fx::Offer& offering) {
                   dispatched_.insert(offering.assignment);
                   scope_.spawn(orders_.offer(offering.assignment));
                 },
                 [&](const fx::Begin& beginning) {
                   open_stream(*job_->find(beginning.assignment));
                   scope_.spawn(orders_.begin(beginning));
                 },
                 [&](const fx::TakeOver& taking) { scope_.spawn(orders_.take_over(taking)); },
                 [&](const fx::HandOver& handing) { scope_.spawn(orders_.hand_over(handing.assignment)); },
                 [&](const fx::OpenStream& open) { open_stream(*job_->find(open.assignment)); },
                 [&](const fx::Scale& scaling) { scope_.spawn(orders_.scale(scaling.assignment)); },
                 [&](const fx::Stop& stopping) { scope_.spawn(orders_.stop(stopping)); },
                 [&](const fx::Deny& denying) {
                   say("worker_silent",
                       fmt::format("job '{}': worker '{}' is silent; its parts move when it holds no permit any more",
                                   id_, denying.silent.worker),
                       true);
                   for (const dispatch::Witness& witness : job_->all_witnesses()) {
                     if (witness != denying.silent) scope_.spawn(orders_.deny(denying, witness));
                   }
                 },
                 [&](const fx::CloseStream& closed) {
                   ingest_->close(ingest::StreamId(closed.assignment.value()));
                   watchers_->live().ended(now(), closed.assignment);
                 },
                 [&](const fx::Conclude&) { scope_.spawn(conclude(this)); },
                 [&](const fx::KeepContext&) {
                   if (!std::exchange(keeping_context_, true)) scope_.spawn(keep_context(this));
                 },
                 [&](const fx::Over&) {
                   over_since_ = parts_.runtime.now();
                   watchers_->live().finish(now());
                   say("job_over", fmt::format("job '{}' is {}", id_, state_format(job_->record())));
                   orders_.retire_all();
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

Instant JobCoordinator::next_deadline() const {
  return std::min({job_->wake(), ingest_->next_deadline(), watchers_->next_deadline(), copy_due()});
}

task<void> JobCoordinator::keep_time(JobCoordinator* self) {
  runtime::Runtime& runtime = self->parts_.runtime;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (!cancel->cancelled()) {
    {
      runtime::Cancellation nap(cancel);
      self->nap_ = &nap;
      // A limit, because the wall clock may be set, and a deadline may come from a clock that was read earlier.
      self->nap_until_ = std::min(self->next_deadline(), self->now() + Duration::seconds(1));
      co_await runtime.sleep_until(self->nap_until_, &nap);
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
    if (self->ingest_->unsafe() && !self->copying_ && self->next_copy_ <= at && self->owned_) {
      self->copying_ = true;
      self->scope_.spawn(copy_on(self));
    }
    self->watchers_->answer(at);
  }
}

// One write at a time, always of the newest record.
task<void> JobCoordinator::write_on(JobCoordinator* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  while (self->owned_ && !cancel->cancelled() && self->written_ < self->job_->record().revision) {
    const uint64_t revision = self->job_->record().revision;
    const Status written = co_await self->write_record(self->job_->record(), self->now() + kWriteLimit);
    if (cancel->cancelled() || !self->owned_) break;
    if (!written) {
      self->say("register",
                fmt::format("the record of job '{}' could not be written: {}", self->id_, written.error().message),
                true);
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
task<Status> JobCoordinator::write_record(const dispatch::JobRecord& record, Instant deadline) {
  BW_CO_TRY(auto bytes, dispatch::encode_record(record));
  if (!bytes.large.empty()) {
    const blobs::Version version{handle_->fence(), ++records_put_};
    BW_CO_RETURN_IF_ERROR(co_await parts_.blobs.put({id_, kRecordBlob}, version, std::move(bytes.large), deadline,
                                                    scope_.cancellation()));
  }
  const auto written = co_await handle_->write(std::move(bytes.value), deadline, scope_.cancellation());
  if (!written) co_return tl::unexpected(written.error().error);
  co_return Status();
}

// --- blobs ----------------------------------------------------------------------------------------------------------

void JobCoordinator::settle(Instant now) {
  if (ingest_->next_deadline() <= now) ingest_->settle(now);
  // A copy takes into the totals what still waited.
  if (std::exchange(judged_, ingest_->seconds()) == ingest_->seconds()) return;
  watchers_->changed_now();
  if (job_->record().stop || job_->over()) return;
  const auto failed = aggregate::abort_due(ingest_->totals());
  if (!failed) return;
  const plan::Threshold& threshold = plan_->thresholds[*failed];
  dispatch::JobStop stop;
  stop.cause = dispatch::JobStop::Cause::kThreshold;
  stop.how = dispatch::StopHow::kGraceful;
  stop.why = fmt::format("threshold {} {} failed", threshold.metric_text, threshold.expression);
  step([&](Instant at, JobEffects& out) { job_->stop(at, stop, {}, out); });
}

task<void> JobCoordinator::copy_on(JobCoordinator* self) {
  // An ingest with assignments that no record has would count them twice: the record goes first.
  if (self->written_ >= self->job_->record().revision) {
    const Status copied = co_await self->snapshot_ingest(self->now() + kCopyLimit);
    if (!copied && self->owned_ && !self->closing_) {
      self->say("ingest",
                fmt::format("job '{}': the statistics could not be copied to other managers: {}", self->id_,
                            copied.error().message),
                true);
    }
    self->next_copy_ = self->now() + self->settings_.copy_every;
  } else {
    self->next_copy_ = self->now() + Duration::millis(50);
  }
  self->copying_ = false;
  self->kept_.changed();
  self->poke();
}

task<Status> JobCoordinator::snapshot_ingest(Instant deadline) {
  const blobs::Version version{handle_->fence(), ++blobs_put_};
  BW_CO_TRY(auto bytes, ingest_->save(now()));
  const Status put =
      co_await parts_.blobs.put({id_, kIngestBlob}, version, std::move(bytes), deadline, scope_.cancellation());
  if (!put) co_return put;
  ingest_->kept();
  say_pressure();
  co_return Status();
}

// The ingest is complete: it is kept for good, and then the job is over.
task<void> JobCoordinator::conclude(JobCoordinator* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  const bool free = co_await self->kept_.wait(
      self->parts_.runtime, [self] { return !self->copying_; }, Instant::never(), cancel);
  if (!free) co_return;
  self->copying_ = true;
  self->ingest_->finish(self->now());
  self->watchers_->changed_now();
  while (self->owned_ && !cancel->cancelled()) {
    const Status copied = co_await self->snapshot_ingest(self->now() + kWriteLimit);
    if (cancel->cancelled() || !self->owned_) co_return;
    if (copied) break;
    if (copied.error().code == Errc::kTooLarge) {
      // It ends all the same: its result exists while this manager keeps it in memory.
      self->step(
          [&](Instant at, JobEffects& out) { self->job_->note(at, "result_not_kept", copied.error().message, out); });
      break;
    }
    self->say("ingest", fmt::format("job '{}': the result could not be stored: {}", self->id_, copied.error().message),
              true);
    co_await self->parts_.runtime.sleep(kAgain, cancel);
  }
  if (!self->owned_ || cancel->cancelled()) co_return;
  self->step([&](Instant at, JobEffects& out) { self->job_->concluded(at, out); });
}

// A finished job needs no owner. A manager that missed the end finds no owner, and learns of the end when it takes the
// register.
task<void> JobCoordinator::let_go(JobCoordinator* self) {
  self->owned_ = false;
  self->kept_.changed();
  const Status given = co_await self->handle_->give_back(self->now() + kMaxGiveBack, nullptr);
  static_cast<void>(given);
}

// --- values between workflows: a quorum keeps them before a dependent workflow begins --------------------------------

// One at a time, always the newest.
task<void> JobCoordinator::keep_context(JobCoordinator* self) {
  runtime::Cancellation* cancel = self->scope_.cancellation();
  uint64_t kept = 0;
  while (self->owned_ && !cancel->cancelled() && kept < self->job_->context().version) {
    const uint64_t version = self->job_->context().version;
    const blobs::BlobKey key{self->id_, kContextBlob};
    const Status put = co_await self->parts_.blobs.put(key, {self->handle_->fence(), version},
                                                       dispatch::encode_context(self->job_->context()),
                                                       self->now() + kWriteLimit, cancel);
    if (cancel->cancelled() || !self->owned_) break;
    if (!put) {
      self->say(
          "context",
          fmt::format("job '{}': values between workflows could not be stored: {}", self->id_, put.error().message),
          true);
      co_await self->parts_.runtime.sleep(kAgain, cancel);
      continue;
    }
    kept = version;
    self->step([&](Instant at, JobEffects& out) { self->job_->context_kept(at, version, out); });
  }
  self->keeping_context_ = false;
}

task<Result<plan::Values>> JobCoordinator::read_context(Instant deadline) {
  const auto& all = plan_->workflows;
  if (std::all_of(all.begin(), all.end(), [](const plan::Workflow& one) { return one.provides.empty(); })) {
    co_return plan::Values{};
  }
  BW_CO_TRY(auto copy,
            co_await parts_.blobs.get({id_, kContextBlob}, handle_->fence(), deadline, scope_.cancellation()));
  if (!copy) co_return plan::Values{};
  co_return dispatch::decode_context(copy->bytes);
}

void JobCoordinator::on_lost(const jobs::LostJob& lost) {
  owned_ = false;
  kept_.changed();
  if (job_ != nullptr && job_->over()) return;
  say("job_lost", fmt::format("this manager no longer owns job '{}': {}", id_, lost.why), true);
  parts_.manager.on_lost(*this);
}

void JobCoordinator::add_cores(std::map<std::string, uint32_t>& asked) const {
  if (job_ == nullptr) return;
  for (const dispatch::AssignmentRecord& assignment : job_->record().assignments) {
    if (dispatch::is_live(assignment)) asked[assignment.worker] += assignment.cores;
  }
}

void JobCoordinator::workers_changed(const std::vector<dispatch::WorkerSight>& workers) {
  if (job_ == nullptr || !owned_ || job_->over()) return;
  step([&](Instant at, JobEffects& out) { job_->workers_changed(at, workers, out); });
}

}  // namespace bellwether::node
