// One node of a simulated group that elects an admin by scored votes: the product's elector, its disk, and what its
// machine is worth.
#pragma once

#include <optional>
#include <vector>

#include "election/vote/vote_elector.h"
#include "sim/group/group_member.h"
#include "sim/group/record_disk.h"

namespace bellwether::sim {

struct VoteMember : GroupMember {
  vote::NodeId id;
  std::optional<vote::VoteElector> elector;
  std::vector<vote::Event> missed;  // what came while it was paused
  RecordDisk<vote::Record> disk;
  bool lost = false;  // its record was lost once: it can only follow
  bool gone = false;  // for good: another process has taken its place

  vote::Claim claim;  // as it is measured now, without times
  Instant started;
  Duration experience;                 // of earlier lives
  Duration boast;                      // how much more uptime it claims than it has
  std::optional<vote::Message> spoke;  // last; for those who would speak in its name
};

}  // namespace bellwether::sim
