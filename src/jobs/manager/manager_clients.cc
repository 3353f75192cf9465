// Requests of clients to a manager, and requests of other managers for their clients.

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/job_record_codec.h"
#include "jobs/manager/cluster_view.h"
#include "jobs/manager/manager_service.h"
#include "jobs/manager/unconfirmed.h"

namespace bellwether::node {

using dispatch::Refusal;
using dispatch::refusal;
using runtime::task;

namespace {

std::string no_job(const std::string& job) {
  return fmt::format("there is no job '{}'; `bellwether job list` lists the jobs", job);
}

constexpr Duration kMaxForward = Duration::seconds(40);  // a watcher may wait for most of it
constexpr Duration kMaxFetch = Duration::seconds(10);
// Of all managers together, for a request that none of them holds back: a client waits a little longer for its answer.
constexpr Duration kMaxAround = Duration::seconds(4);
constexpr std::size_t kMaxList = 1'000;
constexpr Duration kSoon = Duration::millis(200);

struct JobOf {
  std::string operator()(const dispatch::Submit& message) const { return message.job; }
  std::string operator()(const dispatch::Watch& message) const { return message.job; }
  std::string operator()(const dispatch::WatchLive& message) const { return message.job; }
  std::string operator()(const dispatch::Cancel& message) const { return message.job; }
  std::string operator()(const dispatch::Scale& message) const { return message.job; }
  std::string operator()(const dispatch::FetchBundle& message) const { return message.job; }
  std::string operator()(const dispatch::FetchUnconfirmed& message) const { return message.job; }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

// Why no quorum decides; names the managers that are gone.
std::string no_leader(const ClusterView& view) {
  std::string gone;
  for (const ClusterView::Neighbour& one : view.neighbours()) {
    if (one.manager && !one.there) gone += fmt::format("{}'{}'", gone.empty() ? "" : ", ", one.name);
  }
  return "no manager is the leader at the moment" + (gone.empty() ? gone : "; gone are " + gone);
}

client::Moment moment_of(WallTime at) { return client::Moment(std::chrono::nanoseconds(at.unix_ns)); }

dispatch::JobLine line_of(const dispatch::JobRecord& record, std::string owner) {
  return {record.id,
          record.name,
          record.by,
          record.state,
          record.why,
          moment_of(record.submitted),
          moment_of(record.started),
          moment_of(record.ended),
          std::move(owner)};
}

}  // namespace

void ManagerService::handle_client_message(const Caller& caller, dispatch::JobMessage message) {
  const auto now_answer = [&](const dispatch::Response& response) {
    respond(parts_.router, *caller.connection, caller.id, response);
  };
  if (std::holds_alternative<dispatch::ListJobs>(message)) {
    // Without a quorum, other managers may have jobs that this one does not know.
    if (!parts_.cluster_view.leader_name().empty()) return now_answer(list());
    return now_answer(refusal(Refusal::Kind::kUnavailable, no_leader(parts_.cluster_view), kSoon));
  }
  if (std::holds_alternative<dispatch::ListWorkers>(message)) {
    return now_answer(dispatch::WorkerList{registry_.lines(parts_.runtime.now())});
  }
  if (std::holds_alternative<dispatch::ListDatacenters>(message)) {
    const ClusterView& around = parts_.cluster_view;
    return now_answer(dispatch::DatacenterList{
        datacenters_of(around.neighbours(), around.leader_name(), registry_.lines(parts_.runtime.now()))});
  }
  const std::string job = std::visit(JobOf{}, message);
  if (job.empty()) return now_answer(refusal(Refusal::Kind::kInvalid, "a manager does not handle this message"));
  JobCoordinator* const coordinator = owned(job);
  const KnownJobs::Known* const record = known_.find(job);
  const bool finished = coordinator == nullptr && record != nullptr && record->ended();
  if (auto* submitted = std::get_if<dispatch::Submit>(&message)) {
    if (coordinator == nullptr && record == nullptr && !parts_.cluster_view.leads()) {
      const std::string leader = parts_.cluster_view.leader_name();
      if (leader.empty() || caller.role == wire::Role::kManager) {
        // Without a quorum no manager leads.
        const std::string name = leader.empty() ? std::string(kQuorumUnavailable) + ": " : std::string();
        return now_answer(refusal(Refusal::Kind::kNotLeader, name + no_leader(parts_.cluster_view), kSoon));
      }
      if (const Ticket ticket = keep(caller)) scope_.spawn(forward(this, ticket, leader, std::move(message)));
      return;
    }
    if (const Ticket ticket = keep(caller)) scope_.spawn(submit(this, ticket, std::move(*submitted)));
    return;
  }
  if (finished || (coordinator != nullptr && coordinator->over())) {
    if (const auto* watched = std::get_if<dispatch::Watch>(&message)) {
      if (coordinator != nullptr) return coordinator->watch(*caller.connection, caller.id, *watched);
      if (const Ticket ticket = keep(caller)) scope_.spawn(show_finished(this, ticket, *watched));
      return;
    }
    if (const auto* live = std::get_if<dispatch::WatchLive>(&message)) {
      if (coordinator != nullptr) return coordinator->watch(*caller.connection, caller.id, *live);
      const std::string owner = caller.role == wire::Role::kManager ? std::string() : known_.last_owner_of(job);
      if (const Ticket ticket = keep(caller)) scope_.spawn(show_last_windows(this, ticket, owner, *live));
      return;
    }
    if (std::holds_alternative<dispatch::Cancel>(message) || std::holds_alternative<dispatch::Scale>(message)) {
      const dispatch::JobState state = coordinator != nullptr ? coordinator->record().state : record->record.state;
      return now_answer(
          refusal(Refusal::Kind::kConflict, fmt::format("job '{}' has ended; its state is {}", job, to_string(state))));
    }
  }
  if (const auto* wanted = std::get_if<dispatch::FetchBundle>(&message)) {
    if (coordinator != nullptr) {
      return now_answer(
          dispatch::BundleMessage{job, dispatch::bundle_hash(coordinator->bundle()), coordinator->bundle()});
    }
    if (const Ticket ticket = keep(caller)) scope_.spawn(show_bundle(this, ticket, *wanted));
    return;
  }
  if (std::holds_alternative<dispatch::FetchUnconfirmed>(message)) {
    dispatch::Watch whole;
    whole.job = job;
    if (coordinator != nullptr) return coordinator->watch(*caller.connection, caller.id, whole);
    // Another manager may know it.
    if (record == nullptr || !record->readable) return now_answer(refusal(Refusal::Kind::kUnavailable, no_job(job)));
    if (const Ticket ticket = keep(caller)) {
      scope_.spawn(answer_later(this, ticket,
                                fetch_unconfirmed(parts_.runtime, parts_.links, parts_.cluster_view, parts_.blobs,
                                                  *record, scope_.cancellation())));
    }
    return;
  }
  if (coordinator != nullptr && coordinator->owned()) {
    if (const auto* watched = std::get_if<dispatch::Watch>(&message)) {
      return coordinator->watch(*caller.connection, caller.id, *watched);
    }
    if (const auto* live = std::get_if<dispatch::WatchLive>(&message)) {
      return coordinator->watch(*caller.connection, caller.id, *live);
    }
    if (const Ticket ticket = keep(caller)) {
      scope_.spawn(change(this, ticket, job, std::move(message)));
    }
    return;
  }
  // A manager that has just begun must not deny a job: clients would believe it.
  if (record == nullptr && !parts_.view.has_read()) {
    return now_answer(refusal(Refusal::Kind::kUnavailable, "this manager has not read its registers yet", kSoon));
  }
  if (caller.role == wire::Role::kManager) {
    if (record == nullptr) return now_answer(refusal(Refusal::Kind::kUnknown, no_job(job)));
    Refusal out = not_mine(job);
    out.again_after = Duration::millis(200);
    return now_answer(out);
  }
  const Ticket ticket = keep(caller);
  if (ticket == 0) return;
  const std::string owner = record != nullptr ? known_.owner_of(job) : std::string();
  if (owner.empty() || owner == parts_.cluster_view.self()) {
    scope_.spawn(ask_around(this, ticket, job, std::move(message)));
  } else {
    scope_.spawn(forward(this, ticket, owner, std::move(message)));
  }
}

uint32_t ManagerService::queued() const {
  uint32_t sum = 0;
  for (const auto& [id, coordinator] : coordinators_) sum += coordinator->wants_cores() ? 1 : 0;
  return sum;
}

task<void> ManagerService::submit(ManagerService* self, Ticket ticket, dispatch::Submit message) {
  const std::string id = message.job;
  const std::string hash = dispatch::bundle_hash(message.bundle);
  // The same client may ask twice; the second request waits for the first.
  co_await self->jobs_changed_.wait(
      self->parts_.runtime, [self, &id] { return !self->busy_.contains(id) || self->closing_; }, Instant::never(),
      self->scope_.cancellation());
  if (self->closing_) co_return;
  const JobCoordinator* const there = self->owned(id);
  const KnownJobs::Known* const record = there == nullptr ? self->known_.find(id) : nullptr;
  if (there != nullptr || (record != nullptr && record->readable)) {
    const dispatch::JobRecord& known = there != nullptr ? there->record() : record->record;
    // A minority may have accepted a first record from which no owner continues.
    if (known.bundle == hash && there == nullptr && known.revision <= 1) {
      BW_PROBE("manager: nobody knows yet whether a job was taken");
      co_return self->answer(
          ticket, refusal(Refusal::Kind::kUnavailable, fmt::format("no manager owns job '{}' yet", id), kSoon));
    }
    if (known.bundle == hash) {
      co_return self->answer(ticket, dispatch::Submitted{id, known.state, 0});
    }
    co_return self->answer(
        ticket, refusal(Refusal::Kind::kConflict, fmt::format("another job has the id '{}'; choose another id", id)));
  }
  if (self->queued() >= self->settings_.queue_most || self->coordinators_.size() >= self->settings_.jobs_most) {
    co_return self->answer(
        ticket, refusal(Refusal::Kind::kBusy, fmt::format("{} jobs are waiting for cores, the limit", self->queued()),
                        Duration::seconds(10)));
  }
  if (!self->quorum_.allow(self->parts_.runtime.now())) {
    const Duration left = std::max(self->quorum_again(), kSoon);
    co_return self->answer(
        ticket, refusal(Refusal::Kind::kUnavailable,
                        fmt::format("{}: no quorum confirmed the jobs before this one; the next attempt is in {}",
                                    kQuorumCircuitOpen, format_duration(left)),
                        left));
  }
  self->busy_.insert(id);
  auto coordinator = std::make_shared<JobCoordinator>(self->coordinator_parts(), self->settings_.coordinator, id);
  dispatch::Response answer = co_await coordinator->submit(std::move(message));
  auto* done = std::get_if<dispatch::Submitted>(&answer);
  const auto* refused = std::get_if<Refusal>(&answer);
  if (refused != nullptr && refused->kind == Refusal::Kind::kUnavailable) {
    self->quorum_.failed(self->parts_.runtime.now());
  } else {
    self->quorum_.succeeded();
  }
  if (done == nullptr || !coordinator->ready()) {
    co_await coordinator->close();
    self->not_busy(id);
    co_return self->answer(ticket, answer);
  }
  self->coordinators_[id] = coordinator;
  self->not_busy(id);
  self->share_out_now();
  done->state = coordinator->record().state;
  done->position = coordinator->wants_cores() ? self->queued() : 0;
  self->answer(ticket, answer);
}

task<void> ManagerService::change(ManagerService* self, Ticket ticket, std::string job, dispatch::JobMessage message) {
  const auto at = self->coordinators_.find(job);
  if (at == self->coordinators_.end()) co_return self->answer(ticket, self->not_mine(job));
  const std::shared_ptr<JobCoordinator> coordinator = at->second;
  auto* const scaling = std::get_if<dispatch::Scale>(&message);
  const dispatch::Response answer =
      co_await (scaling != nullptr ? coordinator->scale(std::move(*scaling))
                                   : coordinator->cancel(std::move(std::get<dispatch::Cancel>(message))));
  self->answer(ticket, answer);
}

task<void> ManagerService::forward(ManagerService* self, Ticket ticket, std::string to, dispatch::JobMessage message) {
  const auto at = self->parts_.cluster_view.find(to);
  if (!at) {
    co_return self->answer(
        ticket, refusal(Refusal::Kind::kUnavailable, fmt::format("manager '{}' is gone", to), Duration::millis(200)));
  }
  const auto answer =
      co_await ask(self->parts_.links, *at, std::move(message), kMaxForward, self->scope_.cancellation());
  if (answer) co_return self->answer(ticket, *answer);
  self->answer(ticket, refusal(Refusal::Kind::kUnavailable, fmt::format("'{}': {}", to, answer.error().message),
                               Duration::millis(200)));
}

// A majority knows each job and its owner; this manager may not belong to it.
task<void> ManagerService::ask_around(ManagerService* self, Ticket ticket, std::string job,
                                      dispatch::JobMessage message) {
  std::string silent;
  std::optional<Refusal> not_theirs;
  const bool holds =
      std::holds_alternative<dispatch::Watch>(message) || std::holds_alternative<dispatch::WatchLive>(message);
  const Instant deadline = self->parts_.runtime.read_clock() + (holds ? kMaxForward : kMaxAround);
  for (const std::string& other : self->parts_.cluster_view.manager_names()) {
    const auto at = self->parts_.cluster_view.find(other);
    if (other == self->parts_.cluster_view.self() || !at) continue;
    const Duration left = deadline - self->parts_.runtime.read_clock();
    if (left <= Duration::zero()) {
      silent = other;
      break;
    }
    const auto answer = co_await ask(self->parts_.links, *at, message, left, self->scope_.cancellation());
    const auto* refused = answer ? std::get_if<Refusal>(&*answer) : nullptr;
    if (!answer) {
      silent = other;
    } else if (refused != nullptr && refused->kind == Refusal::Kind::kNotOwner) {
      not_theirs = *refused;
    } else if (refused == nullptr || refused->kind != Refusal::Kind::kUnknown) {
      co_return self->answer(ticket, *answer);
    }
  }
  if (not_theirs) co_return self->answer(ticket, *not_theirs);
  if (!silent.empty()) {
    co_return self->answer(
        ticket,
        refusal(Refusal::Kind::kUnavailable,
                fmt::format("this manager does not know job '{}', and '{}' does not answer", job, silent), kSoon));
  }
  // Another manager's before, and without an owner now.
  const bool known = self->known_.find(job) != nullptr;
  if (!known && self->parts_.cluster_view.leader_name().empty()) {
    // Perhaps the managers that know it have not joined yet.
    co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable,
                                           fmt::format("this manager does not know job '{}', and {}", job,
                                                       no_leader(self->parts_.cluster_view)),
                                           kSoon));
  }
  const std::string why =
      self->parts_.cluster_view.leader_name().empty()
          ? fmt::format("no manager owns job '{}', and {}", job, no_leader(self->parts_.cluster_view))
          : fmt::format("no manager owns job '{}' yet", job);
  self->answer(
      ticket, known ? refusal(Refusal::Kind::kUnavailable, why, kSoon) : refusal(Refusal::Kind::kUnknown, no_job(job)));
}

