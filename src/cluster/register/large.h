// Blobs: large values of a job (its bundle, the state of its ingest), kept by the voters of a cluster: their names,
// their order, and the messages about them. Of the versions of a value only the newest is kept. Each version has one
// writer, which never gives its number to two values.
//
// This is the register of Attiya, Bar-Noy and Dolev ("Sharing Memory Robustly in Message-Passing Systems", 1995). A
// writer waits until a majority has the value. A reader takes the newest value of a majority, and ensures that a
// majority has it before it goes on. Consensus is unnecessary, because only one node writes under a fence: the fence
// comes from the job's register (small.h). A new owner reads under its own fence, and from then on a majority refuses
// its predecessor's writes; so the new owner has read all that its predecessor knew to be kept.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/register/small.h"
#include "cluster/wire/crypto.h"
#include "cluster/wire/pieces.h"
#include "core/base/result.h"

namespace bellwether::blobs {

using registers::JobFence;

using wire::kMaxPieces;
using wire::kPieceBytes;
using wire::piece_of;
using wire::pieces_of;

inline constexpr std::size_t kMaxBlobBytes = wire::kMaxBytesInPieces;
inline constexpr std::size_t kMaxKindBytes = 32;
inline constexpr std::size_t kMaxWhyBytes = 256;

struct BlobKey {
  std::string job;   // 1 to registers::kMaxKeyBytes bytes
  std::string kind;  // "bundle", "ingest": 1 to 32 of a-z, 0-9 and '-'
  auto operator<=>(const BlobKey&) const = default;
};
bool is_blob_kind(std::string_view kind);
// kInvalid says what is wrong with it.
Status check_key(const BlobKey& key);
// For people.
std::string to_string(const BlobKey& key);

struct Version {
  JobFence fence;
  uint64_t number = 0;
  constexpr auto operator<=>(const Version&) const = default;
};
std::string to_string(const Version& version);

// A version of a value without the value: enough to identify each piece of it.
struct BlobHead {
  Version version;
  uint64_t size = 0;
  std::vector<wire::Digest> pieces;  // SHA-256 of each; all but the last have kPieceBytes
  bool operator==(const BlobHead&) const = default;
};
bool fits(const BlobHead& head, std::size_t index, std::string_view piece);

// --- requests to the voters that keep blobs --------------------------------------------------------------------------

// Asks for the newest version. With a fence: and for a promise to take nothing more that is written under a lower one.
struct Look {
  BlobKey key;
  JobFence fence;  // 0: no promise is wanted
};
// Here is a version; which pieces of it do you want?
struct Offer {
  BlobKey key;
  BlobHead head;
  bool again = false;  // by a reader, which writes it for later readers: no promise is against it
};
struct Piece {
  BlobKey key;
  Version version;
  uint32_t index = 0;
  bool again = false;
  std::string bytes;
};
struct Fetch {
  BlobKey key;
  Version version;
  uint32_t index = 0;
};
// All values of a job go away, and none of them comes back.
struct Drop {
  std::string job;
  bool leftover = false;  // sent by a voter that keeps blobs to one that may have missed it
};
// The state of the replica after this place, ascending by job and kind: what other replicas read for a new set. The
// answer is kKept.
struct List {
  std::string job;
  std::string kind;
};
using Question = std::variant<Look, Offer, Piece, Fetch, Drop, List>;
// As it travels. A replica answers kOtherSet when its own set is newer, both when the question comes and when the
// answer is ready: what another replica has read from it in between has nothing of this question.
struct Asked {
  uint64_t set = 0;    // number of the newest set of replicas that the sender knows
  uint64_t names = 0;  // hash of its names; between equal numbers it must be equal
  Question question;
};

enum class Verdict : uint8_t {
  kKept,      // it is here, complete and durable; of a drop: it is done
  kWanted,    // go on with these pieces
  kNothing,   // no such value, version or piece here
  kNewer,     // a newer version is here, which `head` names
  kFenced,    // nothing below `fence` is taken any more
  kDropped,   // the job was dropped
  kBusy,      // ask again in a moment
  kUnable,    // `why` says why not
  kOtherSet,  // the asker's set of replicas is older than this one's, which is `set`
};
inline constexpr std::size_t kVerdicts = static_cast<std::size_t>(Verdict::kOtherSet) + 1;
const char* to_string(Verdict verdict);

inline constexpr std::size_t kMaxListed = 1000;
// A complete value, with its kind; or without a kind, the promise to a job, or that it was dropped.
struct Listed {
  std::string job;
  std::string kind;
  Version version;
  JobFence fence;
  bool dropped = false;
  bool operator==(const Listed&) const = default;
};

struct Answer {
  Verdict verdict = Verdict::kUnable;
  BlobHead head;                             // kKept, to a Look; kNewer, without its pieces
  std::vector<uint32_t> wanted;              // kWanted
  std::string bytes;                         // kKept, to a Fetch
  JobFence fence;                            // kFenced
  std::string why;                           // for people
  std::vector<Listed> listed;                // kKept, to a List
  bool more = false;                         // and there is more than that
  std::optional<registers::ReplicaSet> set;  // kOtherSet
};

// The record that a voter with a complete version must never forget.
struct BlobRecord {
  BlobKey key;
  BlobHead head;
  uint64_t slot = 0;  // where its pieces are
  bool operator==(const BlobRecord&) const = default;
};

inline Answer answer(Verdict verdict) {
  Answer answer;
  answer.verdict = verdict;
  return answer;
}
inline Answer unable(std::string why) {
  Answer answer;
  answer.why = std::move(why);
  return answer;
}
inline Answer newer(Version version) {
  Answer newer = answer(Verdict::kNewer);
  newer.head.version = version;
  return newer;
}
inline Answer fenced(JobFence by) {
  Answer fenced = answer(Verdict::kFenced);
  fenced.fence = by;
  return fenced;
}

}  // namespace bellwether::blobs
