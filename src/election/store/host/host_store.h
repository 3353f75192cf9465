// Leases among the processes of one host: a lock file per key in a folder (`flock:DIRECTORY`), which other programs can
// share (profile nip-le). The kernel's lock on the file orders the changes; the file names the holder.
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

// The rules that give a key's lock file its meaning:
//
//   default   A claim is dead only on proof (disk_claim.h), or when observers see it unchanged for its lease. An
//             empty, removed or garbled lock file takes nothing from a living holder: our ledger still names it.
//   nip-le    The rules of NIP-LE, for use beside other programs that follow them. An absent, empty or unreadable
//             claim is free. So is a claim whose process id belongs to no process, or whose renewal is more than two
//             refresh intervals in the past or in the future by the wall clock.
struct HostRulesOptions {
  bool nip_le = false;
  Duration refresh = Duration::seconds(5);
  std::string own_id;       // nip-le: a claim with this instance id is ours, from any writer
  bool one_machine = true;  // no other machine sees the folder
  bool accept_epoch_loss = false;

  Duration stale_after() const { return refresh * 2; }
};

// The asking process, and the system's state at that moment.
struct HostView {
  runtime::ProcessIdentity self;
  runtime::ProcessSight holder;  // of the process id that process_in_question() names
  WallTime now;
};

// The process behind the found claim; pid 0: none.
runtime::ProcessIdentity process_in_question(const Found& found, bool nip_le);
Proof judge_nip_le(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view);
Result<election::Observation> understand_host(const RegisterFiles& files, const Found& found,
                                              const HostRulesOptions& options, const HostView& view);

struct HostStoreOptions {
  HostRulesOptions rules;
  std::string folder;
  bool allow_network = false;
};

// The options of the URL. Without a folder: $XDG_STATE_HOME/bellwether/locks, or ~/.buzz/leader-locks in the profile
// nip-le.
Result<HostStoreOptions> host_store_options(StoreUrl url, Environment environment);
// Whether this is the URL of a host lock in the profile nip-le.
bool is_nip_le(std::string_view url);
// Refuses a folder on a network file system, unless that is allowed. Makes nothing yet.
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_host_store(runtime::Runtime& runtime, HostStoreOptions options);

}  // namespace bellwether::store