task<void> ManagerService::show_finished(ManagerService* self, Ticket ticket, dispatch::Watch message) {
  const Instant deadline = self->parts_.runtime.now() + kMaxFetch;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  const auto copy = co_await self->parts_.blobs.get({message.job, kIngestBlob}, dispatch::JobFence(), deadline, cancel);
  if (!copy) {
    co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, copy.error().message, Duration::seconds(1)));
  }
  const KnownJobs::Known* record = self->known_.find(message.job);
  if (record == nullptr) co_return self->answer(ticket, refusal(Refusal::Kind::kUnknown, "the job was deleted"));
  dispatch::Watched out;
  out.record = record->record;
  if (record->apart) {
    const auto large =
        co_await self->parts_.blobs.get({message.job, kRecordBlob}, dispatch::JobFence(), deadline, cancel);
    auto whole = large && *large ? dispatch::read_record((*large)->bytes)
                                 : fail(Errc::kNotFound, large ? "no manager has its record" : large.error().message);
    if (!whole) {
      co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, whole.error().message, Duration::seconds(1)));
    }
    out.record = std::move(*whole);
  }
  out.owner = self->known_.last_owner_of(message.job);
  out.life = 1;
  out.final = true;
  if (*copy) {
    auto totals = ingest::RunIngest::totals_of((*copy)->bytes);
    if (!totals) co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, totals.error().message));
    out.totals = std::move(*totals);
  }
  self->answer(ticket, out);
}

