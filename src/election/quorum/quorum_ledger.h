// The record of a member, and its messages. A message that depends on the record (a vote, a promise) waits here until
// the record is durable: send_when_durable() is the only way to send it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/time.h"
#include "election/quorum/quorum_events.h"

namespace bellwether::quorum {

class QuorumLedger {
 public:
  // `life` is named in each message; a write that has failed is tried again after `patience`.
  QuorumLedger(MemberId self, uint64_t life, Duration patience) : self_(self), life_(life), patience_(patience) {}

  Record record;              // persist() follows each change of it
  uint64_t vote_version = 0;  // of the record that holds the last vote
  bool verified = false;      // no member knows a newer record of this one, or the quiet time is over

  void load(const Record& found) {
    record = found;
    found_ = durable_ = found.version;
  }
  uint64_t found() const { return found_; }  // version of the record at the start
  uint64_t persist(Effects& out);
  // Sends the messages that wait for this. False: the disk has failed, and they are dropped.
  bool persisted(Instant now, const Persisted& done, Effects& out);
  void tick(Instant now, Effects& out);
  Instant wake() const { return again_; }
  bool is_durable() const { return durable_ >= record.version; }
  bool vote_is_durable() const { return durable_ >= vote_version; }
  bool disk_failed() const { return failed_; }

  void send(MemberId to, Body body, Effects& out) const;
  // Sends when version `version` of the record is durable, and drops it when the term has changed by then.
  void send_when_durable(uint64_t version, MemberId to, Body body, Effects& out);

 private:
  static constexpr std::size_t kMaxHeld = 64;  // messages that wait for the disk
  struct Held {
    uint64_t version;
    Term term;
    MemberId to;
    Body body;
  };

  MemberId self_;
  uint64_t life_;
  Duration patience_;
  uint64_t found_ = 0;
  uint64_t durable_ = 0;  // version of the record
  bool failed_ = false;
  Instant again_ = Instant::never();
  std::vector<Held> held_;
};

}  // namespace bellwether::quorum
