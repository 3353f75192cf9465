#include "sim/tcp_stream.h"

#include <algorithm>
#include <utility>

#include "core/base/probe.h"
#include "core/runtime/event.h"
#include "core/runtime/stream_io.h"
#include "sim/node.h"
#include "sim/sim_runtime.h"
#include "sim/sockets.h"

namespace bellwether::sim {

using runtime::CancelCallback;
using runtime::Cancellation;
using runtime::Endpoint;
using runtime::Io;
using runtime::task;
using runtime::Timer;

namespace {

constexpr Duration kLongestUnseen = Duration::millis(2);

class SimListener final : public runtime::Listener, public Source {
 public:
  SimListener(SimRuntime& runtime, std::unique_ptr<ListenQueue> queue) : Source(runtime), queue_(std::move(queue)) {
    queue_->user = this;
  }
  ~SimListener() override {
    queue_->user = nullptr;
    runtime().node().sockets().close(*queue_);
  }
  Endpoint local() const override { return queue_->at; }
  void on_ready() override { ready_.set(); }

  task<Result<std::unique_ptr<runtime::Stream>>> accept(Cancellation* cancel) override {
    CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<SimListener*>(self)->ready_.set(); }, this);
    while (queue_->ready.empty()) {
      if (cancel != nullptr && cancel->cancelled()) co_return fail(Errc::kCancelled, "accepting was cancelled");
      ready_.reset();
      co_await ready_.wait();
    }
    auto connection = std::move(queue_->ready.front());
    queue_->ready.pop_front();
    co_return std::unique_ptr<runtime::Stream>(std::make_unique<SimStream>(runtime(), std::move(connection)));
  }

 private:
  std::unique_ptr<ListenQueue> queue_;
  runtime::Event ready_;
};

}  // namespace

SimStream::SimStream(SimRuntime& runtime, std::shared_ptr<Connection> connection)
    : Source(runtime),
      connection_(std::move(connection)),
      look_again_([](void* self) { static_cast<SimStream*>(self)->mark(); }, this) {
  connection_->attach(this);
  mark();
}

SimStream::~SimStream() { connection_->close(resets_); }

void SimStream::look_again_soon() {
  const Duration delay = runtime().timeline().prng().between(Duration::nanos(1), kLongestUnseen);
  runtime().timers().arm(look_again_, runtime().now() + delay);
}

void SimStream::on_ready() {
  const bool dead = connection_->state() == Connection::State::kDead;
  const bool open = connection_->state() == Connection::State::kOpen;
  const std::size_t unread = connection_->unread();
  if (unread > announced_) {
    Prng& prng = runtime().timeline().prng();
    announced_ =
        !dead && prng.chance(runtime().node().tcp().split) ? announced_ + 1 + prng.below(unread - announced_) : unread;
    if (announced_ < unread) look_again_soon();
  }
  end_announced_ = announced_ == unread && connection_->peer_finished();
  announce(announced_ > 0 || end_announced_, open && connection_->space() > 0, dead);
}

Io SimStream::do_read(MutableBytes into) {
  if (into.empty()) return Io::done(0);
  if (announced_ > 0) {
    const std::size_t count = connection_->read(into.first(std::min(into.size(), announced_)));
    announced_ -= count;
    if (count < into.size() && !end_announced_) forget_readable();
    return Io::done(count);
  }
  if (end_announced_) return Io::end();
  if (connection_->error() != Errc::kOk) return Io::failed(connection_->error());
  forget_readable();
  return Io::would_block();
}

Io SimStream::do_write(Bytes bytes) {
  if (bytes.empty()) return Io::done(0);
  if (connection_->state() == Connection::State::kDead) return Io::failed(connection_->error());
  if (connection_->finishing()) return Io::failed(Errc::kReset);
  const std::size_t possible =
      connection_->state() == Connection::State::kOpen ? std::min(bytes.size(), connection_->space()) : 0;
  if (possible == 0) {
    BW_PROBE("sim: a writer has to wait");
    forget_writable();
    return Io::would_block();
  }
  std::size_t count = possible;
  Prng& prng = runtime().timeline().prng();
  if (prng.chance(runtime().node().tcp().split)) count = 1 + prng.below(possible);
  connection_->write(bytes.first(count));
  if (count < bytes.size()) {
    forget_writable();
    if (connection_->space() > 0) look_again_soon();
  }
  return Io::done(count);
}

task<Result<std::unique_ptr<runtime::Stream>>> connect_tcp(SimRuntime& runtime, Endpoint to,
                                                           runtime::ConnectOptions options, Cancellation* cancel) {
  BW_CO_TRY(auto connection, runtime.node().sockets().connect(to));
  auto stream = std::make_unique<SimStream>(runtime, connection);
  const runtime::Within within(runtime, *stream, runtime.now() + options.timeout, cancel);
  const Errc waited = co_await stream->writable();
  if (waited == Errc::kTimeout) {
    co_return fail(Errc::kTimeout, "connecting to {}: no answer within {} ms", to.to_string(), options.timeout.ms());
  }
  if (waited != Errc::kOk) co_return fail(waited, "connecting to {} was cancelled", to.to_string());
  const Errc error = stream->connection().error();
  if (error != Errc::kOk) {
    co_return fail(error, "connecting to {}: {}", to.to_string(), to_string(error));
  }
  co_return std::unique_ptr<runtime::Stream>(std::move(stream));
}

Result<std::unique_ptr<runtime::Listener>> listen_tcp(SimRuntime& runtime, Endpoint at,
                                                      runtime::ListenOptions options) {
  BW_TRY(auto queue, runtime.node().sockets().listen(at, options));
  return std::unique_ptr<runtime::Listener>(std::make_unique<SimListener>(runtime, std::move(queue)));
}

}  // namespace bellwether::sim
