// The declared voters of an elected group. A majority is one of the declared members, never of those that happen to be
// alive, and discovery never changes them. They change by command, one at a time. During a change, majorities of both
// the old and the new members are needed (the joint consensus of Ongaro, "Consensus: Bridging Theory and Practice",
// 2014, section 4.3).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/base/strong_id.h"
#include "election/epoch.h"

namespace bellwether::quorum {

using election::Term;

// A member, identified for the life of its durable record: after a loss of the record it returns under another id.
using MemberId = StrongId<struct MemberTag, uint64_t>;
inline constexpr MemberId kNobody{};
inline constexpr std::size_t kMaxMembers = 31;

// Which of two configurations is the newer one: that of the later leader, and of one leader the later one.
struct ConfigurationStamp {
  Term term;
  uint32_t number = 0;
  constexpr auto operator<=>(const ConfigurationStamp&) const = default;
};

struct Configuration {
  ConfigurationStamp stamp;
  std::vector<MemberId> voters;  // ascending
  std::vector<MemberId> next;    // ascending; not empty while a change is under way

  bool joint() const { return !next.empty(); }
  bool has(MemberId member) const;
  bool operator==(const Configuration&) const = default;
};

constexpr std::size_t majority_of(std::size_t members) { return members / 2 + 1; }

// The members in ascending order without repetition.
// Errors: kInvalid (none, or one named kNobody), kTooLarge.
Result<Configuration> declare(std::vector<MemberId> members);

// One member more, or one less.
struct MemberChange {
  enum class Kind : uint8_t { kAdd, kRemove };
  Kind kind = Kind::kAdd;
  MemberId member;
};
// `from` with the change under way, and a stamp of `leader`.
// Errors: kInvalid (a change is under way, nothing would change, the last member), kTooLarge.
Result<Configuration> begin_change(const Configuration& from, MemberChange change, Term leader);
// The change of `from` done. REQUIRES from.joint().
Configuration end_change(const Configuration& from, Term leader);
// The same members, stamped by the next leader. REQUIRES leader > from.stamp.term.
Configuration confirm(const Configuration& from, Term leader);

// What to do about a member without its earlier record, which may be new or may have lost its disk: a start without
// --first-start leaves a record that says so: only an empty folder makes a new member of it.
inline constexpr const char* kNoRecordRemedy =
    "Only if this node is new: end it, delete its data folder, and start it once with --first-start. If it lost its "
    "disk: replace it by a node with another name";

}  // namespace bellwether::quorum
