// Hears of changes of one Lease: renewals too, since from then on a lease counts anew.
#pragma once

#include <optional>
#include <string>

#include "store/kubernetes/kube_api.h"
#include "store/kubernetes/kube_lease.h"
#include "store/web/web_watch.h"

namespace bellwether::store {

class KubeWatch final : private WebWatch::Source {
 public:
  // `seen`: the Lease as it was seen last, which is no news. All must outlive this.
  KubeWatch(runtime::Runtime& runtime, KubeApi& api, const std::string& name, const std::optional<KubeLease>& seen)
      : api_(api), name_(name), seen_(seen), watch_(runtime, *this) {}

  runtime::task<bool> changed(runtime::Cancellation* cancel) { return watch_.changed(cancel); }
  const std::string& refused() const { return watch_.refused(); }

 private:
  runtime::task<Status> listen(LineSink& sink, Instant begin_by, Instant deadline) override;
  WebWatch::Word hear(std::string_view line) override;

  KubeApi& api_;
  const std::string& name_;
  const std::optional<KubeLease>& seen_;
  bool forgotten_ = false;  // the server does not remember what came after the version seen last
  WebWatch watch_;
};

}  // namespace bellwether::store
