// An established connection between two nodes over a stream: seals and opens frames, and lets a session (session.h)
// decide about them. Made by dial() or by a Server; both ends may ask.
//
// Requests and answers of one turn of the loop leave in one write. At most 64 KiB are sealed ahead of the stream, so
// that an urgent message is sent soon. One runtime, one thread.
#pragma once

#include <memory>
#include <vector>

#include "cluster/wire/frame.h"
#include "cluster/wire/handshake.h"
#include "cluster/wire/link/refusal_watch.h"
#include "cluster/wire/session.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"

namespace bellwether::link {

class Connection;

// Receives what comes in. Called from within the loop; views are good during the call. May answer at once or later, may
// close the connection, must not destroy it.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // The other end has shown that it is there and knows the secret. Before anything else.
  virtual void on_open(Connection&) {}
  // To be answered by respond(), at some time.
  virtual void on_request(Connection& connection, const wire::Inbound& request) = 0;
  virtual void on_message(Connection&, const wire::Inbound&) {}
  virtual void on_cancelled(Connection&, wire::RequestId) {}
  // The last call, if on_open() was called.
  virtual void on_closed(Connection&, const Error&) {}
};

class Connection {
 public:
  struct Parts {
    std::unique_ptr<runtime::Stream> stream;
    wire::Agreement agreement;
    bool opener = false;              // the end that connected
    Instant prove_by;                 // for the other end: when a first frame of the opener must have come
    std::vector<std::byte> received;  // what came behind the handshake
  };
  // `runtime`, `handler` and `refusals` outlive it.
  Connection(runtime::Runtime& runtime, Parts parts, const wire::SessionLimits& limits, ConnectionHandler& handler,
             RefusalWatch& refusals);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const wire::Announced& peer() const { return agreement_.peer; }
  const wire::Agreement& agreement() const { return agreement_; }
  runtime::Endpoint peer_endpoint() const { return peer_endpoint_; }
  bool open() const { return open_ && !ended_; }
  // The monotonic clock of its runtime, as of this turn of the loop.
  Instant now() const { return runtime_.now(); }
  const wire::Session& session() const { return session_; }
  // For the owner's use in a handler.
  void* owner = nullptr;

  // Until it ends: everything else needs this running. Then all requests under way fail. Gives the reason; kClosed
  // after goodbyes.
  runtime::task<Error> run(runtime::Cancellation* cancel);

  // co_await connection.request(message, deadline, body, cancel): asks, and waits for the answer, whose body replaces
  // `body`. kTimeout, kCancelled, kExhausted (nothing was sent), kTooLarge, kClosed (no new requests), kReset (the
  // connection ended; whether the request was acted on is not known).
  class Request;
  Request request(const wire::Outgoing& message, Instant deadline, std::vector<std::byte>& body,
                  runtime::Cancellation* cancel = nullptr);
  // False: the answer is no longer wanted.
  bool respond(wire::RequestId id, wire::ReplyStatus status, Bytes body, bool compress = false);
  Status send(const wire::Outgoing& message);
  // Takes no new requests, finishes those under way, and ends.
  void say_goodbye();
  // Ends now.
  void close(Error why);

 private:
  friend class Request;
  runtime::task<void> write_on();
  void flush();
  bool fill();
  void take_frames();
  void take_frame(MutableBytes frame);
  void dispatch(const wire::Inbound& inbound);
  void wake_writer() {
    if (!blocked_) to_write_.set();
  }
  void watch_time();
  void on_time();
  void fail_requests();
  void refuse(wire::Refusal refusal, const char* what);

  runtime::Runtime& runtime_;
  std::unique_ptr<runtime::Stream> stream_;
  runtime::Endpoint peer_endpoint_;
  wire::Agreement agreement_;
  wire::StreamSealer sealer_;
  wire::StreamOpener opener_;
  wire::Session session_;
  ConnectionHandler& handler_;
  RefusalWatch& refusals_;

  std::vector<std::byte> in_;
  std::size_t in_from_ = 0;  // the range of unprocessed bytes: from here
  std::size_t in_to_ = 0;    // to here
  std::vector<std::byte> out_;
  std::size_t out_from_ = 0;
  std::size_t out_to_ = 0;
  bool blocked_ = false;  // the stream takes no more for now
  bool open_ = false;
  Instant prove_by_;
  bool ended_ = false;
  Error why_;
  runtime::Event to_write_;
  runtime::Timer timer_;
};

class [[nodiscard]] Connection::Request {
 public:
  Request(Connection& connection, const wire::Outgoing& message, Instant deadline, std::vector<std::byte>& body,
          runtime::Cancellation* cancel);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();
  bool await_ready() const { return connection_ == nullptr; }
  void await_suspend(std::coroutine_handle<> waiting) { entry_.handle = waiting; }
  Result<wire::ReplyStatus> await_resume() { return std::move(outcome_); }

 private:
  friend class Connection;
  static void cancelled(void* self);
  void finish(Result<wire::ReplyStatus> outcome);

  Connection* connection_;  // nullptr: it has an outcome
  wire::RequestId id_ = 0;
  std::vector<std::byte>& body_;
  Result<wire::ReplyStatus> outcome_ = wire::ReplyStatus::kOk;
  runtime::RunQueue::Entry entry_;
  runtime::CancelCallback on_cancel_;  // last: it may call cancelled() at once
};

inline Connection::Request Connection::request(const wire::Outgoing& message, Instant deadline,
                                               std::vector<std::byte>& body, runtime::Cancellation* cancel) {
  return Request(*this, message, deadline, body, cancel);
}

}  // namespace bellwether::link
