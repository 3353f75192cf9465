// Requests of clients to a manager, and requests of other managers for their clients.

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/bundle_codec.h"
#include "jobs/dispatch/codec/sheet_codec.h"
#include "jobs/manager/manager_service.h"
#include "jobs/manager/surroundings.h"

namespace bellwether::node {

using dispatch::Refusal;
using dispatch::refusal;
using runtime::task;

namespace {

constexpr Duration kForwardMost = Duration::seconds(40);  // a watcher may wait for most of it
constexpr Duration kFetchMost = Duration::seconds(10);
constexpr std::size_t kListMost = 1'000;
constexpr Duration kSoon = Duration::millis(200);

struct JobOf {
  std::string operator()(const dispatch::Submit& letter) const { return letter.job; }
  std::string operator()(const dispatch::Watch& letter) const { return letter.job; }
  std::string operator()(const dispatch::WatchLive& letter) const { return letter.job; }
  std::string operator()(const dispatch::Cancel& letter) const { return letter.job; }
  std::string operator()(const dispatch::Scale& letter) const { return letter.job; }
  std::string operator()(const dispatch::FetchBundle& letter) const { return letter.job; }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

client::Moment moment_of(WallTime at) { return client::Moment(std::chrono::nanoseconds(at.unix_ns)); }

dispatch::JobLine line_of(const dispatch::JobSheet& sheet, std::string owner) {
  return {sheet.id,
          sheet.name,
          sheet.by,
          sheet.state,
          sheet.why,
          moment_of(sheet.submitted),
          moment_of(sheet.started),
          moment_of(sheet.ended),
          std::move(owner)};
}

}  // namespace

void ManagerService::of_client(const Caller& caller, dispatch::Letter letter) {
  const auto now_answer = [&](const dispatch::Response& response) {
    respond(parts_.switchboard, *caller.connection, caller.id, response);
  };
  if (std::holds_alternative<dispatch::ListJobs>(letter)) return now_answer(list());
  if (std::holds_alternative<dispatch::ListWorkers>(letter)) {
    return now_answer(dispatch::WorkerList{registry_.lines(parts_.runtime.now())});
  }
  if (std::holds_alternative<dispatch::ListDatacenters>(letter)) {
    const Surroundings& around = parts_.surroundings;
    return now_answer(dispatch::DatacenterList{
        datacenters_of(around.neighbours(), around.leader_name(), registry_.lines(parts_.runtime.now()))});
  }
  const std::string job = std::visit(JobOf{}, letter);
  if (job.empty()) return now_answer(refusal(Refusal::Kind::kInvalid, "such a letter is not for managers"));
  Steward* const steward = owned(job);
  const KnownJobs::Known* const sheet = known_.find(job);
  const bool finished = steward == nullptr && sheet != nullptr && sheet->ended();
  if (auto* submitted = std::get_if<dispatch::Submit>(&letter)) {
    if (steward == nullptr && sheet == nullptr && !parts_.surroundings.leads()) {
      const std::string leader = parts_.surroundings.leader_name();
      if (leader.empty() || caller.role == wire::Role::kManager) {
        // Without a quorum no manager leads.
        const std::string name = leader.empty() ? std::string(kQuorumUnavailable) + ": " : std::string();
        return now_answer(refusal(Refusal::Kind::kNotLeader, name + "no manager leads at the moment", kSoon));
      }
      if (const Ticket ticket = keep(caller)) scope_.spawn(forward(this, ticket, leader, std::move(letter)));
      return;
    }
    if (const Ticket ticket = keep(caller)) scope_.spawn(submit(this, ticket, std::move(*submitted)));
    return;
  }
  if (finished || (steward != nullptr && steward->over())) {
    if (const auto* watched = std::get_if<dispatch::Watch>(&letter)) {
      if (steward != nullptr) return steward->watch(*caller.connection, caller.id, *watched);
      if (const Ticket ticket = keep(caller)) scope_.spawn(show_finished(this, ticket, *watched));
      return;
    }
    if (const auto* live = std::get_if<dispatch::WatchLive>(&letter)) {
      if (steward != nullptr) return steward->watch(*caller.connection, caller.id, *live);
      const std::string owner = caller.role == wire::Role::kManager ? std::string() : known_.last_owner_of(job);
      if (const Ticket ticket = keep(caller)) scope_.spawn(show_last_windows(this, ticket, owner, *live));
      return;
    }
    if (std::holds_alternative<dispatch::Cancel>(letter) || std::holds_alternative<dispatch::Scale>(letter)) {
      const dispatch::JobState state = steward != nullptr ? steward->sheet().state : sheet->sheet.state;
      return now_answer(
          refusal(Refusal::Kind::kConflict, fmt::format("job '{}' has ended: it is {}", job, to_string(state))));
    }
  }
  if (const auto* wanted = std::get_if<dispatch::FetchBundle>(&letter)) {
    if (steward != nullptr) {
      return now_answer(dispatch::BundleLetter{job, dispatch::bundle_hash(steward->bundle()), steward->bundle()});
    }
    if (const Ticket ticket = keep(caller)) scope_.spawn(show_bundle(this, ticket, *wanted));
    return;
  }
  if (steward != nullptr && steward->owned()) {
    if (const auto* watched = std::get_if<dispatch::Watch>(&letter)) {
      return steward->watch(*caller.connection, caller.id, *watched);
    }
    if (const auto* live = std::get_if<dispatch::WatchLive>(&letter)) {
      return steward->watch(*caller.connection, caller.id, *live);
    }
    if (const Ticket ticket = keep(caller)) {
      scope_.spawn(change(this, ticket, job, std::move(letter)));
    }
    return;
  }
  // A manager that has just begun must not deny a job: clients would believe it.
  if (sheet == nullptr && !parts_.view.has_read()) {
    return now_answer(refusal(Refusal::Kind::kUnavailable, "this manager has not read its registers yet", kSoon));
  }
  if (caller.role == wire::Role::kManager) {
    if (sheet == nullptr) return now_answer(refusal(Refusal::Kind::kUnknown, fmt::format("there is no job '{}'", job)));
    Refusal out = not_mine(job);
    out.again_after = Duration::millis(200);
    return now_answer(out);
  }
  const Ticket ticket = keep(caller);
  if (ticket == 0) return;
  const std::string owner = sheet != nullptr ? known_.owner_of(job) : std::string();
  if (owner.empty() || owner == parts_.surroundings.self()) {
    scope_.spawn(ask_around(this, ticket, job, std::move(letter)));
  } else {
    scope_.spawn(forward(this, ticket, owner, std::move(letter)));
  }
}

uint32_t ManagerService::queued() const {
  uint32_t sum = 0;
  for (const auto& [id, steward] : stewards_) sum += steward->wants_cores() ? 1 : 0;
  return sum;
}

task<void> ManagerService::submit(ManagerService* self, Ticket ticket, dispatch::Submit letter) {
  const std::string id = letter.job;
  const std::string hash = dispatch::bundle_hash(letter.bundle);
  // The same client may ask twice; the second request waits for the first.
  co_await self->jobs_changed_.wait(
      self->parts_.runtime, [self, &id] { return !self->busy_.contains(id) || self->closing_; }, Instant::never(),
      self->scope_.cancellation());
  if (self->closing_) co_return;
  const Steward* const there = self->owned(id);
  const KnownJobs::Known* const sheet = there == nullptr ? self->known_.find(id) : nullptr;
  if (there != nullptr || (sheet != nullptr && sheet->readable)) {
    const dispatch::JobSheet& known = there != nullptr ? there->sheet() : sheet->sheet;
    // A minority may have accepted a first record from which no owner continues.
    if (known.bundle == hash && there == nullptr && known.revision <= 1) {
      BW_PROBE("manager: nobody knows yet whether a job was taken");
      co_return self->answer(ticket,
                             refusal(Refusal::Kind::kUnavailable, fmt::format("nobody has job '{}' yet", id), kSoon));
    }
    if (known.bundle == hash) {
      co_return self->answer(ticket, dispatch::Submitted{id, known.state, 0});
    }
    co_return self->answer(ticket, refusal(Refusal::Kind::kConflict, fmt::format("there is another job '{}'", id)));
  }
  if (self->queued() >= self->settings_.queue_most || self->stewards_.size() >= self->settings_.jobs_most) {
    co_return self->answer(ticket,
                           refusal(Refusal::Kind::kBusy, fmt::format("{} jobs wait for cores already", self->queued()),
                                   Duration::seconds(10)));
  }
  if (!self->quorum_.allow(self->parts_.runtime.now())) {
    const Duration left = std::max(self->quorum_again(), kSoon);
    co_return self->answer(
        ticket, refusal(Refusal::Kind::kUnavailable,
                        fmt::format("{}: no quorum confirmed the jobs before this one; it is tried again in {}",
                                    kQuorumCircuitOpen, format_duration(left)),
                        left));
  }
  self->busy_.insert(id);
  auto steward = std::make_shared<Steward>(self->steward_parts(), self->settings_.steward, id);
  dispatch::Response answer = co_await steward->found(std::move(letter));
  auto* done = std::get_if<dispatch::Submitted>(&answer);
  const auto* refused = std::get_if<Refusal>(&answer);
  if (refused != nullptr && refused->kind == Refusal::Kind::kUnavailable) {
    self->quorum_.failed(self->parts_.runtime.now());
  } else {
    self->quorum_.succeeded();
  }
  if (done == nullptr || !steward->ready()) {
    co_await steward->close();
    self->not_busy(id);
    co_return self->answer(ticket, answer);
  }
  self->stewards_[id] = steward;
  self->not_busy(id);
  self->share_out_now();
  done->state = steward->sheet().state;
  done->position = steward->wants_cores() ? self->queued() : 0;
  self->answer(ticket, answer);
}

Duration ManagerService::quorum_again() const {
  return std::max(quorum_.open_until() - parts_.runtime.now(), Duration::zero());
}

task<void> ManagerService::change(ManagerService* self, Ticket ticket, std::string job, dispatch::Letter letter) {
  const auto at = self->stewards_.find(job);
  if (at == self->stewards_.end()) co_return self->answer(ticket, self->not_mine(job));
  const std::shared_ptr<Steward> steward = at->second;
  auto* const scaling = std::get_if<dispatch::Scale>(&letter);
  const dispatch::Response answer =
      co_await (scaling != nullptr ? steward->scale(std::move(*scaling))
                                   : steward->cancel(std::move(std::get<dispatch::Cancel>(letter))));
  self->answer(ticket, answer);
}

task<void> ManagerService::forward(ManagerService* self, Ticket ticket, std::string to, dispatch::Letter letter) {
  const auto at = self->parts_.surroundings.find(to);
  if (!at) {
    co_return self->answer(
        ticket, refusal(Refusal::Kind::kUnavailable, fmt::format("'{}' is not there", to), Duration::millis(200)));
  }
  const auto answer =
      co_await ask(self->parts_.links, *at, std::move(letter), kForwardMost, self->scope_.cancellation());
  if (answer) co_return self->answer(ticket, *answer);
  self->answer(ticket, refusal(Refusal::Kind::kUnavailable, fmt::format("'{}': {}", to, answer.error().message),
                               Duration::millis(200)));
}

// A majority knows each job and its owner; this manager may not belong to it.
task<void> ManagerService::ask_around(ManagerService* self, Ticket ticket, std::string job, dispatch::Letter letter) {
  std::string silent;
  std::optional<Refusal> not_theirs;
  for (const std::string& other : self->parts_.surroundings.manager_names()) {
    const auto at = self->parts_.surroundings.find(other);
    if (other == self->parts_.surroundings.self() || !at) continue;
    const auto answer = co_await ask(self->parts_.links, *at, letter, kForwardMost, self->scope_.cancellation());
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
        ticket, refusal(Refusal::Kind::kUnavailable,
                        fmt::format("job '{}' is not known here, and '{}' does not answer", job, silent), kSoon));
  }
  // Another manager's before, and without an owner now.
  const bool known = self->known_.find(job) != nullptr;
  if (!known && self->parts_.surroundings.leader_name().empty()) {
    // Perhaps the managers that know it have not joined yet.
    co_return self->answer(ticket,
                           refusal(Refusal::Kind::kUnavailable,
                                   fmt::format("job '{}' is not known here, and no manager leads", job), kSoon));
  }
  self->answer(ticket, known ? refusal(Refusal::Kind::kUnavailable, fmt::format("nobody has job '{}' yet", job), kSoon)
                             : refusal(Refusal::Kind::kUnknown, fmt::format("there is no job '{}'", job)));
}

task<void> ManagerService::show_finished(ManagerService* self, Ticket ticket, dispatch::Watch letter) {
  const Instant deadline = self->parts_.runtime.now() + kFetchMost;
  runtime::Cancellation* cancel = self->scope_.cancellation();
  const copies::CopyKey account{letter.job, kAccountCopy};
  const copies::CopyKey record{letter.job, kRecordCopy};
  const auto copy = co_await self->parts_.copies.get(account, dispatch::JobFence(), deadline, cancel);
  if (!copy) {
    co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, copy.error().message, Duration::seconds(1)));
  }
  const KnownJobs::Known* sheet = self->known_.find(letter.job);
  if (sheet == nullptr) co_return self->answer(ticket, refusal(Refusal::Kind::kUnknown, "it was forgotten"));
  dispatch::Watched out;
  out.sheet = sheet->sheet;
  if (sheet->apart) {
    const auto large = co_await self->parts_.copies.get(record, dispatch::JobFence(), deadline, cancel);
    auto whole = large && *large ? dispatch::read_sheet((*large)->bytes)
                                 : fail(Errc::kNotFound, large ? "nobody has its record" : large.error().message);
    if (!whole) {
      co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, whole.error().message, Duration::seconds(1)));
    }
    out.sheet = std::move(*whole);
  }
  out.owner = self->known_.last_owner_of(letter.job);
  out.life = 1;
  out.final = true;
  if (*copy) {
    auto totals = account::RunAccount::totals_of((*copy)->bytes);
    if (!totals) co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, totals.error().message));
    out.totals = std::move(*totals);
  }
  self->answer(ticket, out);
}

