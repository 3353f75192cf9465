#include "jobs/manager/job_orders.h"

#include <algorithm>
#include <utility>

#include "jobs/manager/cluster_view.h"
#include "jobs/manager/job_coordinator.h"

namespace bellwether::node {

using dispatch::AssignmentId;
using dispatch::JobEffects;
using dispatch::OfferAnswer;
using dispatch::Refusal;
using ingest::StreamId;
using runtime::task;
using WhenBusy = cluster::PeerLinks::WhenBusy;

namespace {

constexpr Duration kOfferLimit = Duration::seconds(10);  // the worker prepares the scenario meanwhile
constexpr Duration kTellLimit = Duration::seconds(2);
constexpr Duration kTellAgain = Duration::millis(100);
constexpr Duration kFetchAgain = Duration::millis(200);
constexpr Duration kReadyEvery = Duration::seconds(10);
constexpr Duration kBeginFor = Duration::seconds(10);
constexpr Duration kStopFor = Duration::seconds(30);
constexpr Duration kRetireFor = Duration::minutes(2);

const Refusal* refusal_of(const Result<dispatch::Response>& answer) {
  return answer ? std::get_if<Refusal>(&*answer) : nullptr;
}
bool is_noted(const Result<dispatch::Response>& answer) {
  return answer && std::holds_alternative<dispatch::Noted>(*answer);
}

// By its node, which has too much to do, and did not read it.
bool is_turned_away(const Result<dispatch::Response>& answer) {
  return !answer && answer.error().code == Errc::kExhausted;
}

OfferAnswer meaning_of(const Result<dispatch::Response>& answer) {
  if (is_noted(answer)) return OfferAnswer::kReady;
  const Refusal* refusal = refusal_of(answer);
  if (refusal == nullptr) return is_turned_away(answer) ? OfferAnswer::kBusy : OfferAnswer::kNotNow;
  if (refusal->kind == Refusal::Kind::kBroken) return OfferAnswer::kBroken;
  return refusal->kind == Refusal::Kind::kBusy ? OfferAnswer::kBusy : OfferAnswer::kNotNow;
}

}  // namespace

task<Result<dispatch::Response>> JobOrders::tell(std::string worker, dispatch::JobMessage message, Duration timeout,
                                                 WhenBusy when_busy) {
  const auto at = owner_.parts_.cluster_view.find(worker);
  if (!at) co_return fail(Errc::kUnreachable, "the address of worker '{}' is unknown", worker);
  auto answer =
      co_await ask(owner_.parts_.links, *at, std::move(message), timeout, owner_.scope_.cancellation(), when_busy);
  co_return answer;
}

task<void> JobOrders::offer(AssignmentId id) {
  const dispatch::AssignmentRecord* assignment = owner_.job_->find(id);
  if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kOffered || !owner_.owned_) co_return;
  const std::string worker = assignment->worker;
  dispatch::Offer message{owner_.job_->order(id, owner_.handle_->fence())};
  message.order.files = owner_.files_;
  const auto answer = co_await offer_until_answered(id, worker, message);
  if (owner_.closing_ || !owner_.owned_) co_return;
  // The error names the time after which it may be asked again. It differs each time, and the record has each reason
  // once.
  const std::string why = is_turned_away(answer) ? "its node is busy" : words_of(answer);
  owner_.step([&](Instant at, JobEffects& out) { owner_.job_->offered(at, id, meaning_of(answer), why, out); });
  if (is_noted(answer) && !owner_.files_.empty()) co_await keep_ready(id, worker, std::move(message));
}

