#include "election/store/etcd/etcd_store.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "election/store/dial.h"
#include "election/store/web/web_client.h"

namespace bellwether::store {

namespace {

using election::Epoch;
using election::LeaseRecord;
using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;
using runtime::task;

constexpr int64_t kMinSeconds = 2;  // the least of etcd

int64_t seconds_of(Duration lease) { return std::max(kMinSeconds, (lease.ms() + 999) / 1000); }

std::string version_of(const EtcdAnswer& answer) {
  if (answer.queue.empty()) {
    return fmt::format("-{}{}", answer.cluster,
                       answer.note ? fmt::format(".{}", answer.note->modified) : std::string());
  }
  const EtcdEntry& head = answer.queue.front();
  return fmt::format("{}.{}.{}.{}", answer.cluster, head.created, head.modified, lease_text(head.lease));
}

// The queue's meaning for an observer outside of it.
Observation observe_etcd(const EtcdAnswer& answer) {
  Observation seen;
  seen.version = version_of(answer);
  if (answer.queue.empty()) {
    seen.floor = Epoch(answer.revision + 1);
    if (!answer.note) return seen;
    seen.present = true;
    seen.record = parse_etcd_value(answer.note->value).value_or(LeaseRecord());
    seen.record.holder.clear();
    seen.record.token.clear();
    seen.record.epoch = Epoch(answer.note->modified);
    return seen;
  }
  const EtcdEntry& head = answer.queue.front();
  seen.present = true;
  if (auto record = parse_etcd_value(head.value); record && record->held()) {
    seen.record = std::move(*record);
  } else {
    seen.foreign = true;
    seen.record.holder = head.value.empty() ? "lease " + lease_text(head.lease) : head.value;
    seen.record.token = head.key;
  }
  seen.record.epoch = Epoch(head.created);
  return seen;
}

// Watches the queue of one key: new claims, claims that their candidates withdraw, and claims that etcd ends with their
// leases. So the next candidate learns at once that a holder has not kept its lease alive.
class EtcdWatch final : private WebWatch::Source {
 public:
  // `seen`: the last view of the queue; its entries are no news. All must outlive this.
  EtcdWatch(runtime::Runtime& runtime, EtcdApi& api, const std::string& key, const EtcdAnswer& seen)
      : api_(api), key_(key), seen_(seen), watch_(runtime, *this) {}

  runtime::task<bool> changed(runtime::Cancellation* cancel) { return watch_.changed(cancel); }
  const std::string& refused() const { return watch_.refused(); }

 private:
  runtime::task<Status> listen(WebWatch& watch, Instant begin_by, Instant deadline) override {
    const std::string prefix = key_ + "/";
    const Status ended = co_await api_.watch(watch_body(prefix, after_prefix(prefix)), watch, begin_by, deadline);
    co_return ended;
  }

  WebWatch::Word hear(std::string_view line) override {
    const auto news = parse_watch(line, key_);
    if (!news || news->over) return WebWatch::Word::kEnd;
    // The watch missed all changes before its begin.
    if (news->begins || news->revision > seen_.revision) return WebWatch::Word::kChanged;
    return WebWatch::Word::kNothing;
  }

  EtcdApi& api_;
  const std::string& key_;
  const EtcdAnswer& seen_;
  WebWatch watch_;
};

// One candidate's place in the queue of one key, and its view of the queue.
class EtcdKey final : public StoreKey {
 public:
  EtcdKey(runtime::Runtime& runtime, EtcdApi& api, std::string key)
      : runtime_(runtime), api_(api), key_(std::move(key)), note_("bellwether/heir/" + key_) {}

  task<Result<Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    const Call call{deadline, cancel};
    bool alive = false;
    BW_CO_TRY(auto answer, co_await see(alive, call));
    if (claim_ && (claim_->given_up || must_stand_back(answer, claim_->holder))) {
      BW_CO_TRY(answer, co_await withdraw(LeaseRecord(), call));
    }
    co_return observe(answer);
  }

