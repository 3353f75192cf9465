// The protocol of an established connection, without the connection: requests with ids, deadlines and priorities, their
// answers, one-way messages, cancellation, keep-alive. A kernel: texts of frames go in through receive() and come out
// of next_frame(), time comes in as a value. Either end may ask.
//
// Everything is bounded: the number of requests under way in either direction, and the bytes that wait in each class of
// priority. A message that finds no room is refused to its sender (kExhausted), and an answer that finds none is sent
// as kBusy without its body. The connection to a peer that reads nothing at all, and yet makes this end write, is ended
// (kCrowded).
//
// id = sequence number × 65,536 + slot. Open requests have different slots, each below the number of requests that the
// peer accepts at a time (its hello says it). So both ends find a request without searching.
//
// Not safe for several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/wire/compress.h"
#include "cluster/wire/refusal.h"
#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace bellwether::wire {

// The body of an answer with the status kBusy: when to ask again, and why not now. A node that is too busy
// for a body sends none.
//
//   offset  bytes
//    0       4    milliseconds, big-endian, after which to ask again; 0: it does not say
//    4       n    why, as text, for people
struct Busy {
  Duration again_after;  // zero: it does not say
  std::string why;
};

inline constexpr Duration kMaxAgainAfter = Duration::hours(1);
inline constexpr std::size_t kMaxBusyText = 256;

// `again_after` in whole milliseconds, rounded up; both parts are cut to their limits.
std::string encode_busy(Duration again_after, std::string_view why);
// Of any bytes: missing fields are zero or empty, too long ones are cut, and the text is fit for a terminal.
Busy decode_busy(Bytes body);

// What a frame of an established connection holds: a message, or a piece of one.
//
//   offset  bytes
//    0       1    kind, see Kind
//    1       1    bits 0 and 1: priority; bit 2: more pieces follow; bit 3: the body is compressed; the rest is 0
//    2       2    type of a request or one-way message; status of a response; else 0
//    4       8    id: of a request, and of what refers to it; else 0
//   12       4    milliseconds that a request still has, 0: no limit; else 0
//   16       n    body
//
// All numbers are big-endian. The header is not a protobuf message around the body, because it is read for every
// message, and a lease must not wait for a parser; fields that may grow with versions are in the body and in the hello.
inline constexpr std::size_t kMessageHeaderBytes = 16;

// Everything that waits in one class is sent before anything of the classes below it.
enum class Priority : uint8_t {
  kLeadership,  // votes, leases, keep-alive
  kControl,     // dispatch, cancellation, membership
  kNormal,      // queries, progress
  kBulk,        // state transfers, statistics, reports
};
inline constexpr std::size_t kPriorities = 4;

enum class ReplyStatus : uint16_t {
  kOk = 0,
  kFailed = 1,        // the peer gives the reason in the body, as text
  kBusy = 2,          // too much is under way there; asking again later may work
  kUnknownType = 3,   // a message that the other end does not know
  kNotPermitted = 4,  // not for this role
  kChunked = 5,       // too large for a message: the body says how it is fetched (cluster/net/chunks.h)
};

struct MessageHeader {
  enum class Kind : uint8_t {
    kRequest = 1,
    kResponse = 2,
    kOneWay = 3,
    kCancel = 4,  // the answer to this request is no longer wanted
    kPing = 5,    // asks for a pong
    kPong = 6,
    kGoodbye = 7,  // the receiver must send no new requests: this end is about to close
    kPiece = 8,    // goes on with the unfinished message of this priority
  };
  Kind kind = Kind::kPing;
  Priority priority = Priority::kLeadership;
  bool more = false;
  bool compressed = false;
  uint16_t type = 0;
  uint64_t id = 0;
  uint32_t timeout_ms = 0;
};

void encode_message_header(const MessageHeader& header, std::byte* to);
// False: not a header of this protocol. REQUIRES 16 bytes.
[[nodiscard]] bool decode_message_header(const std::byte* from, MessageHeader& header);

// Messages of one priority that wait to be sent, in order, in one growing buffer: no allocation for each message once
// it has grown. The front message can be taken in pieces.
class OutQueue {
 public:
  // `expires`: when it is no longer wanted; never() keeps it in any case.
  void push(const MessageHeader& header, Instant expires, Bytes body);
  // Bytes of all unfinished messages, sent pieces and bookkeeping included.
  std::size_t size() const { return buffer_.size() - head_; }
  bool empty() const { return size() == 0; }

  // Writes the next piece, header and body, into `out` (more than a header), and returns its size. Messages that have
  // expired before their first piece are left out; 0: nothing is left. The remaining time of a request is set from
  // `now`.
  std::size_t pop_piece(Instant now, MutableBytes out);

 private:
  struct Waiting {
    MessageHeader header;
    Instant expires;
    std::size_t size;
  };
  void drop_front(std::size_t bytes);

  std::vector<std::byte> buffer_;
  std::size_t head_ = 0;
  std::size_t sent_ = 0;  // of the front message's body
};

using RequestId = uint64_t;

struct SessionLimits {
  uint32_t asking_max = 1024;   // requests of this end under way; never more than the other end takes
  uint32_t serving_max = 1024;  // requests of the other end under way
  InflateLimits body;           // body.compressed bounds every message, compressed or not
  // Bytes that wait in each class. One message always finds room in an empty queue.
  std::array<std::size_t, kPriorities> queued_max = {1 << 20, 2 << 20, 4 << 20, 8 << 20};
  Duration quiet = Duration::seconds(5);     // of silence, after which this end sends a ping
  Duration give_up = Duration::seconds(15);  // of silence, after which it is gone; 0: never, and no pings are sent
};