// The last owner of the job may have windows that it could not send before this manager knew of the end.
task<void> ManagerService::show_last_windows(ManagerService* self, Ticket ticket, std::string owner,
                                             dispatch::WatchLive message) {
  dispatch::LiveNews nothing;
  nothing.final = true;
  const auto at = self->parts_.cluster_view.find(owner);
  if (!at || owner == self->parts_.cluster_view.self()) co_return self->answer(ticket, nothing);
  const auto answer =
      co_await ask(self->parts_.links, *at, std::move(message), kMaxForward, self->scope_.cancellation());
  const auto* const news = answer ? std::get_if<dispatch::LiveNews>(&*answer) : nullptr;
  self->answer(ticket, news != nullptr ? *news : nothing);
}

bool ManagerService::handle_file_message(const Caller& caller, dispatch::JobMessage& message) {
  const auto now_answer = [&](const dispatch::Response& response) {
    respond(parts_.router, *caller.connection, caller.id, response);
    return true;
  };
  if (const auto* kept = std::get_if<dispatch::KeepFile>(&message)) return now_answer(files_.keep(caller.name, *kept));
  if (auto* wanted = std::get_if<dispatch::FetchFile>(&message)) {
    if (const Ticket ticket = keep(caller)) scope_.spawn(answer_later(this, ticket, files_.fetch(std::move(*wanted))));
    return true;
  }
  auto* const chunk = std::get_if<dispatch::PutFile>(&message);
  if (chunk == nullptr) return false;
  if (parts_.cluster_view.leads()) {
    if (const Ticket ticket = keep(caller)) scope_.spawn(answer_later(this, ticket, files_.put(std::move(*chunk))));
    return true;
  }
  const std::string leader = parts_.cluster_view.leader_name();
  if (leader.empty() || caller.role == wire::Role::kManager) {
    return now_answer(refusal(Refusal::Kind::kNotLeader, no_leader(parts_.cluster_view), kSoon));
  }
  if (const Ticket ticket = keep(caller)) scope_.spawn(forward(this, ticket, leader, std::move(message)));
  return true;
}

