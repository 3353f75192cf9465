#include "election/store/kubernetes/kubernetes_store.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "election/store/web/web_client.h"

namespace bellwether::store {
namespace {

using runtime::task;

// Hears of changes of one Lease: renewals too, since from then on a lease counts anew.
class KubeWatch final : private WebWatch::Source {
 public:
  // `seen`: the Lease as it was seen last, which is no news. All must outlive this.
  KubeWatch(runtime::Runtime& runtime, KubeApi& api, const std::string& name, const std::optional<KubeLease>& seen)
      : api_(api), name_(name), seen_(seen), watch_(runtime, *this) {}

  runtime::task<bool> changed(runtime::Cancellation* cancel) { return watch_.changed(cancel); }
  const std::string& refused() const { return watch_.refused(); }

 private:
  // Continues from the last seen version, so that no change is missed; otherwise from the present state, which the
  // server sends first.
  task<Status> listen(WebWatch& watch, Instant begin_by, Instant deadline) override {
    std::string from;
    if (seen_ && !std::exchange(forgotten_, false)) from = seen_->version.substr(seen_->version.rfind('.') + 1);
    const Status ended = co_await api_.watch(name_, std::move(from), watch, begin_by, deadline);
    if (!ended && ended.error().code == Errc::kNotFound) forgotten_ = true;
    co_return ended;
  }

  WebWatch::Word hear(std::string_view line) override {
    const auto event = parse_kube_event(line);
    if (!event) return WebWatch::Word::kEnd;
    if (event->over) {
      // The server ends the response itself, and changes may be missing.
      forgotten_ = true;
      return WebWatch::Word::kChanged;
    }
    const bool news = event->name == name_ && (!seen_ || event->version != seen_->version);
    return news ? WebWatch::Word::kChanged : WebWatch::Word::kNothing;
  }

  KubeApi& api_;
  const std::string& name_;
  const std::optional<KubeLease>& seen_;
  bool forgotten_ = false;  // the server has forgotten the changes after the last seen version
  WebWatch watch_;
};

using election::Epoch;
using election::Observation;
using election::WriteOutcome;
using election::WriteRequest;

constexpr int kConflict = 409;
constexpr int kAbsent = 404;

// `known_epoch`: the epoch in the second Lease.
Observation observe(const std::optional<KubeLease>& lease, uint64_t known_epoch) {
  Observation seen;
  if (known_epoch > 0) seen.floor = Epoch(known_epoch + 1);
  if (!lease) {
    seen.version = fmt::format("-{}", known_epoch);
    return seen;
  }
  seen.present = true;
  seen.version = lease->version;
  seen.record = lease->record;
  seen.foreign = lease->foreign;
  if (seen.foreign || !seen.record.held()) {
    seen.record.epoch = std::max(seen.record.epoch, Epoch(known_epoch));
  }
  return seen;
}

class KubernetesKey final : public StoreKey {
 public:
  KubernetesKey(runtime::Runtime& runtime, KubeApi& api, std::string key)
      : runtime_(runtime), api_(api), key_(std::move(key)), name_(kube_name_of(key_)) {}

  task<Result<Observation>> look(Instant deadline, runtime::Cancellation* cancel) override {
    const Call call{deadline, cancel};
    auto reading = read(kube_epoch_name(name_), call);
    auto lease = co_await read(name_, call);
    auto epoch = co_await std::move(reading);
    BW_CO_TRY(auto read_lease, std::move(lease));
    BW_CO_TRY(epoch_, std::move(epoch));
    lease_ = std::move(read_lease);
    looked_ = true;
    co_return now();
  }

  task<Result<WriteOutcome>> act(WriteRequest request, Instant deadline, runtime::Cancellation* cancel) override {
    const Call call{deadline, cancel};
    // An update needs the object. The server compares the version in it.
    if (!looked_ || now().version != request.expected) {
      BW_CO_TRY(auto seen, co_await look(deadline, cancel));
      if (seen.version != request.expected) co_return WriteOutcome{false, std::move(seen)};
    }
    if (request.record.epoch.value() > std::numeric_limits<int32_t>::max()) {
      co_return fail(Errc::kInvalid, "Kubernetes counts no more than 2^31-1 changes of a Lease's holder");
    }
    if (request.record.epoch.value() > known_epoch()) {
      BW_CO_TRY(const auto raised, co_await raise(request.record.epoch.value(), call));
      if (!raised) co_return co_await refused(call);
    } else if (request.kind == WriteRequest::Kind::kTake) {
      co_return co_await refused(call);  // the epoch was given already
    }
    const WallTime wall = runtime_.wall_now();
    const bool take = request.kind == WriteRequest::Kind::kTake;
    request.record.acquired_at = take || !lease_ ? wall : lease_->record.acquired_at;
    request.record.renewed_at = request.kind == WriteRequest::Kind::kAmend && lease_ ? lease_->record.renewed_at : wall;
    BW_CO_TRY(auto written, co_await write(lease_, name_, kube_lease_with(lease_, name_, key_, request.record), call));
    if (!written) co_return co_await refused(call);
    lease_ = std::move(written);
    co_return WriteOutcome{true, now()};
  }

