// Finds one living member of the cluster to join through: the kernel of cluster/discovery/bootstrap.h with names,
// probes and handshakes of a runtime. One thread, that of its runtime.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/discovery/bootstrap.h"
#include "cluster/wire/link/client.h"
#include "core/base/callback.h"
#include "core/runtime/kernel_driver.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"

namespace bellwether::cluster {

class Joining {
 public:
  // All must outlive it. `report` gets what was tried in vain, when that is news: a cluster that starts needs a few
  // rounds.
  Joining(runtime::Runtime& runtime, const link::DialSettings& dialling, const wire::Keyring& keyring,
          link::RefusalWatch& refusals, discovery::Metrics& metrics, Callback<void(const std::string&)> report = {})
      : runtime_(runtime),
        dialling_(dialling),
        keyring_(keyring),
        refusals_(refusals),
        metrics_(metrics),
        report_(report) {}
  Joining(const Joining&) = delete;
  Joining& operator=(const Joining&) = delete;

  struct Way {
    std::optional<runtime::Endpoint> through;  // nothing: this node is the first one
  };
  // kTimeout with all that was tried when the settings have a limit, kCancelled.
  runtime::task<Result<Way>> find(discovery::BootstrapSettings settings, discovery::event::Start start,
                                  runtime::Cancellation* cancel);

 private:
  using Loop = runtime::KernelDriver<Joining, discovery::Bootstrap, discovery::BootstrapEvent,
                                     std::vector<discovery::BootstrapEffect>, runtime::KernelClock::kSteady>;
  friend Loop;
  void carry_out(const discovery::effect::Resolve& ask);
  void carry_out(const discovery::effect::Probe& ping);
  void carry_out(const discovery::effect::Join& ask_in);
  void carry_out(const discovery::effect::Joined& joined);
  void carry_out(const discovery::effect::Failed& failed);
  void carry_out(const discovery::effect::CancelProbe& no_probe);
  void carry_out(const discovery::effect::CancelJoin& no_join);
  void settled();
  runtime::task<void> resolve(discovery::Question question);
  runtime::task<void> probe(HostPort place, Instant at, Duration timeout);
  runtime::task<void> knock(HostPort place);
  static Result<runtime::Endpoint> endpoint_of(const HostPort& place);

  runtime::Runtime& runtime_;
  const link::DialSettings& dialling_;
  const wire::Keyring& keyring_;
  link::RefusalWatch& refusals_;
  discovery::Metrics& metrics_;
  Callback<void(const std::string&)> report_;
  std::string reported_;
  std::optional<discovery::Bootstrap> kernel_;
  std::optional<Loop> loop_;
  std::optional<Result<Way>> outcome_;
  Duration probe_timeout_;
  std::map<HostPort, runtime::Cancellation*> probing_;
  std::map<HostPort, runtime::Cancellation*> knocking_;
  runtime::Scope* scope_ = nullptr;
};

}  // namespace bellwether::cluster