  task<Result<WriteOutcome>> act(WriteRequest request, Instant deadline, runtime::Cancellation* cancel) override {
    const Call call{deadline, cancel};
    task<Result<WriteOutcome>> doing;
    switch (request.kind) {
      case WriteRequest::Kind::kTake: doing = take(std::move(request), call); break;
      case WriteRequest::Kind::kRenew: doing = renew(std::move(request), call); break;
      case WriteRequest::Kind::kRelease: doing = release(std::move(request), call); break;
      case WriteRequest::Kind::kAmend: doing = amend(std::move(request), call); break;
    }
    auto outcome = co_await std::move(doing);
    co_return outcome;
  }

  runtime::task<bool> changed(runtime::Cancellation* cancel) override { return watch_.changed(cancel); }
  std::string watch_refused() const override { return watch_.refused(); }

 private:
  struct Claim {
    uint64_t lease = 0;
    int64_t seconds = 0;
    std::string name;
    std::string token;
    std::string holder;
    bool given_up = false;  // it was to be taken back, which may not have happened
    bool unsure = false;    // the answer to it was lost: it may stand in the queue, or be on its way there
  };
  struct Call {
    Instant deadline;
    runtime::Cancellation* cancel;
  };

  task<Result<EtcdAnswer>> transact(EtcdTransaction transaction, bool repeatable, Call call) {
    std::string text = transaction.body();
    BW_CO_TRY(auto body, co_await api_.call("/v3/kv/txn", std::move(text), repeatable, call.deadline, call.cancel));
    auto answer = parse_transaction(body, key_);
    if (!answer) co_return answer;
    // Each answer is asked for after the one before has come, and etcd agrees on each with a majority.
    if (!last_.cluster.empty() && (last_.cluster != answer->cluster || last_.revision > answer->revision)) lost_ = true;
    last_ = *answer;
    co_return answer;
  }

  task<Result<uint64_t>> grant(int64_t seconds, Call call) {
    BW_CO_TRY(auto body, co_await api_.call("/v3/lease/grant", grant_body(seconds), true, call.deadline, call.cancel));
    co_return parse_grant(body);
  }

  task<Status> revoke(uint64_t lease, Call call) {
    const auto body = co_await api_.call("/v3/lease/revoke", lease_body(lease), true, call.deadline, call.cancel);
    if (!body && body.error().code != Errc::kNotFound) co_return tl::unexpected(body.error());
    co_return Status();
  }

  // Whether the claim's lease lives on. REQUIRES a claim.
  task<Result<bool>> keep_alive(Call call) {
    std::string lease = lease_body(claim_->lease);
    const auto body = co_await api_.call("/v3/lease/keepalive", std::move(lease), true, call.deadline, call.cancel);
    if (!body && body.error().code == Errc::kNotFound) co_return false;
    BW_CO_TRY(const auto left, body.and_then(parse_keep_alive));
    co_return left > 0;
  }

  // The queue as it is now, and whether our lease, if any, continues. An ended claim is forgotten, unless it may still
  // be on its way.
  task<Result<EtcdAnswer>> see(bool& alive, Call call) {
    alive = false;
    task<Result<bool>> keeping;
    // An abandoned claim lives until it is withdrawn, or until its lease ends.
    if (claim_ && !claim_->given_up) keeping = keep_alive(call);
    auto answer = co_await transact(transaction(), true, call);
    if (!answer) {
      if (keeping.valid()) (void)co_await std::move(keeping);
      co_return answer;
    }
    const bool stands = own(*answer) != nullptr;
    if (stands) claim_->unsure = false;
    if (!keeping.valid()) {
      if (stands) claim_->lease = own(*answer)->lease;
      if (claim_ && !stands && !claim_->unsure) claim_.reset();
      alive = stands;
      co_return answer;
    }
    auto kept = co_await std::move(keeping);
    if (const EtcdEntry* entry = own(*answer); entry != nullptr && entry->lease != claim_->lease) {
      // A change of ours whose answer was lost: how long this lease lasts is not known for sure.
      claim_->lease = entry->lease;
      claim_->seconds = 0;
      kept = co_await keep_alive(call);
    }
    BW_CO_TRY(alive, kept);
    if (!alive) std::erase_if(answer->queue, [&](const EtcdEntry& entry) { return entry.key == claim_->name; });
    if (own(*answer) == nullptr && (!alive || !claim_->unsure)) claim_.reset();
    co_return answer;
  }

