// Hears of changes of the queue of one key: claims that come, that their candidates take back, or that etcd ends with
// their leases. So whoever is next learns at once that a holder has not kept its lease alive.
#pragma once

#include <string>

#include "store/etcd/etcd_api.h"
#include "store/web/web_watch.h"

namespace bellwether::store {

class EtcdWatch final : private WebWatch::Source {
 public:
  // `seen`: what was seen of the queue last; what it knows is no news. All must outlive this.
  EtcdWatch(runtime::Runtime& runtime, EtcdApi& api, const std::string& key, const EtcdAnswer& seen)
      : api_(api), key_(key), seen_(seen), watch_(runtime, *this) {}

  runtime::task<bool> changed(runtime::Cancellation* cancel) { return watch_.changed(cancel); }
  const std::string& refused() const { return watch_.refused(); }

 private:
  runtime::task<Status> listen(LineSink& sink, Instant begin_by, Instant deadline) override;
  WebWatch::Word hear(std::string_view line) override;

  EtcdApi& api_;
  const std::string& key_;
  const EtcdAnswer& seen_;
  WebWatch watch_;
};

}  // namespace bellwether::store