// A message to be sent; the body is copied.
struct Outgoing {
  uint16_t type = 0;
  Priority priority = Priority::kNormal;
  bool compress = false;  // when that makes it smaller
  Bytes body;
};

// The content of a frame. At most one thing; views are good until the next call of receive().
struct Inbound {
  enum class Kind : uint8_t { kNothing, kRequest, kResponse, kOneWay, kCancelled, kGoodbye };
  Kind kind = Kind::kNothing;
  Priority priority = Priority::kNormal;
  uint16_t type = 0;
  ReplyStatus status = ReplyStatus::kOk;  // kResponse
  RequestId id = 0;
  Instant deadline = Instant::never();  // kRequest: when the answer is no longer wanted
  Bytes body;
  void* context = nullptr;  // kResponse: as given to request()
};

class Session {
 public:
  // `peer_takes`: requests that the other end takes at a time, from its hello.
  Session(const SessionLimits& limits, uint32_t peer_takes, Instant now);

  // Sends a request. If it has no answer at `deadline`, next_expired() takes it. The session keeps `context` and does
  // not own it. Errors: kExhausted: too much is under way or waits; kTooLarge; kClosed after a goodbye of either end.
  Result<RequestId> request(Instant deadline, const Outgoing& message, void* context);
  // Answers a request. False: the answer is no longer wanted. True does not mean that the body is sent: if it finds no
  // room or exceeds SessionLimits::body.compressed, the peer gets kBusy without a body. Larger answers need
  // cluster/net/chunks.h.
  bool respond(RequestId id, ReplyStatus status, Bytes body, bool compress = false);
  // Sends a one-way message; allowed after a goodbye too. Errors: kExhausted, kTooLarge.
  Status send(const Outgoing& message);
  // Forgets a request of this end, and informs the other one. False: it is not under way.
  bool cancel(RequestId id);
  // No new requests from now on, in either direction; what is under way goes on. The other end says goodbye too.
  void say_goodbye();
  // Makes the other end hear something now.
  void show_life();

  // Takes the text of one frame. Anything but kNone: the peer breaks the protocol, and the caller must close the
  // connection.
  Refusal receive(Instant now, Bytes text, Inbound& inbound);
  // Writes the text of the next frame to send into `out` (at most kMaxStreamText are used) and returns its size; 0:
  // nothing waits.
  std::size_t next_frame(Instant now, MutableBytes out);
  bool wants_to_send() const;

  // Takes one request whose deadline has passed, and tells the peer to cancel it. False: none has expired. Call it
  // until it returns false.
  struct Expired {
    RequestId id = 0;
    void* context = nullptr;
  };
  bool next_expired(Instant now, Expired& expired);
  // Any request of this end, for when the connection has ended; nothing when none is left.
  bool take_any(Expired& taken);
  // Sends a ping when it is time. False: the other end has been silent for too long.
  bool keep_alive(Instant now);
  // When next_expired() or keep_alive() may have something to do. Never later than that, perhaps earlier.
  Instant next_deadline() const;

  std::size_t asking() const { return asking_; }
  std::size_t serving() const { return serving_; }
  std::size_t queued_bytes() const;
  bool closing() const { return closing_; }
  // The other end reads nothing, and makes this one write: the caller must close the connection.
  bool overrun() const { return overrun_; }
  // Both ends said goodbye, and nothing is under way any more.
  bool finished() const { return closing_ && peer_closing_ && asking_ == 0 && serving_ == 0 && !wants_to_send(); }

 private:
  struct Slot {
    RequestId id = 0;  // 0: free
    Instant deadline;
    void* context = nullptr;
  };
  struct Served {
    RequestId id = 0;       // 0: none
    RequestId highest = 0;  // ids up to this one are no news: they were served, or given up
    Priority priority = Priority::kNormal;
  };
  struct Unfinished {
    bool open = false;
    MessageHeader first;
    std::vector<std::byte> body;
  };
  Status queue(MessageHeader header, Instant expires, Bytes body, bool compress);
  void queue_bare(MessageHeader::Kind kind, Priority priority, RequestId id, uint16_t type = 0);
  bool fits(Priority priority, std::size_t bytes) const;
  void release(std::size_t slot);
  Refusal assemble(const MessageHeader& header, Bytes piece, MessageHeader& whole, Bytes& body, bool& complete);
  Refusal deliver(Instant now, const MessageHeader& header, Bytes body, Inbound& inbound);
  Refusal take_request(Instant now, const MessageHeader& header, Inbound& inbound);
  void take_response(const MessageHeader& header, Inbound& inbound);
  void take_cancel(const MessageHeader& header, Inbound& inbound);

  SessionLimits limits_;
  std::array<OutQueue, kPriorities> queues_;
  std::array<Unfinished, kPriorities> unfinished_;
  std::vector<std::byte> inflated_;
  std::vector<std::byte> deflated_;

  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  uint64_t sequence_ = 0;
  std::size_t asking_ = 0;
  Instant earliest_ = Instant::never();  // no request's deadline is before
  std::vector<Served> served_;           // by slot
  std::size_t serving_ = 0;

  Instant heard_;
  bool asked_for_life_ = false;
  bool closing_ = false;
  bool peer_closing_ = false;
  bool overrun_ = false;
};

}  // namespace bellwether::wire
