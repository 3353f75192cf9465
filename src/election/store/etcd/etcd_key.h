// One candidate's place in the queue of one key, and its view of the queue.
#pragma once

#include <optional>
#include <string>

#include "election/store/etcd/etcd_api.h"
#include "election/store/lease_store.h"
#include "election/store/web/web_client.h"

namespace bellwether::store {

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
  runtime::task<Status> listen(WebWatch& watch, Instant begin_by, Instant deadline) override;
  WebWatch::Word hear(std::string_view line) override;

  EtcdApi& api_;
  const std::string& key_;
  const EtcdAnswer& seen_;
  WebWatch watch_;
};

// The queue's meaning for an observer outside of it.
election::Observation observe_etcd(const EtcdAnswer& answer);

class EtcdKey final : public StoreKey {
 public:
  EtcdKey(runtime::Runtime& runtime, EtcdApi& api, std::string key)
      : runtime_(runtime), api_(api), key_(std::move(key)), note_("bellwether/heir/" + key_) {}

  runtime::task<Result<election::Observation>> look(Instant deadline, runtime::Cancellation* cancel) override;
  runtime::task<Result<election::WriteOutcome>> act(election::WriteRequest request, Instant deadline,
                                                    runtime::Cancellation* cancel) override;
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

  runtime::task<Result<EtcdAnswer>> transact(EtcdTransaction transaction, bool repeatable, Call call);
  runtime::task<Result<uint64_t>> grant(int64_t seconds, Call call);
  runtime::task<Status> revoke(uint64_t lease, Call call);
  // Whether the claim's lease lives on. REQUIRES a claim.
  runtime::task<Result<bool>> keep_alive(Call call);
  runtime::task<Result<EtcdAnswer>> see(bool& alive, Call call);

  runtime::task<Result<election::WriteOutcome>> take(election::WriteRequest request, Call call);
  runtime::task<Result<election::WriteOutcome>> join(election::LeaseRecord record, Call call);
  runtime::task<Result<election::WriteOutcome>> renew(election::WriteRequest request, Call call);
  runtime::task<Result<election::WriteOutcome>> rewrite(EtcdEntry own, election::LeaseRecord record, Call call);
  runtime::task<Result<election::WriteOutcome>> release(election::WriteRequest request, Call call);
  runtime::task<Result<election::WriteOutcome>> amend(election::WriteRequest request, Call call);
  runtime::task<Result<EtcdAnswer>> withdraw(election::LeaseRecord left, Call call);

  EtcdTransaction transaction() const { return EtcdTransaction(key_, note_); }
  const EtcdEntry* own(const EtcdAnswer& answer) const;
  bool ours_is_first(const EtcdAnswer& answer) const;
  bool must_stand_back(const EtcdAnswer& answer, const std::string& holder) const;
  election::Observation observe(const EtcdAnswer& answer) const;

  runtime::Runtime& runtime_;
  EtcdApi& api_;
  std::string key_;
  std::string note_;
  std::optional<Claim> claim_;
  EtcdAnswer last_;    // seen last
  bool lost_ = false;  // etcd's revisions have gone back since
  EtcdWatch watch_{runtime_, api_, key_, last_};
};

}  // namespace bellwether::store
