// How a node has conducted itself, as one voter has seen it: terms that it has served to a good end, heartbeats that it
// owed as an admin, and claims that could not be true. Each voter has its own book, which it keeps over restarts.
//
//   standing = (1 + served) / (1 + served + lost + 2 wrong), to the nearest quarter
//
// It is coarse, so that voters that have seen about the same think the same of a node, and it forgets: when a count
// reaches kMostCounted, all of that node are halved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "election/vote/vote_messages.h"

namespace bellwether::vote {

enum class Deed : uint8_t {
  kServed,          // has given up the office in good order
  kLostHeartbeats,  // was the admin, and not heard for the heartbeat timeout
  kWrongClaim,      // has said of itself what cannot be
};

inline constexpr uint32_t kMostCounted = 64;

class ReputationBook {
 public:
  void add(NodeId node, Deed deed);
  // 0 to 1; 1 for who is not known.
  double standing(NodeId node) const;

  // As text, one line a node: "ID SERVED LOST WRONG".
  std::string text() const;
  // kInvalid: no such text, or out of its bounds.
  static Result<ReputationBook> read(std::string_view text);

 private:
  struct Counts {
    uint32_t served = 0;
    uint32_t lost = 0;
    uint32_t wrong = 0;
  };
  std::map<NodeId, Counts> nodes_;
};

}  // namespace bellwether::vote
