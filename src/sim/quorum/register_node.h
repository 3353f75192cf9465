// A simulated node that keeps registers, owns them and changes the set of replicas: its state, and what it says.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cluster/register/acceptor.h"
#include "cluster/register/owner.h"
#include "cluster/register/set_change.h"
#include "sim/group/group_work.h"
#include "sim/group/record_disk.h"
#include "sim/quorum/register_checker.h"

namespace bellwether::sim {

// The messages of registers, and the requests of replicas with their answers.
struct RegisterWire {
  uint32_t from = 0;
  uint64_t set = 0;     // number of the sender's set of replicas
  uint64_t number = 0;  // of a request; its answer repeats it
  std::variant<registers::Ask, registers::Answer, registers::Freed, registers::SetIs, registers::ReadRecords,
               registers::Records, registers::ReadSet, registers::SetState>
      body;
};

// What a node writes to its disk.
struct HasRead {
  uint64_t set = 0;
};
using RegisterRow = std::variant<registers::KeepJob, registers::ReplicaSet, HasRead>;

struct RegisterWritten {
  RegisterRow row;
  bool ok = true;
};
struct RegisterWish {
  std::string key;
  registers::OwnerEvent event;
};
struct RegisterTick {};
using RegisterEvent =
    std::variant<RegisterTick, RegisterWire, RegisterWish, RegisterWritten, registers::JobKept, registers::SetWish>;

struct RegisterNode : GroupMember {
  struct Operation {
    bool write = false;
    std::string value;
    RegisterChecker::Floor floor;
  };
  // One register that this node owns, or wants to own.
  struct Ownership {
    registers::JobOwner owner;
    RegisterChecker::Floor take_floor;
    std::map<uint64_t, Operation> operations = {};
    std::string known_value = {};  // that this node wrote or read last
    Place known_place = {};
    std::map<registers::MemberId, registers::Answer> promised = {};  // a mistake: of the last takeover
  };
  // A page of another's records on its way to the disk.
  struct Page {
    std::string source;
    std::string last;
    bool more = false;
    bool answered = false;
  };

  registers::MemberId id;
  std::string name;
  bool lost = false;  // for good, with its disk
  std::optional<registers::JobAcceptor> acceptor;
  std::map<std::string, Ownership> owned;  // by key
  std::vector<RegisterEvent> missed;
  RecordDisk<RegisterRow> disk;

  registers::ReplicaSet set;                      // the newest that it knows
  registers::ReplicaSet kept;                     // and on its disk
  uint64_t read = 0;                              // number of a set; it has read everything for that one, on its disk
  std::map<std::string, std::string> read_after;  // by the replica that it reads from
  std::set<std::string> read_from;                // everything
  std::map<uint64_t, Page> pages;

  std::optional<registers::SetChange> change;
  bool change_is_over = false;

  bool reads() const {
    return set.joint() && read < set.number && std::binary_search(set.next.begin(), set.next.end(), name);
  }
};

}  // namespace bellwether::sim
