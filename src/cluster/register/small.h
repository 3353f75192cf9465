// The state of a job as a register: one value that one owner at a time may write, kept by a majority of the configured
// peers. In a takeover (phase 1 of Paxos, Lamport, "Paxos Made Simple", 2001) a majority promises the new owner's
// fence, and the new owner learns the newest value. The owner first writes it again under its own fence. A majority
// accepts each write (phase 2). So ownership and state move together, jobs do not depend on each other, and no log is
// needed.
//
// An owner holds the job under a lease, renewed by every write and confirmation: no other node is promised anything
// before it is over (election/quorum/quorum_timing.h has the arithmetic of clocks). The fence, not the lease, protects
// the value: two owners never have one fence, and a write under an older one is refused independently of clocks.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "election/epoch.h"
#include "election/quorum/configuration.h"

namespace bellwether::registers {

// The nodes that keep registers and blobs. The set changes by one node at a time, while owners write. Each change has
// two steps, each one number higher: while it is under way, majorities of both the old and the new nodes decide (the
// joint consensus of Ongaro, "Consensus: Bridging Theory and Practice", 2014, section 4.3); then those of the new ones.
// The register kSetKey holds the newest set.
//
// A replica answers nobody whose set is older than its own. The second step waits until
//   1. a majority of the old nodes knows the first one, so that nobody decides with the old nodes alone any more;
//   2. a majority of the new nodes has read, since it knows the first step, the records of a majority of the old ones
//      that know it too, so that every majority of the new nodes has what was ever decided.

inline constexpr std::size_t kMaxReplicas = quorum::kMaxMembers;  // of both lists together
inline constexpr const char* kSetKey = "@replicas";

struct ReplicaSet {
  uint64_t number = 0;             // 0: as the settings of the nodes name it
  std::vector<std::string> names;  // ascending
  std::vector<std::string> next;   // ascending; not empty while a change is under way