  task<Result<WriteOutcome>> take(WriteRequest request, Call call) {
    LeaseRecord record = std::move(request.record);
    if (claim_ && claim_->token != record.token) {
      claim_->given_up = true;
      BW_CO_RETURN_IF_ERROR(co_await withdraw(LeaseRecord(), call));
    }
    if (claim_ || must_stand_back(last_, record.holder)) {
      bool alive = false;
      BW_CO_TRY(const auto answer, co_await see(alive, call));
      if (own(answer) != nullptr || must_stand_back(answer, record.holder)) {
        co_return WriteOutcome{ours_is_first(answer), observe(answer)};
      }
    }
    const int64_t seconds = seconds_of(record.lease);
    if (claim_ && claim_->seconds != seconds) {
      // It is in no queue, and its lease differs from the one that others would see.
      BW_CO_RETURN_IF_ERROR(co_await revoke(claim_->lease, call));
      claim_.reset();
    }
    if (!claim_) {
      BW_CO_TRY(const auto lease, co_await grant(seconds, call));
      claim_ = Claim{lease, seconds, fmt::format("{}/{}", key_, lease_text(lease)), record.token, record.holder};
    }
    auto outcome = co_await join(std::move(record), call);
    co_return outcome;
  }

  // Puts our claim, which has its lease, at the end of the queue. It may stand there already when it was unsure.
  task<Result<WriteOutcome>> join(LeaseRecord record, Call call) {
    record.acquired_at = runtime_.wall_now();
    EtcdTransaction enter = transaction();
    enter.if_created(claim_->name, 0);
    enter.if_modified(note_, last_.note ? last_.note->modified : 0);
    enter.put(claim_->name, etcd_value_of(record), claim_->lease);
    if (last_.note) enter.remove(note_);
    claim_->unsure = true;
    BW_CO_TRY(const auto answer, co_await transact(std::move(enter), false, call));
    claim_->unsure = false;
    if (own(answer) == nullptr) {
      const uint64_t lease = claim_->lease;
      claim_.reset();
      co_await revoke(lease, call);
    }
    if (ours_is_first(answer)) lost_ = false;
    co_return WriteOutcome{ours_is_first(answer), observe(answer)};
  }

  task<Result<WriteOutcome>> renew(WriteRequest request, Call call) {
    bool alive = false;
    BW_CO_TRY(const auto answer, co_await see(alive, call));
    const Observation seen = observe(answer);
    if (!alive || !ours_is_first(answer) || seen.version != request.expected) co_return WriteOutcome{false, seen};
    const bool as_long =
        seconds_of(request.record.lease) == claim_->seconds && request.record.lease.ms() <= seen.record.lease.ms();
    if (as_long && request.record.heir == seen.record.heir) {
      co_return WriteOutcome{true, seen};
    }
    auto rewritten = co_await rewrite(answer.queue.front(), std::move(request.record), call);
    co_return rewritten;
  }