task<Result<dispatch::Response>> JobOrders::offer_until_answered(AssignmentId id, std::string worker,
                                                                 dispatch::Offer message) {
  const Duration most = kOfferLimit + dispatch::reading_time(owner_.files_);
  bool given = false;
  // Another worker may run the parts meanwhile, unless it would have to fetch the files, too.
  WhenBusy when_busy = WhenBusy::kFail;
  while (true) {
    auto answer = co_await tell(worker, message, most, when_busy);
    if (owner_.closing_ || !owner_.owned_) co_return answer;
    const Refusal* const refusal = refusal_of(answer);
    if (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown && !std::exchange(given, true)) {
      // It does not have the inputs of the plan.
      const dispatch::BundleMessage bundle{owner_.id_, message.order.bundle, owner_.bundle_};
      auto taken = co_await tell(worker, bundle, kOfferLimit, when_busy);
      if (!is_noted(taken)) co_return taken;
      continue;
    }
    if (!answer || !std::holds_alternative<dispatch::FileState>(*answer)) co_return answer;
    const dispatch::AssignmentRecord* const assignment = owner_.job_->find(id);
    if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kOffered) {
      co_return fail(Errc::kCancelled, "it is not offered any more");
    }
    when_busy = WhenBusy::kWait;
    owner_.step([&](Instant at, JobEffects&) { owner_.job_->preparing(at, id); });
    co_await owner_.parts_.runtime.sleep(kFetchAgain, owner_.scope_.cancellation());
  }
}

// An assignment that is ready waits for those whose workers still fetch: longer than a worker waits without a message.
task<void> JobOrders::keep_ready(AssignmentId id, std::string worker, dispatch::Offer message) {
  while (true) {
    co_await owner_.parts_.runtime.sleep(kReadyEvery, owner_.scope_.cancellation());
    if (owner_.closing_ || !owner_.owned_) co_return;
    const dispatch::AssignmentRecord* const assignment = owner_.job_->find(id);
    if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kReady) co_return;
    owner_.step([&](Instant at, JobEffects&) { owner_.job_->preparing(at, id); });
    const auto answer = co_await tell(worker, message, kTellLimit);
    static_cast<void>(answer);  // its reports say whether it is still there
  }
}

template <class Make, class Take>
task<void> JobOrders::insist(Make make, Take take) {
  while (owner_.owned_ && !owner_.closing_) {
    std::optional<Said> said = make();
    if (!said) co_return;
    const auto answer = co_await tell(std::move(said->worker), std::move(said->message), kTellLimit);
    if (owner_.closing_ || !owner_.owned_ || take(answer)) co_return;
    co_await owner_.parts_.runtime.sleep(kTellAgain, owner_.scope_.cancellation());
  }
}

