// The claim of a key in a file: the record, the holder's process, and the JSON that other programs share with us. Two
// forms:
//
//   a lock file   {"instance_id", "pid", "claimed_at"}                              (NIP-LE)
//   a lease file  {"leader_id", "leader_epoch", "last_heartbeat", "ttl_ms"}
//
// Our claims have further fields, which other programs ignore and drop: token, epoch, renewal, lease, the holder's
// process, and a checksum. The checksum covers related fields, so that a program that copies unknown fields cannot make
// a claim look like ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/runtime/processes.h"
#include "election/lease_record.h"

namespace bellwether::store {

struct DiskClaim {
  // Of a foreign claim, only the fields of other programs. renewed_at is the claim's last heartbeat.
  election::LeaseRecord record;
  runtime::ProcessIdentity process;  // pid 0: not given
  bool foreign = false;              // another program wrote it: our fields are missing, or do not belong to it
};

enum class ClaimForm : unsigned char {
  kLockFile,
  kLeaseFile,
  kOneLine,  // a lease file's fields without line breaks
};

std::string write_claim(ClaimForm form, const DiskClaim& claim);
// kTooLarge over 64 KiB, else kInvalid with the reason. Ignores unknown fields. A lease file may have no leader.
Result<DiskClaim> read_claim(ClaimForm form, std::string_view text);

inline constexpr std::size_t kMaxClaimBytes = 64 * 1024;

// Proof from the process behind a claim. A claim is dead only on proof: no process has its id, the process with its id
// started at another time, or the machine has restarted since. An unprovable claim counts as alive: of another machine
// or container, or of a process that the system hides.
struct Proof {
  election::HolderSight sight = election::HolderSight::kUnknown;
  std::string why;  // in words, for kDead
};

// `holder` from the claim, `self` the process that asks, `seen` the system's view of the holder's process id.
// `one_machine`: the claim cannot be of another machine, because the disk belongs to this one.
Proof judge_process(const runtime::ProcessIdentity& holder, const runtime::ProcessIdentity& self,
                    const runtime::ProcessSight& seen, bool one_machine);

// The data that must outlive every claim of a key: the highest epoch ever given out, and its claim. It is in our own
// file beside the lock file or lease file; no other program touches it. We write it before its claim, so no epoch comes
// twice, even if the other file is lost or damaged.
struct KeyLedger {
  std::string key;
  uint64_t serial = 0;    // grows with each change of this file
  election::Epoch floor;  // the highest epoch so far
  DiskClaim last;         // as taken, amended or released: without its renewals
};

// Three lines: numbers and key, the claim as JSON, and the SHA-256 of the lines above.
std::string write_ledger(const KeyLedger& ledger);
// kInvalid with the reason when it is damaged.
Result<KeyLedger> read_ledger(std::string_view text);

}  // namespace bellwether::store