  // Our claim with another lease or another heir, in its place in the queue.
  task<Result<WriteOutcome>> rewrite(EtcdEntry entry, LeaseRecord record, Call call) {
    uint64_t lease = claim_->lease;
    const uint64_t before = lease;
    if (const int64_t seconds = seconds_of(record.lease); seconds != claim_->seconds) {
      BW_CO_TRY(lease, co_await grant(seconds, call));
    }
    EtcdTransaction change = transaction();
    change.if_modified(entry.key, entry.modified);
    change.put(entry.key, etcd_value_of(record), lease);
    // When the answer is lost, the new lease is kept alive only after a look has shown that it counts.
    BW_CO_TRY(const auto answer, co_await transact(std::move(change), false, call));
    if (const EtcdEntry* now = own(answer); now != nullptr && now->lease == lease && answer.succeeded) {
      claim_->lease = lease;
      claim_->seconds = seconds_of(record.lease);
      if (lease != before) co_await revoke(before, call);
    }
    co_return WriteOutcome{answer.succeeded, observe(answer)};
  }

  task<Result<WriteOutcome>> release(WriteRequest request, Call call) {
    bool alive = false;
    // Even if the calls fail, the server must not keep an abandoned claim alive.
    if (claim_) claim_->given_up = true;
    BW_CO_TRY(auto answer, co_await see(alive, call));
    if (!claim_) co_return WriteOutcome{false, observe(answer)};
    // Only a holder can name an heir.
    if (!ours_is_first(answer)) request.record.heir.clear();
    BW_CO_TRY(answer, co_await withdraw(std::move(request.record), call));
    co_return WriteOutcome{true, observe(answer)};
  }

  // A request about the claim of the holder, which is another candidate.
  task<Result<WriteOutcome>> amend(WriteRequest request, Call call) {
    bool alive = false;
    BW_CO_TRY(auto answer, co_await see(alive, call));
    if (answer.queue.empty() || version_of(answer) != request.expected) {
      co_return WriteOutcome{false, observe(answer)};
    }
    const EtcdEntry head = answer.queue.front();
    EtcdTransaction change = transaction();
    change.if_modified(head.key, head.modified);
    if (request.record.held()) {
      change.put_keeping_lease(head.key, etcd_value_of(request.record));
    } else {
      change.remove(head.key);
      if (!request.record.heir.empty()) {
        BW_CO_TRY(const auto lease, co_await grant(seconds_of(request.record.lease), call));
        change.put(note_, etcd_value_of(request.record), lease);
      }
    }
    BW_CO_TRY(answer, co_await transact(std::move(change), false, call));
    co_return WriteOutcome{answer.succeeded, observe(answer)};
  }

  // Leaves the queue. With an heir in `left`, a note for it takes the place of the claim in the same instant.
  task<Result<EtcdAnswer>> withdraw(LeaseRecord left, Call call) {
    const Claim claim = *claim_;
    uint64_t note_lease = 0;
    if (!left.heir.empty()) {
      BW_CO_TRY(note_lease, co_await grant(seconds_of(left.lease), call));
    }
    EtcdTransaction leave = transaction();
    leave.remove(claim.name);
    if (!left.heir.empty()) leave.put(note_, etcd_value_of(left), note_lease);
    auto answer = co_await transact(std::move(leave), true, call);
    if (!answer) co_return answer;
    claim_.reset();
    co_await revoke(claim.lease, call);
    co_return answer;
  }

  EtcdTransaction transaction() const { return EtcdTransaction(key_, note_); }
  const EtcdEntry* own(const EtcdAnswer& answer) const {
    if (!claim_) return nullptr;
    for (const EtcdEntry& entry : answer.queue) {
      if (entry.key == claim_->name) return &entry;
    }
    return nullptr;
  }

  bool ours_is_first(const EtcdAnswer& answer) const {
    return !answer.queue.empty() && own(answer) == &answer.queue.front();
  }

  // Another candidate must get the key now, and would have to wait for us.
  bool must_stand_back(const EtcdAnswer& answer, const std::string& holder) const {
    if (!answer.note) return false;
    const auto note = parse_etcd_value(answer.note->value);
    return note && !note->heir.empty() && note->heir != holder;
  }