task<void> JobOrders::begin(dispatch::job_effect::Begin begin) {
  if (!beginning_.insert(begin.assignment).second) co_return;
  const Instant end = owner_.now() + kBeginFor;
  std::optional<std::string> refused;
  co_await insist(
      [&]() -> std::optional<Said> {
        const dispatch::AssignmentRecord* const assignment = owner_.job_->find(begin.assignment);
        if (assignment == nullptr || assignment->state != dispatch::AssignmentState::kRunning) return std::nullopt;
        return Said{assignment->worker, dispatch::BeginMessage{owner_.id_, owner_.handle_->fence(), begin.assignment,
                                                               owner_.now() - begin.clock, begin.resumes,
                                                               assignment->from, assignment->rows}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (refusal_of(answer) != nullptr) refused = words_of(answer);
        return is_noted(answer) || refused || owner_.now() >= end;
      });
  beginning_.erase(begin.assignment);
  if (owner_.closing_ || !owner_.owned_ || !refused) co_return;
  owner_.step([&](Instant at, JobEffects& out) { owner_.job_->not_begun(at, begin.assignment, *refused, out); });
}

task<void> JobOrders::stop(dispatch::job_effect::Stop stop) {
  const dispatch::AssignmentRecord* const assignment = owner_.job_->find(stop.assignment);
  if (assignment == nullptr) co_return;
  const std::string worker = assignment->worker;
  const Instant end = owner_.now() + kStopFor;
  co_await insist(
      [&]() -> std::optional<Said> {
        if (owner_.now() >= end) return std::nullopt;
        return Said{worker, dispatch::StopMessage{owner_.id_, owner_.handle_->fence(), stop.assignment, stop.how,
                                                  stop.why, stop.evict}};
      },
      [&](const Result<dispatch::Response>& answer) { return answer || owner_.parts_.cluster_view.is_gone(worker); });
}

// Until it knows the number of the record, even if that changes meanwhile.
task<void> JobOrders::scale(AssignmentId id) {
  if (!scaling_.insert(id).second) co_return;
  uint32_t vus = 0;
  const auto wanted = [&]() -> std::optional<uint32_t> {
    const dispatch::AssignmentRecord* const assignment = owner_.job_->find(id);
    if (assignment == nullptr || !dispatch::is_live(*assignment) ||
        assignment->state == dispatch::AssignmentState::kStopping)
      return {};
    return owner_.job_->record().workflows[assignment->workflow].vus;
  };
  co_await insist(
      [&]() -> std::optional<Said> {
        const std::optional<uint32_t> now = wanted();
        if (!now) return std::nullopt;
        vus = *now;
        return Said{owner_.job_->find(id)->worker,
                    dispatch::ScaleMessage{owner_.id_, owner_.handle_->fence(), id, vus}};
      },
      [&](const Result<dispatch::Response>& answer) {
        return refusal_of(answer) != nullptr || (answer && wanted() == vus);
      });
  scaling_.erase(id);
}

// Until it has answered, or is not to take over any more.
task<void> JobOrders::take_over(dispatch::job_effect::TakeOver taking) {
  co_await insist(
      [&]() -> std::optional<Said> {
        const dispatch::AssignmentRecord* const assignment = owner_.job_->find(taking.assignment);
        if (assignment == nullptr) return std::nullopt;
        const bool runs = assignment->state == dispatch::AssignmentState::kRunning && !assignment->end;
        if (taking.go ? !runs : !owner_.job_->is_spare(*assignment)) return std::nullopt;
        return Said{assignment->worker, dispatch::TakeOverMessage{owner_.id_, owner_.handle_->fence(),
                                                                  taking.assignment, owner_.now() - taking.clock,
                                                                  assignment->from, !taking.go, assignment->rows}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (!answer) return false;
        owner_.step([&](Instant at, JobEffects& out) {
          if (is_noted(answer)) return owner_.job_->taken_over(at, taking.assignment, out);
          owner_.job_->not_begun(at, taking.assignment, words_of(answer), out);
        });
        return true;
      });
}

// Until it has answered, or is dead: its answer decides who runs its parts.
task<void> JobOrders::hand_over(AssignmentId id) {
  const dispatch::AssignmentRecord* const known = owner_.job_->find(id);
  const uint64_t until = known == nullptr ? 0 : known->until;
  co_await insist(
      [&]() -> std::optional<Said> {
        const dispatch::AssignmentRecord* const assignment = owner_.job_->find(id);
        if (assignment == nullptr || !dispatch::is_live(*assignment) || assignment->handed_over ||
            assignment->until != until)
          return {};
        return Said{assignment->worker, dispatch::HandOverMessage{owner_.id_, owner_.handle_->fence(), id, until}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (!answer) return false;
        owner_.step([&](Instant at, JobEffects& out) {
          if (is_noted(answer)) return owner_.job_->handed_over(at, id, until, out);
          owner_.job_->kept_on(at, id, words_of(answer), out);
        });
        return true;
      });
}

task<void> JobOrders::adopt(std::string worker) {
  std::string told;
  uint64_t life = 0;
  co_await insist(
      [&]() -> std::optional<Said> {
        const auto& assignments = owner_.job_->record().assignments;
        // The last one: its life is the newest. Of an ended one only its values for others and the clock of the run are
        // wanted, and not for long.
        const auto mine =
            std::find_if(assignments.rbegin(), assignments.rend(), [&](const dispatch::AssignmentRecord& assignment) {
              return assignment.worker == worker && (dispatch::is_live(assignment) || owner_.job_->asks(worker));
            });
        if (mine == assignments.rend()) return std::nullopt;
        life = mine->life;
        dispatch::AdoptMessage message{owner_.id_, owner_.handle_->fence(), {}};
        for (const dispatch::AssignmentRecord& assignment : assignments) {
          if (assignment.worker != worker || assignment.life != life) continue;
          message.streams.push_back({assignment.id, owner_.ingest_->applied(StreamId(assignment.id.value()))});
        }
        return Said{worker, std::move(message)};
      },
      [&](const Result<dispatch::Response>& answer) {
        const auto* adopted = answer ? std::get_if<dispatch::Adopted>(&*answer) : nullptr;
        const Refusal* refusal = refusal_of(answer);
        if (adopted != nullptr || (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown)) {
          const std::vector<dispatch::AssignmentSight> sights =
              adopted != nullptr ? adopted->assignments : std::vector<dispatch::AssignmentSight>();
          for (const dispatch::AssignmentSight& sight : sights) {
            const dispatch::AssignmentRecord* const known = owner_.job_->find(sight.assignment);
            if (sight.clock != Duration::zero() && known != nullptr && !owner_.job_->is_spare(*known)) {
              static_cast<void>(owner_.ingest_->open(StreamId(sight.assignment.value()), sight.from));
            }
          }
          owner_.step([&](Instant at, JobEffects& out) { owner_.job_->sighted(at, worker, life, sights, out); });
          return true;
        }
        if (refusal != nullptr && refusal->why != told) {
          told = refusal->why;
          owner_.say("not_adopted", fmt::format("worker '{}' does not list its assignments: {}", worker, told), true);
        }
        // What it may run moves when it holds no permit any more.
        if (owner_.parts_.cluster_view.is_gone(worker)) owner_.doubted(worker, "it is gone");
        return false;
      });
}

void JobOrders::retire_all() {
  std::set<std::string> told;
  for (const dispatch::AssignmentRecord& assignment : owner_.job_->record().assignments) {
    if (told.insert(assignment.worker).second) owner_.scope_.spawn(retire(assignment.worker));
  }
}

// A worker that does not receive it deletes the job by itself, later.
task<void> JobOrders::retire(std::string worker) {
  const Instant end = owner_.now() + kRetireFor;
  Duration pause = kTellAgain;
  while (!owner_.closing_ && owner_.now() < end && !owner_.parts_.cluster_view.is_gone(worker)) {
    const dispatch::RetireMessage message{owner_.id_, owner_.handle_->fence()};
    const auto answer = co_await tell(worker, message, kTellLimit);
    if (answer) co_return;
    co_await owner_.parts_.runtime.sleep(pause, owner_.scope_.cancellation());
    pause = std::min(pause * 2, Duration::seconds(5));
  }
}

// Asks one witness of a silent worker, until it has answered or the worker is heard or gone.
task<void> JobOrders::deny(dispatch::job_effect::Deny deny, dispatch::Witness witness) {
  std::optional<Duration> rest;
  co_await insist(
      [&]() -> std::optional<Said> {
        if (!owner_.job_->wants(deny)) return std::nullopt;
        return Said{witness.worker,
                    dispatch::DenyMessage{owner_.id_, owner_.handle_->fence(), witness.life, deny.silent, deny.last}};
      },
      [&](const Result<dispatch::Response>& answer) {
        if (const auto* denied = answer ? std::get_if<dispatch::Denied>(&*answer) : nullptr) rest = denied->rest;
        // Another process has its name: that one has ended, and gives permits no more.
        const Refusal* const refusal = refusal_of(answer);
        if (refusal != nullptr && refusal->kind == Refusal::Kind::kUnknown) rest = owner_.job_->rules().permit / 2;
        return rest.has_value();
      });
  if (!rest || owner_.closing_ || !owner_.owned_ || !owner_.job_->wants(deny)) co_return;
  owner_.step([&](Instant at, JobEffects& out) { owner_.job_->denied(at, deny.silent, witness, *rest, out); });
}

}  // namespace bellwether::node