task<void> ManagerService::answer_later(ManagerService* self, Ticket ticket, task<dispatch::Response> made) {
  const dispatch::Response response = co_await made;
  self->answer(ticket, response);
}

task<void> ManagerService::show_bundle(ManagerService* self, Ticket ticket, dispatch::FetchBundle message) {
  const blobs::BlobKey key{message.job, kBundleBlob};
  auto copy = co_await self->parts_.blobs.get(key, dispatch::JobFence(), self->parts_.runtime.now() + kMaxAround,
                                              self->scope_.cancellation());
  if (!copy) {
    co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, copy.error().message, Duration::seconds(1)));
  }
  if (!*copy) co_return self->answer(ticket, refusal(Refusal::Kind::kUnknown, no_job(message.job)));
  std::string bytes = std::move((*copy)->bytes);
  const std::string hash = dispatch::bundle_hash(bytes);
  self->answer(ticket, dispatch::BundleMessage{message.job, hash, std::move(bytes)});
}

// The holder of the job's register, as far as this node sees; empty: none known.
dispatch::JobList ManagerService::list() {
  dispatch::JobList out;
  parts_.view.for_each_key([&](const std::string& job) {
    const JobCoordinator* const coordinator = owned(job);
    const KnownJobs::Known* const record = coordinator == nullptr ? known_.find(job) : nullptr;
    if (coordinator == nullptr && (record == nullptr || !record->readable)) return;
    dispatch::JobLine line =
        line_of(coordinator != nullptr ? coordinator->shown_record() : record->record, known_.last_owner_of(job));
    const bool ended = coordinator != nullptr ? coordinator->over() : record->ended();
    if (!ended && dispatch::is_final(line.state)) {
      line.state = dispatch::JobState::kCompleting;
      line.why.clear();
      line.ended = {};
    }
    out.jobs.push_back(std::move(line));
  });
  std::sort(out.jobs.begin(), out.jobs.end(), [](const dispatch::JobLine& a, const dispatch::JobLine& b) {
    return std::pair(a.submitted, a.id) > std::pair(b.submitted, b.id);
  });
  out.cut = out.jobs.size() > kMaxList;
  if (out.cut) out.jobs.resize(kMaxList);
  return out;
}

}  // namespace bellwether::node
