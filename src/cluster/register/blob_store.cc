#include "cluster/register/blob_store.h"

#include <algorithm>

#include "core/base/overloaded.h"

namespace bellwether::blobs {

void BlobStore::start(Instant now, const BlobStoreStart& start) {
  for (const BlobRecord& record : start.records) {
    kept_[record.key] = {record.head, {record.slot, record.head.pieces.size(), record.head.size}};
    bytes_ += record.head.size;
    next_slot_ = std::max(next_slot_, record.slot + 1);
  }
  for (const auto& [slot, pieces] : start.torn) {
    garbage_.push_back({slot, pieces, pieces * kPieceBytes});
    bytes_ += garbage_.back().bytes;
    next_slot_ = std::max(next_slot_, slot + 1);
  }
  for (const auto& [job, fence] : start.fences) promises_[job] = {fence, fence};
  for (const std::string& job : start.dropped) {
    tombstones_[job].since = now;
    tombstones_[job].durable = true;
  }
}

Decision BlobStore::decide(Instant now, const Question& question) {
  if (const auto* look = std::get_if<Look>(&question)) return this->look(*look);
  if (const auto* offer = std::get_if<Offer>(&question)) return this->offer(now, *offer);
  if (const auto* piece = std::get_if<Piece>(&question)) return this->piece(now, *piece);
  if (const auto* fetch = std::get_if<Fetch>(&question)) return this->fetch(*fetch);
  if (const auto* list = std::get_if<List>(&question)) return this->list(*list);
  return drop(now, std::get<Drop>(question));
}

// --- versions --------------------------------------------------------------------------------------------------------

Decision BlobStore::look(const Look& look) {
  if (tombstones_.contains(look.key.job)) return answer(Verdict::kDropped);
  if (look.fence != JobFence()) {
    const auto known = promises_.find(look.key.job);
    if (known == promises_.end() && promises_.size() >= limits_.most_jobs) {
      return unable(fmt::format("it stores the blobs of {} jobs, the limit", limits_.most_jobs));
    }
    Promise& promise = promises_[look.key.job];
    if (look.fence < promise.asked) return fenced(promise.asked);
    promise.asked = look.fence;
    if (promise.durable < look.fence) return KeepFence{look.key.job, look.fence};
  }
  const auto kept = kept_.find(look.key);
  if (kept == kept_.end()) return answer(Verdict::kNothing);
  Answer found = answer(Verdict::kKept);
  found.head = kept->second.head;
  return found;
}

// Of each map the first ones after that place; so the first ones of all are among them.
Answer BlobStore::list(const List& list) const {
  std::map<BlobKey, Listed> found;
  const auto collect = [&](auto at, auto end, auto put) {
    for (std::size_t n = 0; at != end && n <= kMaxListed; ++at, ++n) put(*at);
  };
  collect(promises_.upper_bound(list.job), promises_.end(), [&](const auto& one) {
    found[{one.first, ""}].fence = one.second.asked;
  });
  collect(tombstones_.upper_bound(list.job), tombstones_.end(), [&](const auto& one) {
    found[{one.first, ""}].dropped = true;
  });
  collect(kept_.upper_bound({list.job, list.kind}), kept_.end(),
          [&](const auto& one) { found[one.first].version = one.second.head.version; });
  Answer listed = answer(Verdict::kKept);
  for (auto& [key, one] : found) {
    listed.more = listed.listed.size() == kMaxListed;
    if (listed.more) break;
    one.job = key.job;
    one.kind = key.kind;
    listed.listed.push_back(std::move(one));
  }
  return listed;
}

Answer BlobStore::admit(const BlobKey& key, Version version, bool again) const {
  if (tombstones_.contains(key.job)) return answer(Verdict::kDropped);
  const auto promise = promises_.find(key.job);
  if (!again && promise != promises_.end() && version.fence < promise->second.asked) {
    return fenced(promise->second.asked);
  }
  const auto kept = kept_.find(key);
  if (kept == kept_.end() || kept->second.head.version < version) return answer(Verdict::kWanted);
  return kept->second.head.version == version ? answer(Verdict::kKept) : newer(kept->second.head.version);
}

Decision BlobStore::offer(Instant now, const Offer& offer) {
  const BlobKey& key = offer.key;
  const Version version = offer.head.version;
  const std::string another =
      fmt::format("it has a different value under version {} of {}", to_string(version), to_string(key));
  Answer first = admit(key, version, offer.again);
  if (first.verdict == Verdict::kKept && kept_[key].head != offer.head) return unable(another);
  if (first.verdict != Verdict::kWanted) return first;
  supersede(key, version, false);
  auto found = uploads_.find({key, version});
  if (found == uploads_.end()) {
    Answer room = make_room(now, key, offer.head);
    if (room.verdict != Verdict::kWanted) return room;
    Upload upload;
    upload.head = offer.head;
    upload.slot = {next_slot_++, offer.head.pieces.size(), offer.head.size};
    upload.have.resize(offer.head.pieces.size(), Have::kMissing);
    bytes_ += offer.head.size;
    found = uploads_.emplace(UploadKey{key, version}, std::move(upload)).first;
  }
  Upload& upload = found->second;
  if (upload.head != offer.head) return unable(another);
  upload.touched = now;
  for (uint32_t i = 0; i < upload.have.size(); ++i) {
    if (upload.have[i] == Have::kMissing) first.wanted.push_back(i);
  }
  if (!first.wanted.empty()) return first;
  return complete(key, upload);
}

Answer BlobStore::make_room(Instant now, const BlobKey& key, const BlobHead& head) {
  if (!kept_.contains(key) && kept_.size() + uploads_.size() >= limits_.most_values) {
    return unable(fmt::format("it stores {} values, the limit", limits_.most_values));
  }
  if (bytes_ + head.size > limits_.most_bytes) {
    return unable(fmt::format("its blobs have {} bytes; the limit is {}", bytes_, limits_.most_bytes));
  }
  if (uploads_.size() < limits_.most_uploads) return answer(Verdict::kWanted);
  const auto oldest = std::min_element(uploads_.begin(), uploads_.end(), [](const auto& a, const auto& b) {
    return a.second.touched < b.second.touched;
  });
  const bool idle = now - oldest->second.touched > limits_.upload_idle / 10;
  if (!idle || oldest->second.committing || oldest->second.unsure) return answer(Verdict::kBusy);
  discard(oldest->second);
  uploads_.erase(oldest);
  return answer(Verdict::kWanted);
}

Decision BlobStore::piece(Instant now, const Piece& piece) {
  Answer first = admit(piece.key, piece.version, piece.again);
  if (first.verdict != Verdict::kWanted) return first;
  const auto found = uploads_.find({piece.key, piece.version});
  if (found == uploads_.end()) return answer(Verdict::kNothing);
  Upload& upload = found->second;
  if (piece.index >= upload.have.size()) return unable("the value has no such chunk");
  upload.touched = now;
  Have& have = upload.have[piece.index];
  if (have == Have::kBeingWritten) return answer(Verdict::kBusy);
  if (have == Have::kHave) {
    const bool all = std::all_of(upload.have.begin(), upload.have.end(), [](Have one) { return one == Have::kHave; });
    return all && !is_committing(piece.key) ? complete(piece.key, upload) : Decision(first);
  }
  if (!fits(upload.head, piece.index, piece.bytes)) return unable("the chunk does not match the offered one");
  have = Have::kBeingWritten;
  return KeepPiece{piece.key, piece.version, upload.slot, piece.index, !upload.begun};
}

bool BlobStore::is_committing(const BlobKey& key) const {
  for (auto at = uploads_.lower_bound({key, {}}); at != uploads_.end() && at->first.first == key; ++at) {
    if (at->second.committing) return true;
  }
  return false;
}

// One at a time for each key, so that the newest is written last.
Decision BlobStore::complete(const BlobKey& key, Upload& upload) {
  const bool whole = std::all_of(upload.have.begin(), upload.have.end(), [](Have one) { return one == Have::kHave; });
  if (!whole || is_committing(key)) return answer(Verdict::kBusy);
  upload.committing = true;
  const auto old = kept_.find(key);
  return Commit{{key, upload.head, upload.slot.id}, upload.slot, old == kept_.end() ? Slot() : old->second.slot};
}

Decision BlobStore::fetch(const Fetch& fetch) const {
  if (tombstones_.contains(fetch.key.job)) return answer(Verdict::kDropped);
  const auto kept = kept_.find(fetch.key);
  if (kept == kept_.end() || kept->second.head.version < fetch.version) return answer(Verdict::kNothing);
  if (kept->second.head.version > fetch.version) return newer(kept->second.head.version);
  if (fetch.index >= kept->second.head.pieces.size()) return answer(Verdict::kNothing);
  return ReadPiece{kept->second.slot.id, fetch.index};
}

// --- what was written ------------------------------------------------------------------------------------------------

void BlobStore::written(const Decision& done, bool durable) {
  std::visit(Overloaded{
                 [](const Answer&) {},
                 [](const ReadPiece&) {},
                 [&](const KeepFence& fence) {
                   const auto promise = promises_.find(fence.job);
                   if (promise != promises_.end() && durable) {
                     promise->second.durable = std::max(promise->second.durable, fence.fence);
                   }
                 },
                 [&](const KeepPiece& piece) {
                   const auto upload = uploads_.find({piece.key, piece.version});
                   if (upload == uploads_.end() || upload->second.slot.id != piece.slot.id) return;
                   upload->second.have[piece.index] = durable ? Have::kHave : Have::kMissing;
                   upload->second.begun = upload->second.begun || durable;
                 },
                 [&](const Commit& commit) { committed(commit, durable); },
                 [&](const KeepDrop& drop) { dropped(drop, durable); },
                 [&](const Discard& gone) {
                   for (const Slot& slot : gone.slots) {
                     if (durable) {
                       bytes_ -= slot.bytes;
                     } else {
                       garbage_.push_back(slot);
                     }
                   }
                   for (const std::string& job : gone.jobs) {
                     if (durable) tombstones_.erase(job);
                   }
                 },
             },
             done);
}

void BlobStore::committed(const Commit& commit, bool durable) {
  const BlobKey& key = commit.record.key;
  const auto upload = uploads_.find({key, commit.record.head.version});
  if (upload == uploads_.end() || upload->second.slot.id != commit.slot.id) return;  // dropped meanwhile
  upload->second.committing = false;
  if (!durable) {
    upload->second.unsure = true;
    return;
  }
  bytes_ -= commit.old.bytes;
  kept_[key] = {std::move(upload->second.head), upload->second.slot};
  uploads_.erase(upload);
  supersede(key, commit.record.head.version, true);
}

// Versions below `than` that are not complete go away: of the same writer when a newer one is offered, of all when it
// is complete.
void BlobStore::supersede(const BlobKey& key, Version than, bool any_writer) {
  auto at = first_upload(key);
  while (at != uploads_.end() && at->first.first == key && at->first.second < than) {
    const bool same_writer = at->first.second.fence == than.fence;
    const bool goes = (any_writer || same_writer) && !at->second.committing && (any_writer || !at->second.unsure);
    if (goes) discard(at->second);
    at = goes ? uploads_.erase(at) : std::next(at);
  }
}

// --- the end of jobs -------------------------------------------------------------------------------------------------

bool BlobStore::known(const std::string& job) const {
  const auto kept = kept_.lower_bound({job, ""});
  const auto upload = uploads_.lower_bound({{job, ""}, {}});
  return (kept != kept_.end() && kept->first.job == job) ||
         (upload != uploads_.end() && upload->first.first.job == job) || promises_.contains(job);
}

void BlobStore::bury(Instant now, const std::string& job) {
  if (tombstones_.size() >= limits_.most_jobs) {
    const auto oldest = std::min_element(tombstones_.begin(), tombstones_.end(),
                                         [](const auto& a, const auto& b) { return a.second.since < b.second.since; });
    oldest->second.told.clear();
    if (oldest->second.durable) oldest->second.since = Instant();
  }
  Tombstone& grave = tombstones_[job];
  grave.since = now;
  for (auto at = kept_.lower_bound({job, ""}); at != kept_.end() && at->first.job == job; at = kept_.erase(at)) {
    grave.keys.push_back(at->first);
    grave.slots.push_back(at->second.slot);
  }
  auto at = uploads_.lower_bound({{job, ""}, {}});
  for (; at != uploads_.end() && at->first.first.job == job; at = uploads_.erase(at)) {
    grave.keys.push_back(at->first.first);  // one that is being completed
    grave.slots.push_back(at->second.slot);
  }
  promises_.erase(job);
}

Decision BlobStore::drop(Instant now, const Drop& drop) {
  const auto grave = tombstones_.find(drop.job);
  if (grave == tombstones_.end()) {
    if (drop.leftover && !known(drop.job)) return answer(Verdict::kKept);
    if (tombstones_.size() >= 2 * limits_.most_jobs) return answer(Verdict::kBusy);
    bury(now, drop.job);
  } else if (grave->second.durable) {
    return answer(Verdict::kKept);
  }
  const Tombstone& dead = tombstones_[drop.job];
  return KeepDrop{drop.job, dead.keys, dead.slots};
}

void BlobStore::dropped(const KeepDrop& drop, bool durable) {
  const auto grave = tombstones_.find(drop.job);
  if (grave == tombstones_.end() || grave->second.durable || !durable) return;
  grave->second.durable = true;
  for (const Slot& slot : grave->second.slots) bytes_ -= slot.bytes;
  grave->second.keys.clear();
  grave->second.slots.clear();
}

std::vector<std::string> BlobStore::untold(const std::string& other, std::size_t most) const {
  std::vector<std::string> jobs;
  for (const auto& [job, grave] : tombstones_) {
    if (jobs.size() == most) break;
    if (grave.durable && !grave.told.contains(other)) jobs.push_back(job);
  }
  return jobs;
}

void BlobStore::told(const std::string& other, const std::string& job) {
  const auto grave = tombstones_.find(job);
  if (grave != tombstones_.end()) grave->second.told.insert(other);
}

// --- time ------------------------------------------------------------------------------------------------------------

std::vector<Decision> BlobStore::expire(Instant now) {
  std::vector<Decision> todo;
  for (auto at = uploads_.begin(); at != uploads_.end();) {
    Upload& upload = at->second;
    const bool writing = upload.committing || std::any_of(upload.have.begin(), upload.have.end(),
                                                          [](Have one) { return one == Have::kBeingWritten; });
    if (now - upload.touched < limits_.upload_idle || writing) {
      ++at;
    } else if (upload.unsure) {
      // The record may be on the disk: its pieces must not go away.
      Decision again = complete(at->first.first, upload);
      if (std::holds_alternative<Commit>(again)) todo.push_back(std::move(again));
      ++at;
    } else {
      discard(upload);
      at = uploads_.erase(at);
    }
  }
  Discard discard;
  discard.slots = std::exchange(garbage_, {});
  for (const auto& [job, grave] : tombstones_) {
    const bool all_know =
        std::ranges::all_of(limits_.others, [&](const auto& one) { return grave.told.contains(one); });
    const bool old = now - grave.since >= limits_.dropped_kept && all_know;
    const bool crowded = grave.since == Instant();
    if (grave.durable && (old || crowded)) discard.jobs.push_back(job);
  }
  if (!discard.slots.empty() || !discard.jobs.empty()) todo.push_back(std::move(discard));
  return todo;
}

}  // namespace bellwether::blobs
