#include "cluster/replication/open_job_store.h"

#include <utility>

#include "cluster/replication/etcd_job_store.h"
#include "election/store/store_url.h"

namespace bellwether::jobs {

namespace {

runtime::task<Result<store::EtcdPlace>> place_of(runtime::Runtime& runtime, std::string url) {
  BW_CO_TRY(auto parsed, store::parse_store_url(url));
  if (parsed.scheme != "etcd" && parsed.scheme != "etcds") {
    co_return fail(Errc::kUnsupported, "'" + parsed.text + "' cannot keep jobs: only etcd can (etcd://HOST:PORT)");
  }
  auto place = co_await store::etcd_place(runtime, std::move(parsed));
  co_return place;
}

}  // namespace

runtime::task<Result<std::unique_ptr<JobStore>>> open_etcd_job_store(runtime::Runtime& runtime, std::string url,
                                                                     std::string group, std::string self,
                                                                     JobSettings settings, uint64_t seed) {
  BW_CO_RETURN_IF_ERROR(check_settings(settings));
  if (group.empty() || self.empty()) co_return fail(Errc::kInvalid, "jobs in etcd need a group and a node's name");
  BW_CO_TRY(auto place, co_await place_of(runtime, std::move(url)));
  co_return std::make_unique<EtcdJobStore>(runtime, std::move(place), group, std::move(self), settings, seed);
}

runtime::task<Result<std::unique_ptr<EtcdJobView>>> open_etcd_job_view(runtime::Runtime& runtime, std::string url,
                                                                       std::string group,
                                                                       EtcdJobView::Listener& listener,
                                                                       Duration names_every) {
  BW_CO_TRY(auto place, co_await place_of(runtime, std::move(url)));
  co_return std::make_unique<EtcdJobView>(runtime, std::move(place), group, listener, names_every);
}

}  // namespace bellwether::jobs
