#include "election/store/lease_store.h"

#include <algorithm>
#include <utility>

#include "core/base/units.h"
#include "election/store/environment.h"
#include "election/store/etcd/etcd_store.h"
#include "election/store/file/lease_file_store.h"
#include "election/store/host/host_store.h"
#include "election/store/kubernetes/kubernetes_store.h"
#include "election/store/memory/memory_store.h"
#include "election/store/postgres/postgres_store.h"
#include "election/store/redis/redis_store.h"
#include "election/store/store_url.h"

namespace bellwether::store {
namespace {

Result<std::unique_ptr<LeaseStore>> open_memory(runtime::Runtime& runtime, const StoreUrl& url) {
  BW_RETURN_IF_ERROR(url.nothing_left(""));
  return std::make_unique<MemoryStore>(runtime, MemoryStore::named(url.path));
}

}  // namespace

Duration usual_lease(std::string_view url) {
  auto parsed = parse_store_url(url);
  if (!parsed || parsed->scheme != "flock") return Duration::seconds(15);
  const auto refresh = parsed->take_duration("refresh");
  return refresh && *refresh ? **refresh * 2 : Duration::seconds(10);
}

runtime::task<Result<std::unique_ptr<LeaseStore>>> open_store(runtime::Runtime& runtime, std::string text) {
  BW_CO_TRY(auto url, parse_store_url(text));
  if (url.scheme == "memory") co_return open_memory(runtime, url);
  if (url.scheme == "flock") {
    BW_CO_TRY(auto options, host_store_options(std::move(url), &own_environment));
    auto store = co_await open_host_store(runtime, std::move(options));
    co_return store;
  }
  if (url.scheme == "file") {
    BW_CO_TRY(auto options, lease_file_options(std::move(url)));
    auto store = co_await open_lease_file_store(runtime, std::move(options));
    co_return store;
  }
  if (url.scheme == "etcd" || url.scheme == "etcds") {
    auto store = co_await open_etcd_store(runtime, std::move(url));
    co_return store;
  }
  if (url.scheme == "k8s") {
    auto store = co_await open_kubernetes_store(runtime, std::move(url));
    co_return store;
  }
  if (url.scheme == "postgres") {
    auto store = co_await open_postgres_store(runtime, std::move(url));
    co_return store;
  }
  if (url.scheme == "redis" || url.scheme == "rediss") {
    auto store = co_await open_redis_store(runtime, std::move(url));
    co_return store;
  }
  co_return fail(Errc::kUnsupported, "{}: this build has no store of the scheme '{}:'", text, url.scheme);
}

using election::Epoch;
using election::Observation;

void judge_absence(const ServerLife& life, const std::string& server_name, Observation& seen) {
  if (life.born_ms == 0) {
    seen.may_have_lost_data = true;
    seen.floor = Epoch(life.now_ms);
    seen.evidence = fmt::format("this {} has never stored leases, or has lost all its data", server_name);
    return;
  }
  if (life.marked_in != life.now_in) {
    seen.may_have_lost_data = true;
    seen.floor = Epoch(std::max(life.now_ms, life.born_ms + 1));
    seen.evidence = fmt::format("this {} was restarted or replaced: its last writes may be lost", server_name);
    return;
  }
  seen.present = true;
  seen.record.epoch = Epoch(life.born_ms);
  seen.record.cause = "no candidate has held the key yet";
  const Duration age = Duration::millis(static_cast<int64_t>(life.now_ms) - static_cast<int64_t>(life.born_ms));
  if (age < kDoubtFor) {
    seen.may_have_lost_data = true;
    seen.evidence =
        fmt::format("this {} is new, or was restarted or replaced within {}", server_name, format_duration(kDoubtFor));
  }
}

void judge_record(const ServerLife& life, const std::string& written_in, const std::string& server_name,
                  Observation& seen) {
  if (written_in == life.now_in) return;
  seen.may_have_lost_data = true;
  seen.record.lease = Duration::zero();  // a later one, now lost, may have been longer
  seen.floor = Epoch(std::max(life.now_ms, seen.record.epoch.value() + 1));
  seen.evidence = server_name + " was restarted or replaced after this write: its last writes may be lost";
}

}  // namespace bellwether::store