  task<bool> changed(runtime::Cancellation* cancel) override { return watch_.changed(cancel); }
  std::string watch_refused() const override { return watch_.refused(); }

 private:
  struct Call {
    Instant deadline;
    runtime::Cancellation* cancel;
  };

  uint64_t known_epoch() const { return epoch_ ? epoch_->record.epoch.value() : 0; }
  Observation now() const { return observe(lease_, known_epoch()); }

  task<Result<std::optional<KubeLease>>> read(std::string name, Call call) {
    BW_CO_TRY(const auto response, co_await api_.call("GET", std::move(name), {}, call.deadline, call.cancel));
    if (response.status == kAbsent) co_return std::optional<KubeLease>();
    BW_CO_TRY(auto lease, parse_kube_lease(response.body));
    co_return std::optional<KubeLease>(std::move(lease));
  }

  // Nothing if another update came first.
  task<Result<std::optional<KubeLease>>> write(std::optional<KubeLease> before, std::string name, std::string body,
                                               Call call) {
    if (!before) name.clear();
    const char* method = before ? "PUT" : "POST";
    BW_CO_TRY(const auto response,
              co_await api_.call(method, std::move(name), std::move(body), call.deadline, call.cancel));
    if (response.status == kConflict || response.status == kAbsent) co_return std::optional<KubeLease>();
    BW_CO_TRY(auto lease, parse_kube_lease(response.body));
    co_return std::optional<KubeLease>(std::move(lease));
  }

  task<Result<bool>> raise(uint64_t to, Call call) {
    BW_CO_TRY(auto written, co_await write(epoch_, kube_epoch_name(name_), kube_epoch_with(epoch_, name_, to), call));
    if (!written) co_return false;
    epoch_ = std::move(written);
    co_return true;
  }

  task<Result<WriteOutcome>> refused(Call call) {
    BW_CO_TRY(auto seen, co_await look(call.deadline, call.cancel));
    co_return WriteOutcome{false, std::move(seen)};
  }

  runtime::Runtime& runtime_;
  KubeApi& api_;
  std::string key_;
  std::string name_;
  bool looked_ = false;
  std::optional<KubeLease> lease_;  // as they were seen last
  std::optional<KubeLease> epoch_;
  KubeWatch watch_{runtime_, api_, name_, lease_};
};

}  // namespace

class KubernetesStore final : public LeaseStore {
 public:
  KubernetesStore(runtime::Runtime& runtime, KubeAccess access, std::shared_ptr<runtime::TlsContext> tls)
      : runtime_(runtime), api_(runtime, std::move(access), std::move(tls)) {
    traits_.lease_min = Duration::seconds(1);
  }

  const election::StoreTraits& traits() const override { return traits_; }
  std::string describe() const override { return api_.describe(); }
  Result<std::unique_ptr<StoreKey>> open(std::string key) override {
    if (key.empty()) return fail(Errc::kInvalid, "a key must have at least one byte");
    return std::make_unique<KubernetesKey>(runtime_, api_, std::move(key));
  }

  task<Result<std::vector<ListedKey>>> list(std::string prefix, std::size_t most, Instant deadline,
                                            runtime::Cancellation* cancel) override {
    BW_CO_TRY(const auto response, co_await api_.call("GET", {}, {}, deadline, cancel));
    if (response.status != 200) co_return fail(Errc::kNotFound, api_.describe() + ": there are no Leases");
    BW_CO_TRY(const auto leases, parse_kube_list(response.body));
    std::vector<ListedKey> found;
    for (const KubeLease& lease : leases) {
      if (lease.counts_epochs || !lease.key.starts_with(prefix)) continue;
      found.push_back({lease.key, observe(lease, 0)});
    }
    std::ranges::sort(found, [](const ListedKey& a, const ListedKey& b) { return a.key < b.key; });
    if (found.size() > most) found.resize(most);
    co_return found;
  }

 private:
  runtime::Runtime& runtime_;
  election::StoreTraits traits_;
  KubeApi api_;
};

task<Result<std::unique_ptr<LeaseStore>>> open_kubernetes_store(runtime::Runtime& runtime, StoreUrl url) {
  BW_CO_TRY(auto access, co_await find_kubernetes(runtime, url));
  BW_CO_RETURN_IF_ERROR(url.nothing_left("kubeconfig, context, service_account"));
  std::shared_ptr<runtime::TlsContext> tls;
  if (access.tls) {
    auto context = runtime::TlsContext::client(access.tls_options);
    if (!context) co_return fail(context.error().code, "{}: {}", url.text, context.error().message);
    tls = std::move(*context);
  }
  co_return std::make_unique<KubernetesStore>(runtime, std::move(access), std::move(tls));
}

}  // namespace bellwether::store
