#include "store/host/host_claim.h"

#include "base/probe.h"
#include "base/units.h"

namespace bellwether::store {
namespace {

using election::Epoch;
using election::HolderSight;
using election::Observation;

// There is a claim in the lock file.
void describe_claim(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view, Observation& seen) {
  seen.record = claim.record;
  seen.foreign = claim.foreign;
  Proof proof;
  if (options.nip_le) {
    if (claim.foreign) seen.record.lease = options.stale_after();
    proof = judge_nip_le(claim, options, view);
  } else {
    proof = judge_process(claim.process, view.self, view.holder, options.one_machine);
  }
  if (claim.foreign) {
    seen.record.acquired_at = {};
    seen.evidence = "the claim was written by another program";
  }
  seen.sight = proof.sight;
  if (!proof.why.empty()) seen.evidence = proof.why;
}

// There is none, or nothing that makes sense: what the ledger knows counts.
void describe_blank(const Found& found, const HostRulesOptions& options, const HostView& view, Observation& seen) {
  const election::LeaseRecord& last = found.ledger->last.record;
  seen.record = last;
  if (!last.held()) return;
  const std::string what = found.text.present ? "the lock file cannot be read (" + found.trouble + ")"
                                              : std::string("the lock file was removed");
  if (options.nip_le) {
    seen.record = {};
    seen.record.cause = what;
    return;
  }
  BW_PROBE("store: a lock file was emptied under its holder");
  const Proof proof = judge_process(found.ledger->last.process, view.self, view.holder, options.one_machine);
  seen.sight = proof.sight;
  seen.evidence = what + " although " + last.holder + " had not released the key";
  if (!proof.why.empty()) seen.evidence = proof.why;
}

bool is_own(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view) {
  if (options.own_id.empty() || claim.record.holder != options.own_id) return false;
  // Two living processes of ours with one id would take the key from each other for ever.
  const Proof proof = judge_process(claim.process, view.self, view.holder, options.one_machine);
  return claim.foreign || proof.sight != HolderSight::kAlive || claim.process.pid == view.self.pid;
}

}  // namespace

runtime::ProcessIdentity process_in_question(const Found& found, bool nip_le) {
  if (found.claim) return found.claim->process;
  if (nip_le || !found.ledger || !found.ledger->last.record.held()) return {};
  return found.ledger->last.process;
}

Proof judge_nip_le(const DiskClaim& claim, const HostRulesOptions& options, const HostView& view) {
  if (is_own(claim, options, view)) return {HolderSight::kDead, "the claim carries our own instance id"};
  const Proof proof = judge_process(claim.process, view.self, view.holder, options.one_machine);
  if (proof.sight == HolderSight::kDead) return proof;
  if (view.holder.state == runtime::ProcessSight::State::kDead) {
    return {HolderSight::kDead, "its process " + std::to_string(claim.process.pid) + " is gone"};
  }
  const Duration age = Duration::nanos(view.now.unix_ns - claim.record.renewed_at.unix_ns);
  if (age > options.stale_after()) {
    BW_PROBE("store: a NIP-LE claim is stale");
    return {HolderSight::kDead, "it was not renewed for " + format_duration(age)};
  }
  if (-age > options.stale_after()) {
    return {HolderSight::kDead, "it is dated " + format_duration(-age) + " in the future"};
  }
  return {HolderSight::kAlive, {}};
}

Result<Observation> understand_host(const RegisterFiles& files, const Found& found, const HostRulesOptions& options,
                                    const HostView& view) {
  if (const auto kept = check_ledger(files, found, options.accept_epoch_loss); !kept) {
    return tl::unexpected(kept.error());
  }
  Observation seen;
  seen.version = version_of(ClaimForm::kLockFile, found);
  const Epoch highest = highest_epoch(found);
  if (highest > Epoch()) seen.floor = Epoch(highest.value() + 1);
  if (found.claim) {
    seen.present = true;
    describe_claim(*found.claim, options, view, seen);
    if (found.claim->foreign) seen.record.epoch = highest;
  } else if (found.ledger) {
    seen.present = true;
    describe_blank(found, options, view, seen);
    if (!seen.record.held()) seen.record.epoch = highest;
  } else {
    seen.may_have_lost_data = found.ledger_present;
    if (!found.text.text.empty()) seen.evidence = "the lock file cannot be read (" + found.trouble + ")";
  }
  return seen;
}

}  // namespace bellwether::store