// The last owner of the job may have windows that it could not send before this manager knew of the end.
task<void> ManagerService::show_last_windows(ManagerService* self, Ticket ticket, std::string owner,
                                             dispatch::WatchLive letter) {
  dispatch::LiveNews nothing;
  nothing.final = true;
  const auto at = self->parts_.surroundings.find(owner);
  if (!at || owner == self->parts_.surroundings.self()) co_return self->answer(ticket, nothing);
  const auto answer =
      co_await ask(self->parts_.links, *at, std::move(letter), kForwardMost, self->scope_.cancellation());
  const auto* const news = answer ? std::get_if<dispatch::LiveNews>(&*answer) : nullptr;
  self->answer(ticket, news != nullptr ? *news : nothing);
}

task<void> ManagerService::show_bundle(ManagerService* self, Ticket ticket, dispatch::FetchBundle letter) {
  const copies::CopyKey key{letter.job, kBundleCopy};
  auto copy = co_await self->parts_.copies.get(key, dispatch::JobFence(), self->parts_.runtime.now() + kFetchMost,
                                               self->scope_.cancellation());
  if (!copy) {
    co_return self->answer(ticket, refusal(Refusal::Kind::kUnavailable, copy.error().message, Duration::seconds(1)));
  }
  if (!*copy)
    co_return self->answer(ticket, refusal(Refusal::Kind::kUnknown, fmt::format("there is no job '{}'", letter.job)));
  std::string bytes = std::move((*copy)->bytes);
  const std::string hash = dispatch::bundle_hash(bytes);
  self->answer(ticket, dispatch::BundleLetter{letter.job, hash, std::move(bytes)});
}

// The holder of the job's register, as far as this node sees; empty: none known.
dispatch::JobList ManagerService::list() {
  dispatch::JobList out;
  parts_.view.for_each_key([&](const std::string& job) {
    const Steward* const steward = owned(job);
    const KnownJobs::Known* const sheet = steward == nullptr ? known_.find(job) : nullptr;
    if (steward == nullptr && (sheet == nullptr || !sheet->readable)) return;
    dispatch::JobLine line =
        line_of(steward != nullptr ? steward->shown_sheet() : sheet->sheet, known_.last_owner_of(job));
    const bool ended = steward != nullptr ? steward->over() : sheet->ended();
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
  out.cut = out.jobs.size() > kListMost;
  if (out.cut) out.jobs.resize(kListMost);
  return out;
}

}  // namespace bellwether::node
