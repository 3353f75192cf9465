// Leases in a JSON file that other programs share (`file:PATH`), or in one file per key in a folder (`file:FOLDER/`).
// Beside each lease file are `.lock`, which we lock and never remove, and `.epoch`, which keeps the highest epoch even
// if the lease file is lost.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/store/disk/disk_claim.h"
#include "election/store/disk/disk_register.h"
#include "election/store/lease_store.h"
#include "election/store/store_url.h"

namespace bellwether::store {

// The meaning of a lease file: {"leader_id", "leader_epoch", "last_heartbeat", "ttl_ms"}, shared with programs that
// write these four fields, take no lock and believe each other's clocks. So the file may be torn, emptied, replaced,
// removed, or begin again at epoch 1 at any time, and may be on a disk that several machines share.
//
// Its heartbeat does not decide whether a lease has expired: observers measure the time without a change. Only a
// heartbeat from the future counts, because it shows that clocks differ by more than the other programs tolerate.
struct LeaseFileRulesOptions {
  Duration skew = Duration::seconds(5);  // how far the clocks of hosts that share the file may be apart
  bool one_machine = true;               // no other machine sees the file
  bool accept_epoch_loss = false;
};

// The asking process, and the system's state at that moment.
struct LeaseFileView {
  runtime::ProcessIdentity self;
  runtime::ProcessSight holder;  // of the process that claim_in_question() names
};

// The claim that counts: the one in the file, or the last one that we know; nullptr: none.
const DiskClaim* claim_in_question(const Found& found);
Result<election::Observation> understand_lease_file(const RegisterFiles& files, const Found& found,
                                                    const LeaseFileRulesOptions& options, const LeaseFileView& view);
// kInvalid when the heartbeat of a lease is later than `now` and the skew allow.
Status check_clock(const RegisterFiles& files, const Found& found, Duration skew, WallTime now);
// The claim as it goes into the file. A released lease appears as an expired one, which is all that other programs
// understand.
DiskClaim as_written(DiskClaim claim);

struct LeaseFileOptions {
  LeaseFileRulesOptions rules;
  std::string path;     // of the file, or of the folder without the slash at its end
  bool folder = false;  // one file per key; otherwise the only key is "default", also known by the name of the file
};

Result<LeaseFileOptions> lease_file_options(StoreUrl url);
runtime::task<Result<std::unique_ptr<LeaseStore>>> open_lease_file_store(runtime::Runtime& runtime,
                                                                         LeaseFileOptions options);

}  // namespace bellwether::store
