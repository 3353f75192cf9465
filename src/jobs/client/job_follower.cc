#include "jobs/client/job_follower.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/node/dialling.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/messages_codec.h"
#include "load/codec/window_codec.h"

namespace bellwether::node {

using dispatch::Refusal;
using runtime::task;

namespace {

constexpr Duration kTry = Duration::seconds(5);
constexpr Duration kSubmitTry = Duration::seconds(7);        // managers ask a quorum first, for 5 s at most
constexpr Duration kTellingTry = Duration::seconds(1);       // a manager without an answer for so long is silent
constexpr Duration kUnconfirmedTry = Duration::seconds(15);  // the manager waits for nodes that do not answer
constexpr Duration kShortestPause = Duration::millis(50);
constexpr Duration kLongestPause = Duration::seconds(1);
constexpr Duration kMaxClose = Duration::millis(200);
constexpr Duration kMaxIdle = Duration::seconds(60);
// It pauses between its attempts by itself, and should soon notice that a manager is back.
constexpr resilience::BreakerSettings kBreakers{.open_for = Duration::seconds(1)};

bool passes(Refusal::Kind kind) {
  return kind == Refusal::Kind::kNotOwner || kind == Refusal::Kind::kNotLeader || kind == Refusal::Kind::kUnavailable ||
         kind == Refusal::Kind::kBusy;
}

Errc code_of(Refusal::Kind kind) {
  if (passes(kind)) return Errc::kExhausted;
  if (kind == Refusal::Kind::kUnknown) return Errc::kNotFound;
  return kind == Refusal::Kind::kConflict ? Errc::kExists : Errc::kRefused;
}

// The timeout of one attempt: a manager holds some requests up to the time that they give.
Duration answer_most(const dispatch::JobMessage& message) {
  if (std::holds_alternative<dispatch::Submit>(message)) return kSubmitTry;
  if (std::holds_alternative<dispatch::FetchUnconfirmed>(message)) return kUnconfirmedTry;
  if (const auto* watch = std::get_if<dispatch::Watch>(&message)) return kTry + watch->wait;
  if (const auto* live = std::get_if<dispatch::WatchLive>(&message)) return kTry + live->wait;
  return kTry;
}

// A machine that refuses a connection is no manager that refuses a request.
Errc code_of_link(Errc code) { return code == Errc::kRefused ? Errc::kUnreachable : code; }

}  // namespace

std::string text_of(std::span<const SilentManager> silent, std::size_t all, Instant now) {
  if (silent.empty()) return {};
  std::string names;
  for (const SilentManager& one : silent) {
    names += fmt::format("{}{} (for {}: {})", names.empty() ? "" : ", ", one.place, format_duration(now - one.since),
                         one.why);
  }
  if (silent.size() * 2 < all) return "no answer from " + names;
  return fmt::format("no answer from {}; a job needs a majority of the managers: start these again{}", names,
                     silent.size() == all ? ", or correct their addresses or the secret" : "");
}

Result<std::unique_ptr<JobClient>> JobClient::make(runtime::Runtime& runtime, const cluster::NodeConfig& config,
                                                   wire::Keyring keyring, Settings settings) {
  if (settings.managers.empty())
    return fail(Errc::kInvalid, "the cluster settings name no manager; add `seeds: [HOST:PORT, …]` to them");
  BW_TRY(auto dialling, dialling_as(config, settings.name, settings.role));
  return std::unique_ptr<JobClient>(
      new JobClient(runtime, std::move(dialling), std::move(keyring), std::move(settings)));
}

JobClient::JobClient(runtime::Runtime& runtime, link::DialSettings dialling, wire::Keyring keyring, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      keyring_(std::move(keyring)),
      dialling_(std::move(dialling)),
      silent_(settings_.managers.size()),
      links_(runtime, dialling_, keyring_, router_, refusals_, {}, kMaxIdle, kBreakers) {}

void JobClient::unheard(std::size_t manager, const std::string& why) {
  if (silent_[manager]) return;
  const HostPort& place = settings_.managers[manager];
  silent_[manager] = {to_string(place), std::string(without_place(place, why)), runtime_.read_clock()};
}

Error JobClient::given_up(Error last, bool refused) const {
  std::vector<SilentManager> silent;
  for (const std::optional<SilentManager>& one : silent_) {
    if (one) silent.push_back(*one);
  }
  const std::string who = text_of(silent, silent_.size(), runtime_.read_clock());
  if (!who.empty()) last.message = refused ? last.message + "; " + who : who;
  return last;
}

task<Result<dispatch::Response>> JobClient::ask(dispatch::JobMessage message, Instant deadline,
                                                runtime::Cancellation* cancel, Instant retry_until) {
  const Duration one_try = answer_most(message);
  const std::string body = dispatch::encode(message);
  Duration pause = kShortestPause;
  Error last{Errc::kTimeout, "no manager was asked"};
  std::size_t tried = 0;
  bool refused = false;  // by a manager, which says more than that another one is out of reach
  // Silent managers may take all of the time: one that answers comes before them.
  const std::size_t all = settings_.managers.size();
  std::size_t manager = next_;
  for (std::size_t i = 0; i < all && silent_[manager]; ++i) manager = (manager + 1) % all;
  while (cancel == nullptr || !cancel->cancelled()) {
    const HostPort place = settings_.managers[manager];
    const auto addresses = co_await runtime_.resolve(place.host, cancel);
    Duration wait;
    if (addresses) {
      const cluster::PeerAddress to{{}, {addresses->front(), place.port}};
      const Instant now = runtime_.read_clock();
      const Duration left = deadline == Instant::never() ? one_try : std::min(one_try, deadline - now);
      const auto answer =
          co_await links_.request(to, cluster::message_type::kDispatch, wire::Priority::kControl, body, left, cancel);
      if (answer) {
        BW_CO_TRY(auto decoded, dispatch::decode_response(*answer));
        answered_by_ = to_string(place);
        silent_[manager].reset();
        const auto* refusal = std::get_if<Refusal>(&decoded);
        if (refusal == nullptr) co_return decoded;
        refused = true;
        last = {code_of(refusal->kind), refusal->why.empty() ? std::string(to_string(refusal->kind)) : refusal->why};
        if (!passes(refusal->kind)) co_return tl::unexpected(last);
        wait = refusal->again_after;
      } else {
        // An attempt that the deadline cuts short says less than the earlier ones.
        const bool cut_short = answer.error().code == Errc::kTimeout && left < one_try && tried > 0;
        const Error unheard{code_of_link(answer.error().code),
                            fmt::format("{}: {}", to_string(place), answer.error().message)};
        if (!cut_short && !refused) last = unheard;
        const bool known = unheard.code == Errc::kUnsupported || unheard.code == Errc::kTooLarge;
        if (known) co_return tl::unexpected(unheard);
        if (!cut_short || left >= kTellingTry) this->unheard(manager, answer.error().message);
      }
    } else {
      if (!refused) last = {addresses.error().code, addresses.error().message};
      unheard(manager, addresses.error().message);
    }
    manager = (manager + 1) % all;
    next_ = manager;
    // It tries all of them before it waits.
    if (++tried % all == 0 || wait > Duration::zero()) {
      const Duration nap = std::max(wait, Duration::nanos(runtime_.prng().between(pause.ns() / 2, pause.ns())));
      pause = std::min(pause * 2, kLongestPause);
      if (runtime_.read_clock() + nap >= std::min(deadline, retry_until)) {
        co_return tl::unexpected(given_up(std::move(last), refused));
      }
      co_await runtime_.sleep(nap, cancel);
    }
  }
  co_return fail(Errc::kCancelled, "the request was cancelled");
}

task<void> JobClient::close() { co_await links_.close(kMaxClose); }

using runtime::task;

task<Result<bool>> JobFollower::next(Duration wait, Instant deadline, runtime::Cancellation* cancel,
                                     Instant retry_until) {
  dispatch::Watch message;
  message.job = job_;
  message.revision = record_.revision;
  message.seconds = seconds_;
  message.life = life_;
  message.wait = wait;
  message.live_every = live_every_;
  BW_CO_TRY(const auto answer, co_await client_.ask(message, deadline, cancel, retry_until));
  const auto* watched = std::get_if<dispatch::Watched>(&answer);
  if (watched == nullptr) co_return fail(Errc::kProtocol, "a manager's answer does not match the request");
  const bool news = watched->record.revision != record_.revision || watched->life != life_ ||
                    watched->seconds != seconds_ || watched->final != final_ ||
                    (live_every_ > Duration::zero() && watched->live != live_);
  BW_CO_RETURN_IF_ERROR(take(*watched));
  co_return news;
}

task<Status> JobFollower::fetch_unconfirmed(Instant deadline, runtime::Cancellation* cancel) {
  BW_CO_TRY(const auto answer, co_await client_.ask(dispatch::FetchUnconfirmed{job_}, deadline, cancel));
  const auto* watched = std::get_if<dispatch::Watched>(&answer);
  if (watched == nullptr) co_return fail(Errc::kProtocol, "a manager's answer does not match the request");
  BW_CO_TRY(auto state, ingest::decode_totals(watched->totals, plan_));
  auto totals = aggregate::Totals::restore(plan_, std::move(state));
  const auto amount = [](const aggregate::Totals& one) {
    const aggregate::Counts counts = one.counts();
    return std::pair(counts.requests + counts.iterations, one.elapsed());
  };
  final_ = watched->final;
  if (!final_ && amount(totals) < amount(totals_)) co_return Status();
  totals_ = std::move(totals);
  if (watched->record.revision >= record_.revision) record_ = watched->record;
  if (observer_) observer_->on_whole();
  co_return Status();
}

Status JobFollower::take(const dispatch::Watched& watched) {
  if (Status added = add(watched); !added) {
    // Half of it may be in the totals: the next answer must bring all of them.
    life_ = 0;
    seconds_ = 0;
    return added;
  }
  record_ = watched.record;
  owner_ = watched.owner;
  position_ = watched.position;
  life_ = watched.life;
  seconds_ = watched.seconds;
  live_ = watched.live;
  final_ = watched.final;
  return {};
}

Status JobFollower::add(const dispatch::Watched& watched) {
  if (!watched.totals.empty()) {
    BW_TRY(auto state, ingest::decode_totals(watched.totals, plan_));
    totals_ = aggregate::Totals::restore(plan_, std::move(state));
    if (observer_) observer_->on_whole();
  }
  const metrics::Shape shape = aggregate::shape_of(plan_);
  for (const dispatch::SecondOver& second : watched.news) {
    BW_TRY(const auto window, ingest::decode_window(second.window, shape));
    if (second.amends) {
      totals_.amend(window);
    } else {
      totals_.add(window, second.covered);
    }
    if (observer_) observer_->on_second(window, second.covered, second.amends);
  }
  return {};
}

Duration ran_of(const dispatch::JobRecord& record, std::size_t workflow) {
  Duration ran;
  for (const dispatch::AssignmentRecord& assignment : record.assignments) {
    if (assignment.workflow == workflow && assignment.end) ran = std::max(ran, assignment.end->ran);
  }
  return ran;
}

namespace {

// Before its planned end; false for the teardown, and for the setup of a run that is stopped later.
bool was_stopped(const dispatch::JobRecord& record, std::size_t workflow) {
  const bool before_its_end = record.stop && record.stop->cause != dispatch::JobStop::Cause::kPlanned;
  return before_its_end && std::any_of(record.assignments.begin(), record.assignments.end(),
                                       [&](const dispatch::AssignmentRecord& assignment) {
                                         return assignment.workflow == workflow && assignment.end &&
                                                (assignment.end->outcome == dispatch::AssignmentOutcome::kStopped ||
                                                 assignment.end->outcome == dispatch::AssignmentOutcome::kAborted);
                                       });
}

report::WorkflowState state_of(const dispatch::JobRecord& record, std::size_t workflow) {
  using dispatch::WorkflowState;
  const dispatch::WorkflowRecord& one = record.workflows[workflow];
  const Duration ran = ran_of(record, workflow);
  const uint32_t cores = one.begun ? one.parts : 0;
  switch (one.state) {
    case WorkflowState::kCompleted: return {was_stopped(record, workflow) ? "stopped" : "completed", "", ran, cores};
    case WorkflowState::kFailed: return {"failed", "", ran, cores};
    case WorkflowState::kCancelled: return {"cancelled", "", ran, cores};
    case WorkflowState::kTimedOut: return {"timed_out", "", ran, cores};
    case WorkflowState::kSkipped: return {"skipped", one.why, ran, cores};
    case WorkflowState::kPending:
    case WorkflowState::kAssigned:
    case WorkflowState::kRunning:
    case WorkflowState::kRetrying: break;
  }
  return {one.begun ? "stopped" : "skipped", one.begun ? "" : "the job did not reach this workflow", ran, cores};
}

// When an assignment stopped using its cores, since the start of the run; never: it is not known to have stopped.
Duration end_of(const dispatch::JobRecord& record, const dispatch::AssignmentRecord& assignment) {
  const auto seconds = [](uint64_t count) { return Duration::seconds(static_cast<int64_t>(count)); };
  if (assignment.end) return seconds(record.workflows[assignment.workflow].base_second) + assignment.end->ran;
  if (assignment.state == dispatch::AssignmentState::kGone) return assignment.lost_from;
  return assignment.until != 0 ? seconds(assignment.until) : Duration::max();
}

// The cores that assignments take and give back. At equal times, the end of one comes before the begin of the next.
using CoreUse = std::vector<std::pair<Duration, int64_t>>;

uint32_t most_at_once(CoreUse use) {
  std::sort(use.begin(), use.end());
  int64_t now = 0;
  int64_t most = 0;
  for (const auto& [at, change] : use) most = std::max(most, now += change);
  return static_cast<uint32_t>(most);
}

}  // namespace

std::vector<dispatch::JobEvent> events_of(const dispatch::JobRecord& record) {
  std::vector<dispatch::JobEvent> out = record.events;
  const std::size_t from = std::min(dispatch::kMaxJobEvents / 2, out.size());
  if (record.events_dropped == 0 || from == out.size()) return out;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(from),
             {out[from].at, "events_left_out",
              fmt::format("{} from here on are left out", format_count(record.events_dropped, "event"))});
  return out;
}

report::Course course_of(const dispatch::JobRecord& record) {
  using dispatch::JobState;
  using dispatch::JobStop;
  report::Course course;
  course.run_id = record.id;
  course.started_at = record.started.unix_ns != 0 ? record.started : record.submitted;
  course.elapsed = record.elapsed;
  course.losses = record.losses;
  course.findings = record.findings;
  for (const dispatch::JobEvent& event : events_of(record))
    course.events.push_back({event.at, event.kind, event.detail});
  std::map<std::string, report::Worker> workers;
  std::set<std::string> stayed;  // with an assignment that they ran to its end
  std::map<std::string, CoreUse> use;
  CoreUse all;
  for (const dispatch::AssignmentRecord& assignment : record.assignments) {
    if (!assignment.streams) continue;
    report::Worker& one = workers[assignment.worker];
    one.name = assignment.worker;
    const Duration from = Duration::seconds(static_cast<int64_t>(assignment.from));
    const auto cores = static_cast<int64_t>(assignment.cores);
    for (CoreUse* each : {&use[assignment.worker], &all}) {
      each->emplace_back(from, cores);
      each->emplace_back(std::max(from, end_of(record, assignment)), -cores);
    }
    ++one.assignments;
    if (!assignment.handed_over) stayed.insert(assignment.worker);
    if (assignment.state != dispatch::AssignmentState::kGone || one.state == report::WorkerState::kLost) continue;
    one.state = has_left(assignment) ? report::WorkerState::kDrained : report::WorkerState::kLost;
  }
  for (auto& [name, worker] : workers) {
    if (!stayed.contains(name) && worker.state != report::WorkerState::kLost) {
      worker.state = report::WorkerState::kDrained;
    }
    worker.cores = most_at_once(std::move(use[name]));
    course.workers.push_back(std::move(worker));
  }
  course.cores = static_cast<int>(std::max(most_at_once(std::move(all)), 1U));
  for (std::size_t w = 0; w < record.workflows.size(); ++w) course.workflows.push_back(state_of(record, w));
  if (record.stop) {
    course.why = record.stop->why;
    switch (record.stop->cause) {
      case JobStop::Cause::kCancelled: course.ending = aggregate::Ending::kCancelled; break;
      case JobStop::Cause::kThreshold: course.ending = aggregate::Ending::kThreshold; break;
      case JobStop::Cause::kOnError: course.ending = aggregate::Ending::kOnError; break;
      case JobStop::Cause::kTimeout: course.ending = aggregate::Ending::kTimeout; break;
      case JobStop::Cause::kPlanned: break;
    }
  } else if (record.state == JobState::kFailed && course.workers.empty()) {
    course.ending = aggregate::Ending::kNotRun;
    course.why = record.why;
  } else {
    for (const dispatch::WorkflowRecord& workflow : record.workflows) {
      if (workflow.state != dispatch::WorkflowState::kTimedOut || !plan::is_timeout_text(workflow.why)) continue;
      course.ending = aggregate::Ending::kWorkflowTimeout;
      course.why = workflow.why;
    }
  }
  return course;
}

report::Course unconfirmed_course(const dispatch::JobRecord& record, const aggregate::Totals& totals, std::string why) {
  report::Course course = course_of(record);
  course.unconfirmed = std::move(why);
  course.elapsed = totals.elapsed();
  for (report::Worker& one : course.workers) {
    if (one.state == report::WorkerState::kCompleted) one.state = report::WorkerState::kUnconfirmed;
  }
  course.workflows.resize(totals.plan().workflows.size(), {"unconfirmed", "", Duration::zero(), 0});
  for (std::size_t w = 0; w < record.workflows.size(); ++w) {
    const dispatch::WorkflowRecord& one = record.workflows[w];
    if (dispatch::is_final(one.state)) continue;
    const Duration begun = Duration::seconds(static_cast<int64_t>(one.base_second));
    const Duration ran = one.begun ? std::max(course.elapsed - begun, Duration::zero()) : Duration::zero();
    course.workflows[w] = {"unconfirmed", "", ran, one.begun ? one.parts : 0};
  }
  return course;
}

}  // namespace bellwether::node
