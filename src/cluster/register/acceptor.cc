#include "cluster/register/acceptor.h"

#include <algorithm>

#include "cluster/register/small.h"
#include "core/base/check.h"
#include "core/base/enum_names.h"
#include "core/base/overloaded.h"
#include "core/base/probe.h"

namespace bellwether::registers {

namespace {

constexpr std::size_t kRecordBytes = 96;  // of a record without its key and its value, at most

bool is_older(const Claim& claim, const Claim& promised) {
  return claim.fence < promised.fence || (claim.fence == promised.fence && promised.owner != quorum::kNobody);
}

// Only the owner of a claim asks for it or writes under it. No claim has the fence 0.
bool is_permitted(MemberId from, const Ask& ask) {
  const bool owns = ask.claim.owner == from && ask.claim.fence > JobFence();
  if (std::holds_alternative<Prepare>(ask.body)) return owns;
  const auto* const writing = std::get_if<Accept>(&ask.body);
  return writing == nullptr || (owns && writing->value.size() <= kMaxValueBytes);
}

}  // namespace

const char* to_string(Verdict verdict) {
  return EnumNames<Verdict>("granted", "there is a newer claim", "the job is held under a lease",
                            "unavailable")[verdict];
}

void JobAcceptor::step(Instant now, const AcceptorEvent& event, AcceptorEffects& out) {
  if (const auto* begin = std::get_if<AcceptorStart>(&event)) return start(now, *begin);
  if (const auto* question = std::get_if<Asked>(&event)) return asked(now, *question, out);
  if (const auto* done = std::get_if<JobKept>(&event)) return kept(*done, out);
  if (const auto* learned = std::get_if<Learned>(&event)) return learn(now, *learned, out);
  const auto slot = slots_.find(std::get<Forget>(event).key);
  if (slot == slots_.end() || !is_retired(slot->second.record.value)) return;
  out.push_back(DropJob{++number_, slot->first});
  bytes_ -= slot->second.record.value.size();
  slots_.erase(slot);
}

// Promises of an earlier life stay valid: only the owner is promised anything before a lease is over.
void JobAcceptor::start(Instant now, const AcceptorStart& start) {
  check(slots_.empty(), "an acceptor starts once");
  readable_ = start.readable;
  for (const RegisterRecord& record : start.records) {
    Slot slot;
    slot.record = record;
    lease(now, slot, record.longest_lease);
    bytes_ += record.value.size();
    slots_.emplace(record.key, std::move(slot));
  }
}

const RegisterRecord* JobAcceptor::find(const std::string& key) const {
  const auto slot = slots_.find(key);
  return slot == slots_.end() ? nullptr : &slot->second.record;
}

bool JobAcceptor::is_leased(Instant now, const std::string& key) const {
  const auto slot = slots_.find(key);
  return slot != slots_.end() && now < slot->second.leased_until;
}

Records JobAcceptor::page(const std::string& after) const {
  Records page;
  std::size_t bytes = 0;
  for (auto slot = slots_.upper_bound(after); slot != slots_.end(); ++slot) {
    bytes += slot->first.size() + slot->second.record.value.size() + kRecordBytes;
    page.more = !page.records.empty() && (bytes > kMaxPageBytes || page.records.size() == kMaxPageRecords);
    if (page.more) break;
    page.records.push_back(slot->second.record);
  }
  return page;
}

void JobAcceptor::asked(Instant now, const Asked& asked, AcceptorEffects& out) {
  const Ask& ask = asked.ask;
  if (ask.key.empty() || ask.key.size() > kMaxKeyBytes) return;
  if (ask.lease <= Duration::zero() || ask.lease > kLongestJobLease) return;
  if (!is_permitted(asked.from, ask)) return;
  auto place = slots_.find(ask.key);
  const bool is_new = place == slots_.end();
  if (!readable_ || (is_new && slots_.size() >= config_.most_jobs)) {
    Answer unable;
    unable.key = ask.key;
    unable.number = ask.number;
    return out.push_back(Reply{asked.from, std::move(unable)});
  }
  if (is_new) {
    if (!std::holds_alternative<Prepare>(ask.body) && !std::holds_alternative<Accept>(ask.body)) return;
    place = slots_.emplace(ask.key, Slot{}).first;
    place->second.record.key = ask.key;
  }
  Slot& slot = place->second;
  std::visit(Overloaded{[&](const Prepare&) { prepare(now, slot, asked.from, ask, out); },
                        [&](const Accept& writing) { accept(now, slot, writing, asked.from, ask, out); },
                        [&](const Confirm&) { confirm(now, slot, asked.from, ask, out); },
                        [&](const Release& leaving) { release(now, slot, ask.claim, leaving.write, out); }},
             ask.body);
}

void JobAcceptor::prepare(Instant now, Slot& slot, MemberId from, const Ask& ask, AcceptorEffects& out) {
  const Claim& promised = slot.record.promised;
  if (ask.claim != promised) {
    if (ask.claim.fence <= promised.fence) return out.push_back(Reply{from, answer(slot, ask, Verdict::kFenced)});
    // The owner of a job needs not wait for its own lease.
    if (promised.owner != from && now < slot.leased_until) {
      BW_PROBE("register: a job is held under a lease");
      Answer leased = answer(slot, ask, Verdict::kLeased);
      leased.again_after = slot.leased_until - now;
      const bool known = std::find(slot.waiting.begin(), slot.waiting.end(), from) != slot.waiting.end();
      if (!known && slot.waiting.size() < kMaxWaiting) slot.waiting.push_back(from);
      return out.push_back(Reply{from, std::move(leased)});
    }
    // No lease yet: of several nodes that take a job at once each would hold a part of the peers, and none a majority.
    slot.record.promised = ask.claim;
    keep(slot, out);
  }
  Answer granted = answer(slot, ask, Verdict::kGranted);
  granted.accepted = slot.record.accepted;
  granted.value = slot.record.value;
  grant(slot, from, std::move(granted), out);
}

// A claim that a majority has promised may be new to this peer; it only has to be newer.
void JobAcceptor::accept(Instant now, Slot& slot, const Accept& body, MemberId from, const Ask& ask,
                         AcceptorEffects& out) {
  const Claim& promised = slot.record.promised;
  const Place place{ask.claim.fence, body.write};
  if (ask.claim != promised && is_older(ask.claim, promised)) {
    BW_PROBE("register: a write under an older fence is refused");
    return out.push_back(Reply{from, answer(slot, ask, Verdict::kFenced)});
  }
  if (ask.claim != promised || place > slot.record.accepted) {
    slot.record.promised = ask.claim;
    slot.record.accepted = place;
    bytes_ += body.value.size() - slot.record.value.size();
    slot.record.value = body.value;
    slot.record.unsettled = true;
    slot.record.longest_lease = std::max(slot.record.longest_lease, ask.lease);
    keep(slot, out);
  }
  lease(now, slot, ask.lease);
  grant(slot, from, answer(slot, ask, Verdict::kGranted), out);
}

void JobAcceptor::confirm(Instant now, Slot& slot, MemberId from, const Ask& ask, AcceptorEffects& out) {
  const Claim& promised = slot.record.promised;
  if (ask.claim != promised) {
    const bool older = is_older(ask.claim, promised);
    return out.push_back(Reply{from, answer(slot, ask, older ? Verdict::kFenced : Verdict::kUnable)});
  }
  if (ask.lease > slot.record.longest_lease) {
    slot.record.longest_lease = ask.lease;
    keep(slot, out);
  }
  lease(now, slot, ask.lease);
  grant(slot, from, answer(slot, ask, Verdict::kGranted), out);
}

// A promise that was only learned binds this replica to nobody, because it may not know who holds the job; but a node
// that writes under its fence has majorities.
void JobAcceptor::learn(Instant now, const Learned& learned, AcceptorEffects& out) {
  std::vector<uint64_t> waits;
  for (const RegisterRecord& theirs : learned.records) {
    const auto [place, is_new] = slots_.try_emplace(theirs.key);
    if (!readable_ || (is_new && slots_.size() > config_.most_jobs)) {
      if (is_new) slots_.erase(place);
      return out.push_back(PageKept{learned.page, false});
    }
    Slot& slot = place->second;
    RegisterRecord& ours = slot.record;
    const RegisterRecord before = ours;
    ours.key = theirs.key;
    const auto known = [](const RegisterRecord& record) {
      return writer_of(record) == quorum::kNobody ? Claim{record.promised.fence, {}, 0} : record.promised;
    };
    const Claim claim = known(theirs);
    ours.promised = known(ours);
    if (claim.fence > ours.promised.fence || (claim.fence == ours.promised.fence && claim.owner != quorum::kNobody)) {
      ours.promised = claim;
    }
    if (theirs.accepted > ours.accepted) {
      BW_PROBE("register: a replica learns a newer value from another");
      ours.accepted = theirs.accepted;
      bytes_ += theirs.value.size() - ours.value.size();
      ours.value = theirs.value;
      ours.unsettled = true;
    }
    ours.longest_lease = std::max(ours.longest_lease, theirs.longest_lease);
    lease(now, slot, theirs.longest_lease);
    if (ours != before || slot.failed) keep(slot, out);
    if (slot.durable < slot.wanted) waits.push_back(slot.wanted);
  }
  if (waits.empty()) return out.push_back(PageKept{learned.page, true});
  for (const uint64_t number : waits) paged_.emplace(number, learned.page);
}

void JobAcceptor::release(Instant now, Slot& slot, const Claim& claim, uint64_t write, AcceptorEffects& out) {
  if (claim != slot.record.promised) return;
  if (slot.record.unsettled && slot.record.accepted == Place{claim.fence, write}) {
    slot.record.unsettled = false;
    keep(slot, out);
  }
  slot.leased_until = std::min(slot.leased_until, now);
  for (const MemberId one : slot.waiting) out.push_back(TellFreed{one, slot.record.key});
  slot.waiting.clear();
}

void JobAcceptor::lease(Instant now, Slot& slot, Duration span) {
  slot.leased_until =
      std::max(slot.leased_until, now + Duration::from_seconds_f(span.seconds_f() * (1 + config_.drift)));
}

Answer JobAcceptor::answer(const Slot& slot, const Ask& ask, Verdict verdict) const {
  Answer out;
  out.key = ask.key;
  out.number = ask.number;
  out.verdict = verdict;
  out.promised = slot.record.promised;
  return out;
}

// --- the disk --------------------------------------------------------------------------------------------------------

void JobAcceptor::keep(Slot& slot, AcceptorEffects& out) {
  slot.wanted = ++number_;
  slot.failed = false;
  keeping_.emplace(number_, slot.record.key);
  out.push_back(KeepJob{number_, slot.record});
}

// A grant is valid only when the disk has it.
void JobAcceptor::grant(Slot& slot, MemberId to, Answer answer, AcceptorEffects& out) {
  if (slot.failed) keep(slot, out);
  if (slot.durable >= slot.wanted) return out.push_back(Reply{to, std::move(answer)});
  std::erase_if(slot.held, [&](const Held& one) { return one.to == to; });
  if (slot.held.size() < kMaxHeld) slot.held.push_back({to, std::move(answer), slot.wanted});
}

void JobAcceptor::kept(const JobKept& kept, AcceptorEffects& out) {
  const auto [first, last] = paged_.equal_range(kept.number);
  std::vector<uint64_t> pages;
  for (auto one = first; one != last; ++one) pages.push_back(one->second);
  paged_.erase(first, last);
  for (const uint64_t page : pages) {
    const auto waits = [&](const auto& one) { return one.second == page; };
    if (kept.ok && std::any_of(paged_.begin(), paged_.end(), waits)) continue;
    std::erase_if(paged_, waits);
    out.push_back(PageKept{page, kept.ok});
  }
  const auto key = keeping_.find(kept.number);
  if (key == keeping_.end()) return;
  const auto place = slots_.find(key->second);
  keeping_.erase(key);
  if (place == slots_.end()) return;
  Slot& slot = place->second;
  if (!kept.ok) {
    BW_PROBE("register: a record could not be written");
    if (kept.number == slot.wanted) slot.failed = true;
    std::erase_if(slot.held, [&](const Held& one) { return one.keep == kept.number; });
    return;
  }
  slot.durable = std::max(slot.durable, kept.number);
  std::vector<Held> held;
  held.swap(slot.held);
  for (Held& one : held) {
    // A claim that is no longer the newest gets no grant.
    if (one.answer.promised != slot.record.promised) continue;
    if (one.keep <= slot.durable) {
      out.push_back(Reply{one.to, std::move(one.answer)});
    } else {
      slot.held.push_back(std::move(one));
    }
  }
}

}  // namespace bellwether::registers
