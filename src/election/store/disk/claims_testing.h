// Claims, ledgers and found files, for tests of the code that judges them.
#pragma once

#include <string>

#include "election/store/disk/disk_register.h"

namespace bellwether::store {

inline constexpr WallTime kNoon{1'767'528'000'000'000'000};  // 2026-01-04T12:00:00Z
inline WallTime after_noon(Duration span) { return {kNoon.unix_ns + span.ns()}; }

inline runtime::ProcessIdentity process(int64_t pid, uint64_t start_time = 500, std::string boot_id = "boot-1") {
  return {.pid = pid,
          .start_time = start_time,
          .boot_id = std::move(boot_id),
          .pid_namespace = "pid:[1]",
          .host = "machine"};
}

inline runtime::ProcessSight alive(uint64_t start_time = 500) {
  return {runtime::ProcessSight::State::kAlive, start_time};
}
inline runtime::ProcessSight hidden() { return {}; }
inline runtime::ProcessSight dead() { return {runtime::ProcessSight::State::kDead, std::nullopt}; }

inline DiskClaim claim_of(const std::string& holder, uint64_t epoch) {
  DiskClaim claim;
  claim.record.holder = holder;
  claim.record.token = "token of " + holder;
  claim.record.epoch = election::Epoch(epoch);
  claim.record.renewal = 3;
  claim.record.lease = Duration::seconds(15);
  claim.record.acquired_at = after_noon(-Duration::minutes(1));
  claim.record.renewed_at = kNoon;
  claim.record.cause = "elected";
  claim.process = process(4711);
  return claim;
}

inline Found found_text(ClaimForm form, std::string text) {
  Found found;
  found.text = {.present = true, .too_long = false, .text = std::move(text)};
  if (auto claim = read_claim(form, found.text.text)) {
    found.claim = std::move(*claim);
  } else {
    found.trouble = claim.error().message;
  }
  return found;
}
inline Found with_ledger(Found found, uint64_t floor, DiskClaim last) {
  found.ledger_present = true;
  found.ledger = KeyLedger{.key = "key", .serial = 7, .floor = election::Epoch(floor), .last = std::move(last)};
  return found;
}
inline DiskClaim released(DiskClaim claim) {
  claim.record.holder.clear();
  claim.record.token.clear();
  claim.record.cause = "released";
  return claim;
}

}  // namespace bellwether::store