  Observation observe(const EtcdAnswer& answer) const {
    Observation seen = observe_etcd(answer);
    if (const EtcdEntry* entry = own(answer)) {
      seen.place.joined = true;
      seen.place.ahead = static_cast<uint32_t>(entry - answer.queue.data());
    }
    if (lost_ && !ours_is_first(answer)) {
      seen.may_have_lost_data = true;
      seen.evidence = "etcd shows an older state than before: it lost data or was restored from a copy";
    }
    return seen;
  }

  runtime::Runtime& runtime_;
  EtcdApi& api_;
  std::string key_;
  std::string note_;
  std::optional<Claim> claim_;
  EtcdAnswer last_;    // seen last
  bool lost_ = false;  // etcd's revisions have gone back since
  EtcdWatch watch_{runtime_, api_, key_, last_};
};

class EtcdStore final : public LeaseStore {
 public:
  EtcdStore(runtime::Runtime& runtime, EtcdLogin login, std::string description)
      : runtime_(runtime), description_(std::move(description)), api_(runtime, std::move(login)) {
    traits_.claim = election::ClaimKind::kQueue;
    traits_.chooses_epoch = true;
    traits_.lease_min = Duration::seconds(2);
  }

  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return description_; }
  Result<std::unique_ptr<StoreKey>> open(std::string key) override {
    if (key.empty()) return fail(Errc::kInvalid, "a key must have at least one byte");
    return std::make_unique<EtcdKey>(runtime_, api_, std::move(key));
  }

  task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                            runtime::Cancellation* cancel) override {
    const std::string from = prefix.empty() ? std::string(1, '\0') : prefix;
    std::string range = range_body(from, after_prefix(prefix));
    BW_CO_TRY(const auto body, co_await api_.call("/v3/kv/range", std::move(range), true, deadline, cancel));
    BW_CO_TRY(auto found, parse_range(body));
    std::map<std::string, EtcdAnswer> queues;  // in the order of create revisions within each
    for (EtcdEntry& entry : found.entries) {
      const std::string key = key_of_claim(entry.key);
      if (!key.starts_with(prefix) || key.empty() || entry.lease == 0) continue;
      EtcdAnswer& answer = queues[key];
      answer.cluster = found.cluster;
      answer.revision = found.revision;
      answer.queue.push_back(std::move(entry));
    }
    std::vector<ListedKey> listed;
    for (const auto& [key, answer] : queues) {
      if (listed.size() == most) break;
      listed.push_back({key, observe_etcd(answer)});
    }
    co_return listed;
  }

 private:
  runtime::Runtime& runtime_;
  std::string description_;
  election::StoreTraits traits_;
  EtcdApi api_;
};

}  // namespace

task<Result<EtcdPlace>> etcd_place(runtime::Runtime& runtime, StoreUrl url) {
  EtcdLogin login;
  login.user = url.user;
  login.hosts = url.hosts;
  if (login.hosts.empty()) co_return fail(Errc::kInvalid, url.text + ": the host is missing: etcd://HOST:PORT");
  if (!url.path.empty()) co_return fail(Errc::kInvalid, url.text + ": nothing may follow the hosts of etcd");
  std::vector<std::string> variables{"BELLWETHER_STORE_PASSWORD"};
  BW_CO_TRY(login.password, co_await password_of(runtime, url, std::move(variables)));
  BW_CO_TRY(login.tls, tls_of(url, url.scheme == "etcds"));
  std::string description = url.scheme + "://" + hosts_text(login.hosts);
  co_return EtcdPlace{std::move(login), std::move(description)};
}

task<Result<std::unique_ptr<LeaseStore>>> open_etcd_store(runtime::Runtime& runtime, StoreUrl url) {
  BW_CO_TRY(auto place, co_await etcd_place(runtime, std::move(url)));
  co_return std::make_unique<EtcdStore>(runtime, std::move(place.login), std::move(place.description));
}

}  // namespace bellwether::store
