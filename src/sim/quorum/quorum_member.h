// One member in a simulated group that elects by term and quorum: the product's elector and its disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "election/quorum/quorum_elector.h"
#include "sim/group/group_member.h"
#include "sim/group/record_disk.h"

namespace bellwether::sim {

struct QuorumMember : GroupMember {
  quorum::MemberId id;
  bool removed = false;  // from the group, or never yet in it
  bool gone = false;     // for good: another process has taken its place
  std::optional<quorum::QuorumElector> elector;
  std::vector<quorum::Event> missed;  // what came while it was paused
  RecordDisk<quorum::Record> disk;
  bool lost = false;   // its record was lost once: it can only follow
  uint64_t state = 0;  // how new its other durable state is
};

}  // namespace bellwether::sim
