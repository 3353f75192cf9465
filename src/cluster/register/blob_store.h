// The rules of a voter that keeps blobs: which version it takes, which pieces of it are still wanted, when it is
// complete, and what it refuses. A kernel: time comes in as a value; writes that must be durable before an answer go
// out as values.
//
// The driver calls decide() for a question until an Answer comes; it first writes everything else, in the order of the
// decisions, and reports it to written(). So every answer is durable, a version that was torn by a crash leaves the one
// before it whole, and promises are kept across crashes. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/register/large.h"
#include "core/base/time.h"

namespace bellwether::blobs {

struct BlobStoreLimits {
  std::size_t most_bytes = std::size_t{4} << 30;  // of all values, complete or not
  std::size_t most_values = 10'000;
  std::size_t most_jobs = 10'000;                // to which promises were made, and that were dropped
  std::size_t most_uploads = 64;                 // versions that are not complete
  Duration upload_idle = Duration::seconds(60);  // after which one of those goes away
  Duration dropped_kept = Duration::hours(1);    // a dropped job takes nothing for at least this time
  std::vector<std::string> others;               // replicas that keep blobs too, and must hear of dropped jobs
};

// Where the pieces of one version are.
struct Slot {
  uint64_t id = 0;
  std::size_t pieces = 0;
  uint64_t bytes = 0;
};

// --- acts before the question is decided again -----------------------------------------------------------------------

struct KeepFence {
  std::string job;
  JobFence fence;
};
// The question's bytes; with the first ones, that this slot is not complete.
struct KeepPiece {
  BlobKey key;
  Version version;
  Slot slot;
  uint32_t index = 0;
  bool first = false;
};
// At once: the record of the key, that the slot is complete, and the pieces of the version before are gone.
struct Commit {
  BlobRecord record;
  Slot slot;
  Slot old;  // no pieces: there was none
};
// At once: the job was dropped; its promise, its records and all these pieces are gone.
struct KeepDrop {
  std::string job;
  std::vector<BlobKey> keys;
  std::vector<Slot> slots;
};
// Pieces that are no longer wanted, and jobs that were dropped so long ago that it need not be known.
struct Discard {
  std::vector<Slot> slots;
  std::vector<std::string> jobs;
};
// The piece is there to be read, and is the answer.
struct ReadPiece {
  uint64_t slot = 0;
  uint32_t index = 0;
};
using Decision = std::variant<Answer, KeepFence, KeepPiece, Commit, KeepDrop, Discard, ReadPiece>;

// The state that was found on the disk.
struct BlobStoreStart {
  std::vector<BlobRecord> records;
  std::vector<std::pair<uint64_t, std::size_t>> torn;  // slots that are not complete, with the number of their pieces
  std::vector<std::pair<std::string, JobFence>> fences;
  std::vector<std::string> dropped;
};

class BlobStore {
 public:
  explicit BlobStore(BlobStoreLimits limits) : limits_(limits) {}

  // Once, before anything else.
  void start(Instant now, const BlobStoreStart& start);
  Decision decide(Instant now, const Question& question);
  // The writes of decide() or expire() are durable, or it is not known whether they are.
  void written(const Decision& done, bool durable);
  // The writes that are due now and then.
  std::vector<Decision> expire(Instant now);

  // Jobs that were dropped and of which this one has not heard yet, at most `most`.
  std::vector<std::string> untold(const std::string& other, std::size_t most) const;
  void told(const std::string& other, const std::string& job);
  void others_are(std::vector<std::string> others) { limits_.others = std::move(others); }

