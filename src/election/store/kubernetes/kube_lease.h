// Converts between a Lease object of Kubernetes and our record, without a connection. The fields of client-go
// (holderIdentity, leaseDurationSeconds, acquireTime, renewTime, leaseTransitions) keep their meaning; the rest of the
// record is in annotations below bellwether.dev/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "election/lease_record.h"

namespace bellwether::store {

// The name of the Lease for a key: the key itself if Kubernetes permits it as a name, else one made of its hash.
std::string kube_name_of(const std::string& key);
std::string kube_epoch_name(const std::string& name);

struct KubeLease {
  std::string text;     // the object, as the server gave it
  std::string version;  // its uid and resourceVersion
  std::string name;
  std::string key;
  bool counts_epochs = false;  // it is no lease but the epoch of one
  election::LeaseRecord record;
  bool foreign = false;
};

Result<KubeLease> parse_kube_lease(const std::string& text);
Result<std::vector<KubeLease>> parse_kube_list(const std::string& text);

// The object to send: `before`, as the server gave it, or a new one, with this record in it.
std::string kube_lease_with(const std::optional<KubeLease>& before, const std::string& name, const std::string& key,
                            const election::LeaseRecord& record);
// The object that remembers the epoch of the Lease `name`.
std::string kube_epoch_with(const std::optional<KubeLease>& before, const std::string& name, uint64_t epoch);
// A line of a watch.
struct KubeEvent {
  bool over = false;    // an error: the versions asked for are forgotten
  std::string name;     // of the Lease; empty: about none
  std::string version;  // as KubeLease::version; of a Lease that was deleted, that of its end
};
Result<KubeEvent> parse_kube_event(std::string_view line);
// The message of a refusal.
std::string kube_message(const std::string& body);

}  // namespace bellwether::store
