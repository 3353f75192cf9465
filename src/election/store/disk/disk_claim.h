// Who holds a key, as it stands in a file: the record, the process behind it, and the JSON that other programs share
// with us. Two forms are written and read:
//
//   a lock file   {"instance_id", "pid", "claimed_at"}                              (NIP-LE)
//   a lease file  {"leader_id", "leader_epoch", "last_heartbeat", "ttl_ms"}
//
// Ours carry further fields, which other programs ignore and drop: token, epoch, renewal, lease, the holder's process,
// and a check over what belongs together, so that a program that copies fields it does not know cannot make a claim
// look like ours.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/runtime/epoll/processes.h"
#include "election/lease_record.h"

namespace bellwether::store {

struct DiskClaim {
  // Of a foreign claim only what other programs write. renewed_at is what the claim says of its last heartbeat.
  election::LeaseRecord record;
  runtime::ProcessIdentity process;  // pid 0: not said
  bool foreign = false;              // another program wrote it: our fields are missing, or do not belong to it
};

enum class ClaimForm : unsigned char {
  kLockFile,
  kLeaseFile,
  kOneLine,  // a lease file's fields without line breaks
};

std::string write_claim(ClaimForm form, const DiskClaim& claim);
// kTooLarge over 64 KiB, else kInvalid with the reason. Unknown fields are left out. A lease file may have no leader.
Result<DiskClaim> read_claim(ClaimForm form, std::string_view text);

inline constexpr std::size_t kMostClaimBytes = 64 * 1024;

}  // namespace bellwether::store
