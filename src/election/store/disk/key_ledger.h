// What must outlive every claim of a key: the highest epoch ever given out, and the claim that it was given to. It
// stands in a file of our own beside the lock file or lease file, which no other program touches, and is written before
// the claim it belongs to. So an epoch never comes twice, whatever happens to the other file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "election/store/disk/disk_claim.h"

namespace bellwether::store {

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
