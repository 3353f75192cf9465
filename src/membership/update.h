// One piece of news about one member, as gossip, push-pull and packets carry it, and the order in which news matters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "membership/directory.h"
#include "membership/node_id.h"

namespace bellwether::membership {

// In order of urgency: what the group must hear first comes first.
enum class UpdateKind : uint8_t { kJoin, kLeave, kAlive, kSuspect, kDead };
inline constexpr std::size_t kUpdateKinds = 5;
const char* to_string(UpdateKind kind);

// Who has seen for themselves that a member does not answer: a small set.
class Accusers {
 public:
  static constexpr std::size_t kMax = 8;
  // True when it was not in the set and there was room.
  bool add(AccuserMark mark) {
    if (size_ == kMax || contains(mark)) return false;
    marks_[size_++] = mark;
    return true;
  }
  bool contains(AccuserMark mark) const { return std::find(begin(), end(), mark) != end(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const AccuserMark* begin() const { return marks_.data(); }
  const AccuserMark* end() const { return marks_.data() + size_; }

 private:
  std::array<AccuserMark, kMax> marks_{};
  uint8_t size_ = 0;
};

struct Update {
  UpdateKind kind = UpdateKind::kAlive;
  NodeId node;
  uint32_t incarnation = 0;
  // Of kJoin and kAlive:
  std::string name;
  uint32_t life = 0;  // grows with each start of the process that bears the name
  Profile profile;
  // Of kSuspect and kDead:
  Accusers accusers;
};

// An incarnation beyond this is refused: each refutation adds one, so it takes a century of one a second to get there.
inline constexpr uint32_t kMaxIncarnation = 0xfffffff0;

}  // namespace bellwether::membership
