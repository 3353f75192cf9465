#include "election/store/etcd/etcd_store.h"

#include <map>
#include <utility>

#include "election/store/dial.h"
#include "election/store/etcd/etcd_key.h"

namespace bellwether::store {

using runtime::task;

EtcdStore::EtcdStore(runtime::Runtime& runtime, EtcdLogin login, std::string description)
    : runtime_(runtime), description_(std::move(description)), api_(runtime, std::move(login)) {
  traits_.claim = election::ClaimKind::kQueue;
  traits_.chooses_epoch = true;
  traits_.lease_min = Duration::seconds(2);
}

Result<std::unique_ptr<StoreKey>> EtcdStore::open(std::string key) {
  if (key.empty()) return fail(Errc::kInvalid, "a key must have at least one byte");
  return std::make_unique<EtcdKey>(runtime_, api_, std::move(key));
}

task<Result<std::vector<ListedKey>>> EtcdStore::list(std::string prefix, std::size_t most, Instant deadline,
                                                     runtime::Cancellation* cancel) {
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

task<Result<EtcdPlace>> etcd_place(runtime::Runtime& runtime, StoreUrl url) {
  EtcdLogin login;
  login.user = url.user;
  login.hosts = url.hosts;
  if (login.hosts.empty()) co_return fail(Errc::kInvalid, url.text + ": the host is missing: etcd://HOST:PORT");
  if (!url.path.empty()) co_return fail(Errc::kInvalid, url.text + ": nothing may follow the hosts of etcd");
  std::vector<std::string> variables{"BELLWETHER_STORE_PASSWORD"};
  BW_CO_TRY(login.password, co_await password_of(runtime, url, std::move(variables)));
  if (url.scheme == "etcds") {
    BW_CO_TRY(const auto options, tls_options_of(url));
    auto context = runtime::TlsContext::client(options);
    if (!context) co_return fail(context.error().code, "{}: {}", url.text, context.error().message);
    login.tls = std::move(*context);
  }
  const std::string known = url.scheme == "etcds" ? "password_file, " + std::string(kTlsOptions) : "password_file";
  BW_CO_RETURN_IF_ERROR(url.nothing_left(known));
  std::string description = url.scheme + "://";
  for (const HostPort& host : login.hosts) {
    description += (description.ends_with('/') ? "" : ",") + to_string(host);
  }
  co_return EtcdPlace{std::move(login), std::move(description)};
}

task<Result<std::unique_ptr<LeaseStore>>> open_etcd_store(runtime::Runtime& runtime, StoreUrl url) {
  BW_CO_TRY(auto place, co_await etcd_place(runtime, std::move(url)));
  co_return std::make_unique<EtcdStore>(runtime, std::move(place.login), std::move(place.description));
}

}  // namespace bellwether::store