  bool joint() const { return !next.empty(); }
  bool has(const std::string& name) const;
  // Of `names` and `next`, ascending, each once.
  std::vector<std::string> all() const;
  // Whether a majority of `names`, and of `next` when a change is under way, is `in`(name).
  template <class In>
  bool agreed(In in) const {
    return most(names, in) && (next.empty() || most(next, in));
  }
  template <class In>
  static bool most(const std::vector<std::string>& names, In in) {
    std::size_t count = 0;
    for (const std::string& name : names) count += in(name) ? 1 : 0;
    return count >= names.size() / 2 + 1;
  }
  bool operator==(const ReplicaSet&) const = default;
};

// A change that somebody wants: of one node, or of one node for another. Both empty: none.
struct SetWish {
  std::string add;
  std::string remove;
  bool operator==(const SetWish&) const = default;
};
// REQUIRES !set.joint().
bool is_fulfilled(const SetWish& wish, const ReplicaSet& set);

// The first step of a change. kInvalid: a change is under way, or nothing is wanted; kExists: the node to add is in the
// set; kNotFound: the one to remove is not; kRefused: it is the last one; kTooLarge.
Result<ReplicaSet> begin_change(const ReplicaSet& from, const SetWish& wish);
// The second one. REQUIRES from.joint().
ReplicaSet end_change(const ReplicaSet& from);

// The content of the register of a job: nothing yet, a value (one byte 1 before it), or that the job was retired (one
// byte 2).
struct Content {
  bool retired = false;
  std::optional<std::string> value;  // nothing: never written
  bool operator==(const Content&) const = default;
};

inline std::string bytes_of_value(std::string_view value) { return '\1' + std::string(value); }
inline std::string bytes_of_retired() { return std::string(1, '\2'); }

inline bool is_retired(std::string_view bytes) { return bytes == bytes_of_retired(); }

// kInvalid: a newer version, or another program, has written it.
inline Result<Content> parse_content(std::string_view bytes) {
  if (bytes.empty()) return Content{};
  if (bytes.front() == '\1') return Content{false, std::string(bytes.substr(1))};
  if (is_retired(bytes)) return Content{true, std::nullopt};
  return fail(Errc::kInvalid, "this version cannot read the register of the job");
}

using election::JobFence;
using quorum::MemberId;

inline constexpr std::size_t kMaxValueBytes = 64 * 1024;
inline constexpr std::size_t kMaxKeyBytes = 200;
inline constexpr Duration kLongestJobLease = Duration::minutes(5);

// The order of writes: of two owners the later one's, of one owner the later one.
struct Place {
  JobFence fence;
  uint64_t write = 0;
  constexpr auto operator<=>(const Place&) const = default;
};

// The node of a fence. The claim is drawn anew for each takeover, so that a node that has forgotten its takeover of the
// job does not take its own old fence for a new one.
struct Claim {
  JobFence fence;
  MemberId owner;
  uint64_t nonce = 0;
  bool operator==(const Claim&) const = default;
};

// --- requests of proposers to acceptors ------------------------------------------------------------------------------

struct Prepare {};
struct Accept {
  uint64_t write = 0;  // its place is under the fence of the claim
  std::string value;
};
// Is the claim still the newest? Renews the lease, and makes the last write certain to be the newest.
struct Confirm {};
// Gives the job back: others need not wait for the lease. Not answered.
struct Release {
  uint64_t write = 0;  // the last under the claim that a majority has accepted, for all times; 0: none is known
};
struct Ask {
  std::string key;
  uint64_t number = 0;  // of the question; the answer repeats it
  Duration lease;
  Claim claim;
  std::variant<Prepare, Accept, Confirm, Release> body;
};

enum class Verdict : uint8_t {
  kGranted,
  kFenced,  // a newer claim is known
  kLeased,  // the job is held under a lease that is not over
  kUnable,  // not durable, too many jobs, or never heard of the claim
};
inline constexpr std::size_t kVerdicts = static_cast<std::size_t>(Verdict::kUnable) + 1;
const char* to_string(Verdict verdict);

struct Answer {
  std::string key;
  uint64_t number = 0;
  Verdict verdict = Verdict::kUnable;
  Claim promised;        // the newest that is known
  Duration again_after;  // of kLeased
  Place accepted;        // to Prepare, when granted: the newest write that was accepted, and its value
  std::string value;
};

// Reports to a node that was refused because of a lease that it was given back.
struct Freed {
  std::string key;
};
// The sender will promise or accept nothing.
struct Unable {
  std::string key;
  std::string why;  // for people; at most kMaxWhyBytes are kept
};
inline constexpr std::size_t kMaxWhyBytes = 256;

// The newest set that the sender knows.
struct SetIs {
  ReplicaSet set;
};

// A message between the owners of registers and their replicas. A node that knows another set than the sender answers
// with SetIs, and the one with the lower number takes the other's set over. An Ask with a lower number than the
// replica's own has no other effect. An Answer with a lower number is as good as any: what a replica grants is true
// under each set.
struct Message {
  uint64_t set = 0;    // number of the newest set that the sender knows
  uint64_t names = 0;  // hash of its names; between equal numbers it must be equal
  std::variant<Ask, Answer, Freed, Unable, SetIs> body;
};

// --- requests between replicas, and of the node that changes their set -----------------------------------------------

// The records after this key, ascending: of all that the replica promised and accepted, durable or not. A replica whose
// set is older than the asker's takes the asker's set over, durable, before it answers.
struct ReadRecords {
  std::string after;
};
// Which set does the replica know?
struct ReadSet {};
struct Request {
  uint64_t set = 0;  // as of Message
  uint64_t names = 0;
  std::variant<ReadRecords, ReadSet> body;
};

// The record that a replica must never forget.
struct RegisterRecord {
  std::string key;
  Claim promised;
  Place accepted;
  std::string value;
  Duration longest_lease;  // that any owner was promised
  bool unsettled = false;  // not yet known here that a majority has accepted it, too
  bool operator==(const RegisterRecord&) const = default;
};

// Of the records of a page.
inline constexpr std::size_t kMaxPageBytes = 512 * 1024;
inline constexpr std::size_t kMaxPageRecords = 1024;
struct Records {
  std::vector<RegisterRecord> records;
  bool more = false;
};
struct SetState {
  ReplicaSet set;     // the newest that the replica knows, durable
  uint64_t read = 0;  // number of the newest first step; it has read everything for that change, durable
};
// Of a replica to a Request; SetIs instead of Records: its set is newer than the asker's.
struct Response {
  uint64_t set = 0;  // number of the durable set of the replica when it answered
  std::variant<Records, SetState, SetIs> body;
};

// The writer of the last accepted value; none when a newer claim was promised since: its node may never get the job,
// and its fence may be above that of an owner who has it and goes on.
inline MemberId writer_of(const RegisterRecord& record) {
  return record.promised.fence == record.accepted.fence ? record.promised.owner : quorum::kNobody;
}

}  // namespace bellwether::registers
