// Which authentic datagrams are new: one window of message numbers for each sender (RFC 6479's idea of a bitmap behind
// the highest number), for its latest start only.
//
// What a window cannot know, after a restart of either side, a challenge decides; no clock is asked. A receiver has a
// tag that nobody can guess. A datagram of a session that it does not know is taken only when it carries the tag; else
// its sender is asked to show that it is there now, by being told the tag. A tag is replaced when a session is, or when
// a sender is forgotten for lack of room: so whatever was sent to an earlier start of the receiver, by an earlier start
// of the sender, or by a sender that was forgotten, carries a tag that is good no more. A connection's handshake shows
// the same as an answered challenge.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "cluster/wire/envelope.h"
#include "core/base/prng.h"

namespace bellwether::wire {

// The numbers of one session that were seen.
class ReplayWindow {
 public:
  static constexpr uint64_t kWidth = 1024;  // how far behind the highest number a message may arrive

  // kNone, and remembers it; kReplayed for one that was seen or is behind the window, and for number 0.
  Refusal take(uint64_t number);
  // The same without remembering.
  Refusal look(uint64_t number) const;
  uint64_t highest() const { return highest_; }

 private:
  static constexpr std::size_t kWords = kWidth / 64 + 1;
  uint64_t highest_ = 0;
  std::array<uint64_t, kWords> seen_{};
};

class ReplayGuard {
 public:
  // `prng`: gives the tags; a copy of its own.
  ReplayGuard(std::size_t senders_max, Prng prng);

  // What would be decided on a datagram with this header. For before it is opened: what is kReplayed needs no crypto.
  Refusal look(const EnvelopeHeader& header) const;
  // Decides on an authentic one, and remembers it. kUnproven: its sender should be told the tag.
  Refusal take(const EnvelopeHeader& header);
  // A connection's handshake has shown that `sender` is there now, with this session.
  void introduce(uint64_t sender, const SessionId& session);

  // What a first datagram of a session must carry. Never 0.
  uint64_t tag() const { return tag_; }
  std::size_t senders() const { return senders_.size(); }

 private:
  struct Sender {
    SessionId session;
    ReplayWindow window;
    uint64_t heard = 0;  // order of being heard of, for who is forgotten first
  };
  Sender& remember(uint64_t sender, const SessionId& session);
  void touch(uint64_t sender, Sender& entry);
  void change_tag() { tag_ = prng_.next() | 1U; }

  std::size_t senders_max_;
  Prng prng_;
  uint64_t tag_ = 0;
  uint64_t heard_ = 0;
  std::unordered_map<uint64_t, Sender> senders_;
  std::map<uint64_t, uint64_t> by_heard_;
};

}  // namespace bellwether::wire
