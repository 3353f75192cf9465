#include "cluster/register/open_job_store.h"

#include <utility>

#include "cluster/register/etcd_job_store.h"
#include "store/store_url.h"

namespace bellwether::jobs {

namespace {

runtime::task<Result<store::EtcdPlace>> place_of(runtime::Runtime& runtime, std::string url) {
  auto parsed = store::parse_store_url(url);
  if (!parsed) co_return tl::unexpected(parsed.error());
  if (parsed->scheme != "etcd" && parsed->scheme != "etcds") {
    co_return fail(Errc::kUnsupported, "'" + parsed->text + "' cannot keep jobs: only etcd can (etcd://HOST:PORT)");
  }
  auto place = co_await store::etcd_place(runtime, std::move(*parsed));
  co_return place;
}

}  // namespace

runtime::task<Result<std::unique_ptr<JobStore>>> open_etcd_job_store(runtime::Runtime& runtime, std::string url,
                                                                     std::string group, std::string self,
                                                                     JobSettings settings, uint64_t seed) {
  if (auto good = check_settings(settings); !good) co_return tl::unexpected(good.error());
  if (group.empty() || self.empty()) co_return fail(Errc::kInvalid, "jobs in etcd need a group and a node's name");
  auto place = co_await place_of(runtime, std::move(url));
  if (!place) co_return tl::unexpected(place.error());
  co_return std::make_unique<EtcdJobStore>(runtime, std::move(*place), group, std::move(self), settings, seed);
}

runtime::task<Result<std::unique_ptr<EtcdJobView>>> open_etcd_job_view(runtime::Runtime& runtime, std::string url,
                                                                       std::string group,
                                                                       EtcdJobView::Listener& listener,
                                                                       Duration names_every) {
  auto place = co_await place_of(runtime, std::move(url));
  if (!place) co_return tl::unexpected(place.error());
  co_return std::make_unique<EtcdJobView>(runtime, std::move(*place), group, listener, names_every);
}

}  // namespace bellwether::jobs
