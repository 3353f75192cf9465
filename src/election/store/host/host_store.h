// Leases among the processes of one host: a lock file for each key in a folder (`flock:DIRECTORY`), which other
// programs can share (profile nip-le). The kernel's lock on the file orders the changes; who holds the key stands in
// the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/store/disk/disk_claim.h"
#include "election/store/disk/disk_register.h"
#include "election/store/environment.h"
#include "election/store/lease_store.h"
#include "election/store/store_url.h"

namespace bellwether::store {

// What the lock file of a key means. Two sets of rules:
//
//   default   A claim is dead only on proof (disk_claim.h), or when it has not changed for its lease as its
//   observers
//             measure it. A lock file that was emptied, removed or garbled under a living holder takes nothing from it:
//             our ledger still names it.
//   nip-le    The rules of NIP-LE, for use beside other programs that follow them: what is absent, empty or cannot be
//             read is free, and so is a claim whose process id belongs to nobody, that was not renewed for two refresh
//             intervals by the wall clock, or that lies as far in the future.
struct HostRulesOptions {
  bool nip_le = false;
  Duration refresh = Duration::seconds(5);
  std::string own_id;       // nip-le: a claim with this instance id is ours, whoever wrote it
  bool one_machine = true;  // no other machine sees the folder
  bool accept_epoch_loss = false;

  Duration stale_after() const { return refresh * 2; }
};

// Who asks, and what the system shows at that moment.
struct HostView {
  runtime::ProcessIdentity self;
  runtime::ProcessSight holder;  // of the process id that process_in_question() names
  WallTime now;
};

// The process that stands behind what was found; pid 0 when there is none.
runtime::ProcessIdentity process_in_question(const Found& found, bool nip_le);
Proof judge_nip_le(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view);
Result<election::Observation> understand_host(const RegisterFiles& files, const Found& found,
                                              const HostRulesOptions& options, const HostView& view);

struct HostStoreOptions {
  HostRulesOptions rules;
  std::string folder;
  bool allow_network = false;
};

// What the URL says. Without a folder: $XDG_STATE_HOME/bellwether/locks, or ~/.buzz/leader-locks in the profile nip-le.
Result<HostStoreOptions> host_store_options(StoreUrl url, Environment environment);
// Whether this is the URL of a host lock in the profile nip-le.
bool is_nip_le(std::string_view url);
// Refuses a folder on a network file system, unless that is allowed. Makes nothing yet.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_host_store(runtime::Runtime& runtime, HostStoreOptions options);

}  // namespace bellwether::store
