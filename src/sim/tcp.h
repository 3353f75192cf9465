// One end of a simulated TCP connection, in the kernel of its node: sequence numbers, acknowledgements, windows and
// retransmission over a network that loses, repeats and reorders packets. It leaves out the parts that a program sees
// only as a delay: congestion control, delayed acknowledgements, selective ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/runtime/address.h"
#include "sim/timeline.h"

namespace bellwether::sim {

class ListenQueue;
class Sockets;
class Source;

// Buffers of the connections that a node opens or accepts from now on; small, so that writers get to wait.
struct TcpSettings {
  std::size_t send_buffer = 16 * 1024;
  std::size_t receive_buffer = 16 * 1024;
  // Probability that a segment, a write or a read covers less than it could.
  double split = 0.2;
};

struct Segment {
  enum class Kind : uint8_t { kOpen, kOpenAnswer, kData, kReset };
  Kind kind = Kind::kData;
  bool finish = false;  // nothing follows; counts as one byte
  bool probe = false;   // asks for an acknowledgement
  runtime::Endpoint from;
  runtime::Endpoint to;
  uint64_t connection = 0;  // drawn by the opener, in place of initial sequence numbers
  uint64_t sequence = 0;    // of the first byte
  std::vector<std::byte> data;
  uint64_t acknowledged = 0;  // all before this one were received
  uint64_t limit = 0;         // none from this one on will be taken
};

class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  enum class State : uint8_t { kOpening, kAnswering, kOpen, kDead };
  struct Identity {
    runtime::Endpoint local;
    runtime::Endpoint peer;
    uint64_t number;
  };
  // `listener`: the queue that is to accept it; nullptr for an opener.
  Connection(Sockets& sockets, Timeline& timeline, TcpSettings settings, Identity identity, ListenQueue* listener);

  const Identity& identity() const { return identity_; }
  ListenQueue* listener() const { return listener_; }
  void accepted() { listener_ = nullptr; }
  State state() const { return state_; }
  // Why it is dead; kOk while it is not.
  Errc error() const { return error_; }

  // For the stream above, which receives changes through `user`.
  void attach(Source* user) { user_ = user; }
  std::size_t unread() const { return received_.size(); }
  bool peer_finished() const { return peer_finished_; }
  std::size_t read(MutableBytes into);
  // How much a write takes. REQUIRES state kOpen for both.
  std::size_t space() const { return settings_.send_buffer - unacknowledged_.size(); }
  void write(Bytes bytes);
  void finish_writing();
  bool finishing() const { return finish_wanted_; }
  // The stream is gone: the kernel delivers what was written, or resets the connection on request, or when it holds
  // unread data.
  void close(bool resets);

  // For the kernel.
  void open();
  void receive(const Segment& segment);
  // Dies and resets the peer.
  void reset();
  // Dies, and notifies only the stream above.
  void die(Errc why);

 private:
  uint64_t end_of_data() const { return base_ + unacknowledged_.size(); }
  bool waits_for_answer() const;
  void take_acknowledgement(const Segment& segment);
  void take_data(const Segment& segment);
  void absorb(const Segment& segment);
  void pump();
  void transmit(Segment::Kind kind, uint64_t sequence, Bytes data, bool finish, bool probe);
  void acknowledge() { transmit(Segment::Kind::kData, next_, {}, false, false); }
  void expect_answer();
  void wait_until_deadline();
  void answer_is_late();
  void tell_user();
  void end_when_done();
  Duration patience() const;

  Sockets& sockets_;
  Timeline& timeline_;
  TcpSettings settings_;
  Identity identity_;
  ListenQueue* listener_;
  Source* user_ = nullptr;
  State state_;
  Errc error_ = Errc::kOk;
  bool closed_ = false;  // by the stream above

  // Sending. The end of data is followed by one number for the finish.
  std::vector<std::byte> unacknowledged_;
  uint64_t base_ = 0;   // the number of the first unacknowledged byte
  uint64_t next_ = 0;   // the first number not sent, or to be sent again
  uint64_t limit_ = 0;  // granted by the peer
  bool finish_wanted_ = false;
  bool finish_acknowledged_ = false;
  bool finished_first_ = false;
  bool user_wants_space_ = false;

  // Retransmission.
  Instant deadline_ = Instant::never();
  bool timer_set_ = false;
  uint32_t retries_ = 0;
  uint64_t timed_number_ = 0;  // its acknowledgement gives the round trip; 0: none is timed
  Instant timed_at_;
  Duration round_trip_;

  // Receiving.
  std::vector<std::byte> received_;
  uint64_t expected_ = 0;
  uint64_t announced_limit_ = 0;
  std::map<uint64_t, Segment> early_;  // by sequence
  bool peer_finished_ = false;
};

}  // namespace bellwether::sim
