// The record of a node, and its messages. A message that depends on the record (a vote, a promise, the number of this
// start) waits here until the record is durable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/time.h"
#include "election/vote/vote_events.h"

namespace bellwether::vote {

class VoteLedger {
 public:
  // `mark` is named in each message; a write that has failed is tried again after `patience`.
  VoteLedger(NodeId self, uint64_t mark, Duration patience) : self_(self), mark_(mark), patience_(patience) {}

  Record record;  // persist() follows each change of it
  // It has voted in no later one, and promised nothing in one.
  Term last_term() const { return std::max(record.term, record.promised); }

  uint64_t persist(Effects& out);
  // Sends the messages that wait for this. False: the disk has failed.
  bool persisted(Instant now, const Persisted& done, Effects& out);
  void tick(Instant now, Effects& out);
  Instant wake() const { return again_; }
  bool is_durable(uint64_t version) const { return durable_ >= version; }
  bool disk_failed() const { return failed_; }

  void say(NodeId to, Body body, Effects& out);  // kNobody: to all
  void say_when_durable(uint64_t version, NodeId to, Body body, Effects& out);
  // An answer that waits for the disk is overtaken by the next one.
  void drop_answers();

 private:
  static constexpr std::size_t kMaxHeld = 256;  // messages that wait for the disk
  struct Held {
    uint64_t version = 0;
    NodeId to;  // kNobody: all
    Body body;
  };

  NodeId self_;
  uint64_t mark_;
  Duration patience_;
  uint64_t sequence_ = 0;
  uint64_t durable_ = 0;
  bool failed_ = false;
  Instant again_ = Instant::never();
  std::vector<Held> held_;
};

}  // namespace bellwether::vote