  std::size_t values() const { return kept_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  enum class Have : uint8_t { kMissing, kBeingWritten, kHave };
  struct Kept {
    BlobHead head;
    Slot slot;
  };
  struct Upload {
    BlobHead head;
    Slot slot;
    std::vector<Have> have;
    Instant touched;
    bool begun = false;       // the disk knows of the slot
    bool committing = false;  // while that is being written
    bool unsure = false;      // it may have been written, or not
  };
  struct Promise {
    JobFence asked;
    JobFence durable;
  };
  struct Tombstone {
    Instant since;
    bool durable = false;
    std::vector<BlobKey> keys;
    std::vector<Slot> slots;
    std::set<std::string> told;
  };
  using UploadKey = std::pair<BlobKey, Version>;

  Decision look(const Look& look);
  Decision offer(Instant now, const Offer& offer);
  Decision piece(Instant now, const Piece& piece);
  Decision fetch(const Fetch& fetch) const;
  Decision drop(Instant now, const Drop& drop);
  Answer list(const List& list) const;
  // kWanted when this version may come in.
  Answer admit(const BlobKey& key, Version version, bool again) const;
  Answer make_room(Instant now, const BlobKey& key, const BlobHead& head);
  Decision complete(const BlobKey& key, Upload& upload);
  void supersede(const BlobKey& key, Version than, bool any_writer);
  void discard(const Upload& upload) { garbage_.push_back(upload.slot); }
  std::map<UploadKey, Upload>::iterator first_upload(const BlobKey& key) { return uploads_.lower_bound({key, {}}); }
  void committed(const Commit& commit, bool durable);
  void dropped(const KeepDrop& drop, bool durable);
  bool known(const std::string& job) const;
  void bury(Instant now, const std::string& job);
  bool is_committing(const BlobKey& key) const;

  BlobStoreLimits limits_;
  std::map<BlobKey, Kept> kept_;
  std::map<UploadKey, Upload> uploads_;
  std::map<std::string, Promise> promises_;
  std::map<std::string, Tombstone> tombstones_;
  std::vector<Slot> garbage_;
  uint64_t next_slot_ = 1;
  uint64_t bytes_ = 0;
};

// Counts replicas for one write or one look: when the set has agreed, when it cannot any more, and which of the
// versions of a majority is the newest. A voter is a number: the place of a name in all(). Pure.
class Tally {
 public:
  enum class Vote : unsigned char { kNone, kYes, kNo };

  explicit Tally(registers::ReplicaSet set) : set_(std::move(set)), names_(set_.all()), votes_(names_.size()) {}

  // The first word of a voter counts.
  void say(std::size_t voter, Vote vote) {
    if (votes_[voter] == Vote::kNone) votes_[voter] = vote;
  }
  Vote of(std::size_t voter) const { return votes_[voter]; }
  std::size_t voters() const { return votes_.size(); }
  const registers::ReplicaSet& set() const { return set_; }
  const std::string& name(std::size_t voter) const { return names_[voter]; }
  bool agreed() const {
    return agreed([](Vote vote) { return vote == Vote::kYes; });
  }
  bool hopeless() const {
    return !agreed([](Vote vote) { return vote != Vote::kNo; });
  }

 private:
  template <class Counts>
  bool agreed(Counts counts) const {
    return set_.agreed([&](const std::string& name) {
      const auto at = std::lower_bound(names_.begin(), names_.end(), name);
      return counts(votes_[static_cast<std::size_t>(at - names_.begin())]);
    });
  }

  registers::ReplicaSet set_;
  std::vector<std::string> names_;  // ascending
  std::vector<Vote> votes_;
};

// The newest that a majority has; contains nothing of voters that have not answered.
struct Newest {
  std::optional<BlobHead> head;  // nothing: no voter has anything
  std::vector<std::size_t> at;   // the voters that have just this version
};
// REQUIRES answers with kKept or kNothing.
inline Newest newest_of(const std::vector<std::optional<Answer>>& answers) {
  Newest newest;
  for (std::size_t voter = 0; voter < answers.size(); ++voter) {
    const auto& answer = answers[voter];
    if (!answer || answer->verdict != Verdict::kKept) continue;
    if (!newest.head || newest.head->version < answer->head.version) {
      newest.head = answer->head;
      newest.at.clear();
    }
    if (newest.head->version == answer->head.version) newest.at.push_back(voter);
  }
  return newest;
}

}  // namespace bellwether::blobs
