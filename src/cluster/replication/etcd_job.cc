// The lease of a job in etcd: its renewal, and the detection of its loss.
#include "cluster/replication/etcd_job.h"

#include <algorithm>
#include <utility>

#include "cluster/net/peer_links.h"
#include "cluster/register/codec.h"
#include "cluster/register/small.h"
#include "core/base/probe.h"
#include "core/resilience/retry.h"

namespace bellwether::jobs {

namespace {

using runtime::task;
using store::EtcdTransaction;

constexpr Duration kRetiredKept = Duration::hours(1);
constexpr Duration kAgainAfter = Duration::millis(200);
constexpr Duration kMaxOneTry = Duration::seconds(5);

int64_t seconds_of(Duration span) { return (span.ms() + 999) / 1000; }

tl::unexpected<NotWritten> not_written(Error error, bool perhaps) {
  return tl::unexpected(NotWritten{std::move(error), perhaps});
}

void set(void* event) { static_cast<runtime::Event*>(event)->set(); }

constexpr Duration kRenewAgainAfter = Duration::millis(200);

}  // namespace

EtcdJob::EtcdJob(EtcdJobStore& store, std::string key, JobHandle::Listener& listener)
    : store_(store), key_(std::move(key)), listener_(&listener) {}

void EtcdJob::end() {
  const uint64_t lease = lease_;
  drop();
  closing_.cancel();
  if (lease != 0) store_.abandon(lease);
}

void EtcdJob::close() {
  listener_ = nullptr;
  end();
  store_.jobs_.erase(key_);
}

// --- calls to etcd ---------------------------------------------------------------------------------------------------

// A member that does not answer must leave time for the others.
task<Result<std::string>> EtcdJob::call(const char* path, std::string body, bool repeatable, Time& time) {
  while (true) {
    const Instant now = store_.runtime_.read_clock();
    const Duration most = std::min(kMaxOneTry, store_.settings_.lease / 6);
    const Instant until = std::min(time.deadline(), now + most);
    auto answer = co_await store_.api_.call(path, body, repeatable, until, time.cancellation());
    if (answer || !repeatable || !resilience::is_retryable(answer.error().code)) co_return answer;
    const bool again = co_await pause(time);
    if (!again) co_return answer;
  }
}

// False: no time for another try is left.
task<bool> EtcdJob::pause(Time& time) {
  const Duration span = Duration::nanos(store_.prng_.between(kAgainAfter.ns() / 2, kAgainAfter.ns()));
  const bool slept = co_await store_.runtime_.sleep(span, time.cancellation());
  co_return slept && !time.over();
}

EtcdTransaction EtcdJob::transaction() const {
  return EtcdTransaction(std::vector<EtcdTransaction::Look>{{owner_name(), {}}, {state_name(), {}}});
}

Result<EtcdJob::View> EtcdJob::view_of(const std::string& body) const {
  BW_TRY(auto shown, store::parse_shown(body, 2));
  View view;
  view.succeeded = shown.succeeded;
  if (!shown.entries[0].empty()) {
    store::EtcdEntry& owner = shown.entries[0].front();
    view.owner = Owner{std::move(owner.value), owner.created, owner.lease};
  }
  if (shown.entries[1].empty()) return view;
  const store::EtcdEntry& state = shown.entries[1].front();
  view.modified = state.modified;
  auto record = message::decode<registers::RegisterRecord>(state.value);
  if (!record || record->key != key_) {
    return fail(Errc::kInvalid, "the value in etcd under '{}' is not a state of job '{}'{}", state_name(), key_,
                record ? std::string() : ": " + record.error().message);
  }
  view.record = std::move(*record);
  return view;
}

task<Result<EtcdJob::View>> EtcdJob::transact(EtcdTransaction transaction, bool repeatable, Time& time) {
  std::string text = transaction.body();
  BW_CO_TRY(auto body, co_await call("/v3/kv/txn", std::move(text), repeatable, time));
  co_return view_of(body);
}

Error EtcdJob::late(const Time& time, const std::string& why) const {
  return {time.why(), fmt::format("job '{}': {}", key_, time.why() == Errc::kClosed ? "this node is ending" : why)};
}

// --- taking ----------------------------------------------------------------------------------------------------------

task<Result<TakenJob>> EtcdJob::take(std::shared_ptr<EtcdJob> self, Instant deadline, runtime::Cancellation* cancel) {
  if (self->closing_.cancelled()) co_return fail(Errc::kClosed, "this node is ending");
  if (self->taking_) co_return fail(Errc::kExists, "this node is taking job '{}' already", self->key_);
  if (self->lease_ != 0 && self->held()) co_return fail(Errc::kExists, "this node holds job '{}' already", self->key_);
  if (self->lease_ != 0) self->lose({}, "etcd did not answer before the lease expired");
  self->taking_ = true;
  Time time(*self, deadline, cancel);
  auto outcome = co_await self->wait_and_claim(time);
  self->taking_ = false;
  if (!outcome && time.over()) outcome = tl::unexpected(self->late(time, outcome.error().message));
  co_return outcome;
}

task<Result<TakenJob>> EtcdJob::wait_and_claim(Time& time) {
  while (true) {
    // News may come before the answer that it outdates.
    const uint64_t known = news_;
    BW_CO_TRY(auto seen, co_await look(time));
    const auto content = registers::parse_content(seen.record.value);
    if (!content) co_return fail(content.error().code, "job '{}': {}", key_, content.error().message);
    if (content->retired) co_return fail(Errc::kNotFound, "job '{}' was retired", key_);
    // A claim under the own name is one of an earlier life.
    if (seen.owner && seen.owner->name != store_.self_) {
      const std::string holder = seen.owner->name;
      co_await wait_until_free(known, time);
      if (time.over()) co_return fail(time.why(), "the job was not taken in time: '{}' holds it", holder);
      continue;
    }
    BW_CO_TRY(auto claimed, co_await claim(std::move(seen), time));
    if (claimed) co_return std::move(*claimed);
    const bool again = co_await pause(time);
    if (!again) co_return fail(time.why(), "etcd did not answer in time, or other nodes were faster");
  }
}

// Etcd announces when an owner's key goes; a node that missed that looks all the same.
task<void> EtcdJob::wait_until_free(uint64_t known, Time& time) {
  store_.begin_to_watch();
  if (news_ != known) co_return;
  const Duration most = store_.settings_.lease / 6;
  const Duration span = Duration::nanos(store_.prng_.between(most.ns() / 2, most.ns()));
  runtime::Event freed;
  runtime::Until poll(store_.runtime_, store_.runtime_.read_clock() + span, time.cancellation());
  runtime::CancelCallback on_end(poll.cancellation(), &set, &freed);
  freed_ = &freed;
  co_await freed.wait();
  freed_ = nullptr;
}

task<Result<std::optional<TakenJob>>> EtcdJob::claim(View seen, Time& time) {
  const Instant asked_at = store_.runtime_.boot_now();
  std::string wanted = store::grant_body(seconds_of(store_.settings_.lease));
  BW_CO_TRY(const auto body, co_await call("/v3/lease/grant", std::move(wanted), true, time));
  BW_CO_TRY(const auto lease, store::parse_grant(body));

  const JobFence fence(seen.record.promised.fence.value() + 1);
  const registers::Claim claim{fence, cluster::member_id(store_.self_), store_.prng_.next() | 1};
  registers::RegisterRecord record{key_, claim, {fence, 1}, seen.record.value, store_.settings_.lease};
  EtcdTransaction take = transaction();
  take.if_created(owner_name(), seen.owner ? seen.owner->created : 0);
  take.if_modified(state_name(), seen.modified);
  take.put(owner_name(), store_.self_, lease);
  take.put(state_name(), message::encode(record), 0);
  auto taken = co_await transact(std::move(take), false, time);
  const bool got_it = taken && taken->succeeded && taken->owner && !closing_.cancelled();
  const Instant ends =
      asked_at + Duration::from_seconds_f(store_.settings_.lease.seconds_f() * (1 - store_.settings_.drift));
  if (!got_it || store_.runtime_.boot_now() >= ends) {
    store_.abandon(lease);
    if (!taken && !resilience::is_retryable(taken.error().code)) co_return tl::unexpected(taken.error());
    co_return std::nullopt;
  }
  if (seen.owner) store_.abandon(seen.owner->lease);
  lease_ = lease;
  created_ = taken->owner->created;
  modified_ = taken->modified;
  claim_ = claim;
  fence_ = fence;
  last_write_ = 1;
  unsure_ = false;
  move_end(asked_at);
  if (!std::exchange(keeping_, true)) store_.loops_.spawn(keep(shared_from_this()));
  co_return TakenJob{fence, registers::parse_content(seen.record.value)->value};
}

// --- writing and reading ---------------------------------------------------------------------------------------------

task<Written> EtcdJob::write(std::shared_ptr<EtcdJob> self, std::string value, Instant deadline,
                             runtime::Cancellation* cancel) {
  if (value.size() > kMaxStateBytes) co_return not_written(too_large(self->key_, value.size()), false);
  std::string content = registers::bytes_of_value(value);
  auto written = co_await change(self, std::move(content), false, deadline, cancel);
  co_return written;
}

task<Written> EtcdJob::retire(std::shared_ptr<EtcdJob> self, Instant deadline, runtime::Cancellation* cancel) {
  std::string content = registers::bytes_of_retired();
  auto written = co_await change(self, std::move(content), true, deadline, cancel);
  co_return written;
}

task<Written> EtcdJob::change(std::shared_ptr<EtcdJob> self, std::string content, bool retire, Instant deadline,
                              runtime::Cancellation* cancel) {
  Time time(*self, deadline, cancel);
  store::Turn turn(self->turns_, time.cancellation());
  co_await turn.woken().wait();
  if (!turn.granted() || time.over()) co_return not_written(self->late(time, "the time limit has passed"), false);
  uint64_t tombstone = 0;
  if (retire && self->held()) {
    std::string wanted = store::grant_body(seconds_of(kRetiredKept));
    const auto body = co_await self->call("/v3/lease/grant", std::move(wanted), true, time);
    const auto granted = body ? store::parse_grant(*body) : tl::unexpected(body.error());
    if (!granted) {
      co_return not_written(time.over() ? self->late(time, granted.error().message) : granted.error(), false);
    }
    tombstone = *granted;
  }
  auto written = co_await self->put(std::move(content), tombstone, time);
  if (written && retire) {
    const uint64_t lease = self->lease_;
    self->drop();
    if (lease != 0) self->store_.abandon(lease);
  } else if (!written && time.over()) {
    written.error().error = self->late(time, written.error().error.message);
  }
  co_return written;
}

// With a tombstone, a lease, the job ends with this write, and its state with that lease.
task<Written> EtcdJob::put(std::string content, uint64_t tombstone, Time& time) {
  if (!held()) co_return not_written({Errc::kRefused, fmt::format("this node does not hold job '{}'", key_)}, false);
  const registers::Place place{fence_, ++last_write_};
  const std::string record =
      message::encode(registers::RegisterRecord{key_, claim_, place, content, store_.settings_.lease});
  bool sent = false;
  while (true) {
    if (unsure_) {
      const auto seen = co_await look(time);
      if (!seen) co_return not_written(seen.error(), sent);
      if (sent && seen->record.accepted == place) {
        modified_ = seen->modified;
        unsure_ = false;
        co_return Written();
      }
      if (!mine(*seen)) {
        lose(seen->owner ? seen->owner->name : std::string(),
             "etcd ended the lease of this node, or another node has the job");
        co_return not_written({Errc::kRefused, fmt::format("this node no longer holds job '{}'", key_)}, sent);
      }
      modified_ = seen->modified;
      unsure_ = false;
    }
    EtcdTransaction change = transaction();
    change.if_created(owner_name(), created_);
    change.if_modified(state_name(), modified_);
    change.put(state_name(), record, tombstone);
    if (tombstone != 0) change.remove(owner_name());
    unsure_ = sent = true;
    const auto done = co_await transact(std::move(change), false, time);
    if (!done) {
      if (!resilience::is_retryable(done.error().code)) co_return not_written(done.error(), true);
      const bool again = co_await pause(time);
      if (!again) co_return not_written(done.error(), true);
      continue;
    }
    if (done->succeeded) {
      modified_ = done->modified;
      unsure_ = false;
      co_return Written();
    }
    // An earlier write, or an earlier try of this one, has arrived meanwhile; or another node owns the job.
    BW_PROBE("jobs: etcd refused a write");
  }
}

task<Result<std::optional<std::string>>> EtcdJob::read(std::shared_ptr<EtcdJob> self, Instant deadline,
                                                       runtime::Cancellation* cancel) {
  Time time(*self, deadline, cancel);
  store::Turn turn(self->turns_, time.cancellation());
  co_await turn.woken().wait();
  if (!turn.granted() || time.over()) co_return tl::unexpected(self->late(time, "the time limit has passed"));
  if (!self->held()) co_return fail(Errc::kRefused, "this node does not hold job '{}'", self->key_);
  const auto seen = co_await self->look(time);
  if (!seen) co_return tl::unexpected(time.over() ? self->late(time, seen.error().message) : seen.error());
  if (!self->mine(*seen)) {
    self->lose(seen->owner ? seen->owner->name : std::string(),
               "etcd ended the lease of this node, or another node has the job");
    co_return fail(Errc::kRefused, "this node no longer holds job '{}'", self->key_);
  }
  BW_CO_TRY(auto content, registers::parse_content(seen->record.value));
  co_return std::move(content.value);
}

task<Status> EtcdJob::give_back(std::shared_ptr<EtcdJob> self, Instant deadline, runtime::Cancellation* cancel) {
  const uint64_t lease = self->lease_;
  if (lease == 0) co_return Status();
  self->drop();
  Time time(*self, deadline, cancel);
  std::string which = store::lease_body(lease);
  const auto done = co_await self->call("/v3/lease/revoke", std::move(which), true, time);
  if (done || done.error().code == Errc::kNotFound) co_return Status();
  self->store_.abandon(lease);
  co_return tl::unexpected(time.over() ? self->late(time, done.error().message) : done.error());
}

bool EtcdJob::mine(const View& view) const {
  return lease_ != 0 && view.owner && view.owner->created == created_ && view.owner->lease == lease_;
}

// The server counts from a later time than this node's request.
void EtcdJob::move_end(Instant asked_at) {
  const JobSettings& settings = store_.settings_;
  ends_ = std::max(ends_, asked_at + Duration::from_seconds_f(settings.lease.seconds_f() * (1 - settings.drift)));
  const Duration most = settings.renew_every();
  renew_at_ = asked_at + Duration::nanos(store_.prng_.between(most.ns() * 3 / 4, most.ns()));
  if (nap_ != nullptr) nap_->cancel();
}

void EtcdJob::drop() {
  lease_ = 0;
  ends_ = Instant();
  if (nap_ != nullptr) nap_->cancel();
}

void EtcdJob::lose(const std::string& owner, const std::string& why) {
  if (lease_ == 0) return;
  // A lease that etcd still counts makes other nodes wait in vain.
  store_.abandon(lease_);
  drop();
  if (listener_ != nullptr) listener_->on_lost({fence_, owner, why});
}

task<void> EtcdJob::keep(std::shared_ptr<EtcdJob> self) {
  runtime::Cancellation* const all = self->store_.loops_.cancellation();
  while (self->lease_ != 0 && !all->cancelled()) {
    runtime::Cancellation nap(all);
    self->nap_ = &nap;
    const bool due = co_await self->store_.runtime_.sleep_until_boot(std::min(self->renew_at_, self->ends_), &nap);
    self->nap_ = nullptr;
    if (!due || self->lease_ == 0) continue;
    if (!self->held()) {
      self->lose({}, "etcd did not answer before the lease expired");
    } else {
      co_await self->renew();
    }
  }
  self->keeping_ = false;
}

// A living lease does not prove that the job is still bound to it: the key may have been removed.
task<void> EtcdJob::renew() {
  const uint64_t lease = lease_;
  const Instant asked_at = store_.runtime_.boot_now();
  const Duration most = std::min(store_.settings_.renew_every(), ends_ - asked_at);
  Time time(*this, store_.runtime_.read_clock() + most, nullptr);
  std::string which = store::lease_body(lease);
  const auto body = co_await call("/v3/lease/keepalive", std::move(which), true, time);
  if (lease_ != lease) co_return;
  const auto left = body ? store::parse_keep_alive(*body) : tl::unexpected(body.error());
  const bool ended = left ? *left <= 0 : left.error().code == Errc::kNotFound;
  renew_at_ = store_.runtime_.boot_now() + kRenewAgainAfter;
  if (ended) {
    lose({}, "etcd has ended the lease");
    co_return;
  }
  if (!left) co_return;
  const auto seen = co_await look(time);
  if (lease_ != lease || !seen) co_return;
  if (mine(*seen)) {
    move_end(asked_at);
  } else {
    lose(seen->owner ? seen->owner->name : std::string(), "etcd shows another owner, or none");
  }
}

}  // namespace bellwether::jobs
