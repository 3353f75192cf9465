#include "store/file/lease_file.h"

#include "base/probe.h"
#include "base/units.h"
#include "base/wall_text.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::Observation;

void describe_foreign(const DiskClaim& claim, Epoch highest, Observation& seen) {
  seen.foreign = true;
  seen.record.epoch = highest;
  seen.evidence = "the lease was written by another program";
  if (claim.record.epoch < highest) {
    BW_PROBE("store: a foreign program went back in epochs");
    seen.evidence += ", under epoch " + std::to_string(claim.record.epoch.value()) + " although epoch " +
                     std::to_string(highest.value()) + " was given out before: its acts are out of order";
  }
}

// The file is there and makes no sense. Whoever wrote it may hold the key, if it was not the one that we know of.
void describe_unreadable(const Found& found, Epoch highest, Observation& seen) {
  BW_PROBE("store: a lease file cannot be read");
  seen.evidence = "the lease file cannot be read (" + found.trouble + "); it will be put aside";
  if (found.ledger && found.ledger->last.record.held()) {
    seen.record = found.ledger->last.record;
    return;
  }
  seen.record.holder = "unknown";
  seen.record.epoch = highest;
  seen.foreign = true;
}

}  // namespace

const DiskClaim* claim_in_question(const Found& found) {
  if (found.claim) return &*found.claim;
  return found.ledger && !found.text.present ? &found.ledger->last : nullptr;
}

Result<Observation> understand_lease_file(const RegisterFiles& files, const Found& found,
                                          const LeaseFileRulesOptions& options, const LeaseFileView& view) {
  if (const auto kept = check_ledger(files, found, options.accept_epoch_loss); !kept) {
    return tl::unexpected(kept.error());
  }
  Observation seen;
  seen.version = version_of(ClaimForm::kLeaseFile, found);
  const Epoch highest = highest_epoch(found);
  if (highest > Epoch()) seen.floor = Epoch(highest.value() + 1);
  seen.present = found.text.present || found.ledger;
  seen.may_have_lost_data = !seen.present && found.ledger_present;
  const DiskClaim* claim = claim_in_question(found);
  if (claim == nullptr) {
    if (found.text.present) describe_unreadable(found, highest, seen);
    return seen;
  }
  seen.record = claim->record;
  if (claim->foreign) {
    describe_foreign(*claim, highest, seen);
    return seen;
  }
  if (!claim->record.held()) {
    if (found.ledger) seen.record = found.ledger->last.record;
    seen.record.holder.clear();
    seen.record.epoch = highest;
    return seen;
  }
  const Proof proof = judge_process(claim->process, view.self, view.holder, options.one_machine);
  seen.sight = proof.sight;
  seen.evidence = proof.why;
  if (!found.text.present && proof.why.empty()) {
    seen.evidence = "the lease file was removed although " + claim->record.holder + " had not released the key";
  }
  return seen;
}

Status check_clock(const RegisterFiles& files, const Found& found, Duration skew, WallTime now) {
  if (!found.claim || !found.claim->record.held()) return {};
  const WallTime beat = found.claim->record.renewed_at;
  const Duration ahead = Duration::nanos(beat.unix_ns - now.unix_ns);
  if (ahead <= skew) return {};
  BW_PROBE("store: a lease is from the future");
  const std::string& host = found.claim->process.host;
  return fail(Errc::kInvalid, "the lease of '" + found.claim->record.holder + "' in '" + files.claim +
                                  "' was renewed " + format_duration(ahead) + " in the future: at " +
                                  format_wall(beat) + ", and here it is " + format_wall(now) +
                                  ". The clocks of the hosts that share the file disagree, or this one was set "
                                  "back; compare `date` here and on " +
                                  (host.empty() ? std::string("the others") : host) +
                                  " and correct the wrong one (?skew= allows for more than " + format_duration(skew) +
                                  ")");
}

DiskClaim as_written(DiskClaim claim) {
  if (claim.record.held()) return claim;
  claim.record.renewed_at = {};
  claim.record.lease = {};
  return claim;
}

}  // namespace bellwether::store
