#include "cluster/wire/link/connection.h"

#include <algorithm>
#include <cstring>

namespace bellwether::link {
namespace {

using runtime::Cancellation;
using runtime::Io;
using runtime::task;
using wire::Inbound;
using wire::Refusal;

constexpr std::size_t kInAtFirst = 4 * 1024;
constexpr std::size_t kBuffer = 64 * 1024;  // most bytes read, and sealed, at a time
constexpr std::size_t kMaxFrame = wire::kLengthBytes + wire::kMaxStreamFrame;
static_assert(kBuffer >= kMaxFrame);

}  // namespace

Connection::Connection(runtime::Runtime& runtime, Parts parts, const wire::SessionLimits& limits,
                       ConnectionHandler& handler, RefusalWatch& refusals)
    : runtime_(runtime),
      stream_(std::move(parts.stream)),
      peer_endpoint_(stream_->peer()),
      agreement_(std::move(parts.agreement)),
      sealer_(agreement_.send),
      opener_(agreement_.receive),
      session_(limits, agreement_.peer.requests_max, runtime.now()),
      handler_(handler),
      refusals_(refusals),
      in_(std::move(parts.received)),
      in_to_(in_.size()),
      timer_([](void* self) { static_cast<Connection*>(self)->on_time(); }, this) {
  in_.resize(std::max(in_.size(), kInAtFirst));
  // The acceptor is not sure of the opener before a frame opens; the welcome has authenticated the acceptor to the
  // opener.
  open_ = parts.opener;
  prove_by_ = parts.prove_by;
  if (parts.opener) session_.show_life();
}

Connection::~Connection() {
  ended_ = true;
  fail_requests();
}

task<Error> Connection::run(Cancellation* cancel) {
  runtime::CancelCallback on_cancel(
      cancel,
      [](void* self) {
        static_cast<Connection*>(self)->close({Errc::kCancelled, "this end closed the connection"});
      },
      this);
  if (open_) handler_.on_open(*this);
  watch_time();
  task<void> writing = write_on();
  take_frames();
  while (!ended_) {
    const Errc waited = co_await stream_->readable();
    if (waited != Errc::kOk || ended_) break;
    if (in_to_ == in_.size()) in_.resize(kBuffer);
    const Io io = stream_->try_read(MutableBytes(in_).subspan(in_to_));
    if (io.kind == Io::Kind::kDone) {
      in_to_ += io.count;
      take_frames();
      flush();
    } else if (io.kind == Io::Kind::kEnd) {
      close({Errc::kClosed, "the other end closed the connection"});
    } else if (io.kind == Io::Kind::kError) {
      close({io.error, fmt::format("the connection to {} broke", peer_endpoint_.to_string())});
    }
  }
  close({Errc::kReset, "the connection was interrupted"});
  co_await writing;
  stream_.reset();  // informs the other end now, even if this object is kept
  timer_.disarm();
  fail_requests();
  if (open_) handler_.on_closed(*this, why_);
  co_return why_;
}

void Connection::close(Error why) {
  if (ended_) return;
  ended_ = true;
  why_ = std::move(why);
  stream_->interrupt(Errc::kCancelled);
  to_write_.set();
}

void Connection::refuse(Refusal refusal, const char* what) {
  refusals_.note(refusal, peer_endpoint_, what, runtime_.now());
  stream_->reset_when_closed();
  close({Errc::kProtocol, fmt::format("{} ({})", what, to_string(refusal))});
}

// --- in ---

void Connection::take_frames() {
  while (!ended_) {
    const MutableBytes rest = MutableBytes(in_).subspan(in_from_, in_to_ - in_from_);
    const wire::FrameCut cut = wire::cut_frame(rest, wire::kMaxStreamFrame);
    if (cut.kind == wire::FrameCut::Kind::kRefused) return refuse(cut.refusal, "a frame has a wrong length");
    if (cut.kind == wire::FrameCut::Kind::kMore) {
      if (in_from_ > 0 && !rest.empty()) std::memmove(in_.data(), rest.data(), rest.size());
      in_to_ = rest.size();
      in_from_ = 0;
      if (cut.needed > in_.size()) in_.resize(kBuffer);
      return;
    }
    in_from_ += cut.consumed;
    take_frame(rest.first(cut.consumed));
  }
}

void Connection::take_frame(MutableBytes frame) {
  MutableBytes text;
  if (!opener_.open(frame, text)) return refuse(Refusal::kForged, "a frame cannot be decrypted");
  if (!open_) {
    open_ = true;
    handler_.on_open(*this);
    if (ended_) return;
  }
  Inbound inbound;
  const Refusal refusal = session_.receive(runtime_.now(), text, inbound);
  if (refusal != Refusal::kNone) return refuse(refusal, "a message breaks the protocol");
  dispatch(inbound);
}

void Connection::dispatch(const Inbound& inbound) {
  switch (inbound.kind) {
    case Inbound::Kind::kNothing: break;
    case Inbound::Kind::kRequest: handler_.on_request(*this, inbound); break;
    case Inbound::Kind::kResponse: {
      auto& request = *static_cast<Request*>(inbound.context);
      request.body_.assign(inbound.body.begin(), inbound.body.end());
      request.finish(inbound.status);
      break;
    }
    case Inbound::Kind::kOneWay: handler_.on_message(*this, inbound); break;
    case Inbound::Kind::kCancelled: handler_.on_cancelled(*this, inbound.id); break;
    case Inbound::Kind::kGoodbye: break;
  }
}

// --- out ---

bool Connection::respond(wire::RequestId id, wire::ReplyStatus status, Bytes body, bool compress) {
  if (ended_ || !session_.respond(id, status, body, compress)) return false;
  wake_writer();
  return true;
}

Status Connection::send(const wire::Outgoing& message) {
  if (ended_) return fail(Errc::kClosed, "the connection has ended");
  auto sent = session_.send(message);
  if (sent) wake_writer();
  return sent;
}

void Connection::say_goodbye() {
  if (ended_) return;
  session_.say_goodbye();
  wake_writer();
}

task<void> Connection::write_on() {
  while (!ended_) {
    flush();
    if (ended_) co_return;
    if (blocked_) {
      const Errc waited = co_await stream_->writable();
      blocked_ = false;
      if (waited != Errc::kOk) co_return;
    } else {
      co_await to_write_.wait();
      to_write_.reset();
    }
  }
}

// Writes as much as the stream takes.
void Connection::flush() {
  while (!ended_ && !blocked_) {
    if (out_from_ == out_to_ && !fill()) break;
    const Io io = stream_->try_write(Bytes(out_).subspan(out_from_, out_to_ - out_from_));
    if (io.kind == Io::Kind::kDone) {
      out_from_ += io.count;
    } else if (io.kind == Io::Kind::kWouldBlock) {
      blocked_ = true;
      to_write_.set();  // for the writer to wait until the stream takes more
    } else {
      close({io.error == Errc::kOk ? Errc::kReset : io.error,
             fmt::format("the connection to {} broke", peer_endpoint_.to_string())});
    }
  }
  if (session_.overrun()) refuse(Refusal::kCrowded, "the other end sends requests without reading the answers");
  if (!ended_ && session_.finished() && out_from_ == out_to_) {
    stream_->finish_writing();
    close({Errc::kClosed, "both ends closed the connection"});
  }
}

// Seals the waiting messages while room is left. False: nothing waits.
bool Connection::fill() {
  out_from_ = out_to_ = 0;
  while (session_.wants_to_send()) {
    if (out_.size() < out_to_ + kMaxFrame) {
      if (out_.size() >= kBuffer) break;
      out_.resize(std::max(kMaxFrame, std::min(kBuffer, out_.size() * 2)));
      continue;
    }
    const MutableBytes room = MutableBytes(out_).subspan(out_to_ + wire::kLengthBytes, wire::kMaxStreamText);
    const std::size_t size = session_.next_frame(runtime_.now(), room);
    if (size == 0) break;
    sealer_.seal(MutableBytes(out_).subspan(out_to_, size + wire::kStreamOverhead));
    out_to_ += size + wire::kStreamOverhead;
  }
  return out_to_ > 0;
}

// --- time ---

void Connection::watch_time() {
  const Instant next = open_ ? session_.next_deadline() : std::min(prove_by_, session_.next_deadline());
  if (ended_ || next == Instant::never() || (timer_.armed() && timer_.deadline() <= next)) return;
  runtime_.timers().arm(timer_, next);
}

void Connection::on_time() {
  if (!open_ && prove_by_ <= runtime_.now()) return refuse(Refusal::kTimeout, "no first frame after the handshake");
  wire::Session::Expired expired;
  while (session_.next_expired(runtime_.now(), expired)) {
    static_cast<Request*>(expired.context)->finish(fail(Errc::kTimeout, "no answer in time"));
  }
  if (!session_.keep_alive(runtime_.now())) {
    refusals_.note(Refusal::kTimeout, peer_endpoint_, "no sign of life", runtime_.now());
    stream_->reset_when_closed();
    return close({Errc::kTimeout, "the other end has been silent for too long"});
  }
  wake_writer();
  watch_time();
}

void Connection::fail_requests() {
  wire::Session::Expired taken;
  while (session_.take_any(taken)) {
    static_cast<Request*>(taken.context)->finish(fail(Errc::kReset, "the connection ended before the answer came"));
  }
}

// --- requests ---

Connection::Request::Request(Connection& connection, const wire::Outgoing& message, Instant deadline,
                             std::vector<std::byte>& body, Cancellation* cancel)
    : connection_(&connection), body_(body), on_cancel_(cancel, &Request::cancelled, this) {
  if (connection_ == nullptr) return;  // cancelled already
  if (connection.ended_) {
    finish(fail(Errc::kClosed, "the connection has ended"));
    return;
  }
  auto asked = connection.session_.request(deadline, message, this);
  if (!asked) {
    finish(tl::unexpected(asked.error()));
    return;
  }
  id_ = *asked;
  connection.watch_time();
  connection.wake_writer();
}

Connection::Request::~Request() {
  if (connection_ == nullptr || id_ == 0) return;
  connection_->session_.cancel(id_);
  connection_->wake_writer();
}

void Connection::Request::cancelled(void* self) {
  auto* request = static_cast<Request*>(self);
  if (request->connection_ == nullptr) return;
  if (request->id_ != 0) {
    request->connection_->session_.cancel(request->id_);
    request->connection_->wake_writer();
  }
  request->finish(fail(Errc::kCancelled, "the request was cancelled"));
}

void Connection::Request::finish(Result<wire::ReplyStatus> outcome) {
  outcome_ = std::move(outcome);
  connection_ = nullptr;
  if (entry_.handle && !entry_.queued()) runtime::RunQueue::local().push(entry_);
}

}  // namespace bellwether::link
