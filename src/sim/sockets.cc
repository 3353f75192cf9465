#include "sim/sockets.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/base/units.h"
#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "sim/node.h"
#include "sim/sim_runtime.h"

namespace bellwether::sim {
namespace {

using runtime::Endpoint;
using runtime::IpAddress;

constexpr uint16_t kFirstPort = 32768;
constexpr uint16_t kLastPort = 60999;
constexpr uint32_t kPorts = kLastPort - kFirstPort + 1;
constexpr std::size_t kHeader = 40;  // bytes of a packet beside its data
constexpr std::size_t kMailboxDatagrams = 256;

bool is_any(IpAddress address) { return address == IpAddress::any() || address == IpAddress(); }

Endpoint any_at(uint16_t port) { return {IpAddress::any(), port}; }

using runtime::Cancellation;
using runtime::task;

constexpr std::size_t kLargestDatagram = 65'507;

class SimUdpSocket final : public runtime::UdpSocket, public Source {
 public:
  SimUdpSocket(SimRuntime& runtime, std::unique_ptr<Mailbox> mailbox) : Source(runtime), mailbox_(std::move(mailbox)) {
    mailbox_->user = this;
  }
  ~SimUdpSocket() override { runtime().node().sockets().close(*mailbox_); }
  Endpoint local() const override { return mailbox_->at; }
  void on_ready() override { ready_.set(); }

  Status send(Endpoint to, Bytes bytes) override {
    if (bytes.size() > kLargestDatagram) return fail(Errc::kIo, "sending a datagram to " + to.to_string());
    runtime().node().sockets().send(*mailbox_, to, bytes);
    return {};
  }

  task<Result<Datagram>> receive(MutableBytes into, Cancellation* cancel) override {
    runtime::CancelCallback on_cancel(
        cancel, [](void* self) { static_cast<SimUdpSocket*>(self)->ready_.set(); }, this);
    while (mailbox_->waiting.empty()) {
      if (cancel != nullptr && cancel->cancelled()) co_return fail(Errc::kCancelled, "receiving was cancelled");
      ready_.reset();
      co_await ready_.wait();
    }
    const Mailbox::Datagram datagram = std::move(mailbox_->waiting.front());
    mailbox_->waiting.pop_front();
    const std::size_t size = std::min(into.size(), datagram.bytes.size());
    std::copy_n(datagram.bytes.begin(), size, into.begin());
    co_return Datagram{datagram.from, size};
  }

 private:
  std::unique_ptr<Mailbox> mailbox_;
  runtime::Event ready_;
};

}  // namespace

Sockets::Sockets(Node& node, Timeline& timeline)
    : node_(node),
      timeline_(timeline),
      port_(static_cast<uint16_t>(timeline.prng().between(int64_t{kFirstPort}, int64_t{kLastPort}))) {}

Sockets::~Sockets() { check(listeners_.empty() && mailboxes_.empty(), "sockets end with their process"); }

Sockets::Key Sockets::key_of(const Connection& connection) {
  return {connection.identity().local, connection.identity().peer};
}

bool Sockets::is_local(IpAddress address) const { return node_.network().owner(node_, address) == &node_; }

IpAddress Sockets::address_towards(IpAddress peer) const { return is_local(peer) ? peer : node_.address(); }

uint16_t Sockets::next_port() {
  port_ = port_ == kLastPort ? kFirstPort : static_cast<uint16_t>(port_ + 1);
  return port_;
}

// --- TCP -------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<ListenQueue>> Sockets::listen(Endpoint at, runtime::ListenOptions options) {
  if (is_any(at.address)) {
    at.address = IpAddress::any();
  } else if (!is_local(at.address)) {
    return fail(Errc::kExhausted, "listening on {}: not an address of this machine", at.to_string());
  }
  for (uint32_t tries = 0; at.port == 0 && tries < kPorts; ++tries) {
    const Endpoint candidate{at.address, next_port()};
    if (!listeners_.contains(candidate)) at = candidate;
  }
  if (at.port == 0) return fail(Errc::kExhausted, "listening on {}: no free port", at.to_string());
  std::vector<ListenQueue*>& there = listeners_[at];
  if (!there.empty() && !(options.share_port && there.front()->share_port)) {
    return fail(Errc::kExists, "listening on {}: the address is in use", at.to_string());
  }
  auto queue = std::make_unique<ListenQueue>();
  queue->at = at;
  queue->backlog = static_cast<std::size_t>(std::max(options.backlog, 1));
  queue->share_port = options.share_port;
  there.push_back(queue.get());
  return queue;
}

void Sockets::close(ListenQueue& queue) {
  const auto there = listeners_.find(queue.at);
  std::erase(there->second, &queue);
  if (there->second.empty()) listeners_.erase(there);
  for (const auto& connection : queue.ready) {
    if (connection->state() != Connection::State::kDead) connection->reset();
  }
  queue.ready.clear();
  std::vector<std::shared_ptr<Connection>> half_open;
  for (const auto& [key, connection] : connections_) {
    if (connection->listener() == &queue) half_open.push_back(connection);
  }
  for (const auto& connection : half_open) connection->reset();
}

std::shared_ptr<Connection> Sockets::add(Connection::Identity identity, ListenQueue* listener) {
  auto connection = std::make_shared<Connection>(*this, timeline_, node_.tcp(), identity, listener);
  connections_.insert_or_assign(Key{identity.local, identity.peer}, connection);
  connection->open();
  return connection;
}

Result<std::shared_ptr<Connection>> Sockets::connect(Endpoint to) {
  if (is_any(to.address)) to.address = IpAddress::loopback();
  const IpAddress local = address_towards(to.address);
  for (uint32_t tries = 0; tries < kPorts; ++tries) {
    const Key key{{local, next_port()}, to};
    if (connections_.contains(key)) continue;
    return add({key.local, key.peer, timeline_.prng().next()}, nullptr);
  }
  return fail(Errc::kExhausted, "connecting to {}: no free local port", to.to_string());
}

ListenQueue* Sockets::listener_at(Endpoint at) {
  auto found = listeners_.find(at);
  if (found == listeners_.end()) found = listeners_.find(any_at(at.port));
  if (found == listeners_.end()) return nullptr;
  const std::vector<ListenQueue*>& queues = found->second;
  return queues.size() == 1 ? queues.front() : queues[timeline_.prng().below(queues.size())];
}

void Sockets::send(Segment segment) {
  if (dark_) return;
  Node* const to = node_.network().owner(node_, segment.to.address);
  if (to == nullptr) return;
  const std::size_t size = kHeader + segment.data.size();
  const auto packet = std::make_shared<const Segment>(std::move(segment));
  node_.network().send(node_, *to, size, [to, packet] { to->sockets().receive(*packet); });
}

void Sockets::receive(const Segment& segment) {
  const auto found = connections_.find(Key{segment.to, segment.from});
  if (found != connections_.end() && found->second->identity().number == segment.connection) {
    const auto connection = found->second;
    return connection->receive(segment);
  }
  if (segment.kind == Segment::Kind::kReset) return;
  if (segment.kind != Segment::Kind::kOpen) {
    BW_PROBE("sim: a packet comes for a connection that is not there");
    return refuse(segment);
  }
  if (found != connections_.end()) {
    BW_PROBE("sim: a connection is opened over an older one");
    const auto old = found->second;
    old->die(Errc::kReset);
  }
  receive_opening(segment);
}

void Sockets::receive_opening(const Segment& segment) {
  ListenQueue* const queue = listener_at(segment.to);
  if (queue == nullptr) {
    BW_PROBE("sim: a connection is refused");
    return refuse(segment);
  }
  if (queue->ready.size() + queue->half_open_ >= queue->backlog) {
    BW_PROBE("sim: the backlog of a listener is full");
    return;
  }
  ++queue->half_open_;
  add({segment.to, segment.from, segment.connection}, queue);
}

void Sockets::refuse(const Segment& segment) {
  Segment reset;
  reset.kind = Segment::Kind::kReset;
  reset.from = segment.to;
  reset.to = segment.from;
  reset.connection = segment.connection;
  send(std::move(reset));
}

void Sockets::opened(Connection& connection) {
  ListenQueue* const queue = connection.listener();
  --queue->half_open_;
  connection.accepted();
  queue->ready.push_back(connection.shared_from_this());
  if (queue->user != nullptr) queue->user->mark();
}

void Sockets::remove(Connection& connection) {
  if (connection.listener() != nullptr) {
    --connection.listener()->half_open_;
    connection.accepted();
  }
  connections_.erase(key_of(connection));
}

// --- UDP -------------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Mailbox>> Sockets::bind(Endpoint at) {
  if (is_any(at.address)) {
    at.address = IpAddress::any();
  } else if (!is_local(at.address)) {
    return fail(Errc::kExhausted, "binding to {}: not an address of this machine", at.to_string());
  }
  for (uint32_t tries = 0; at.port == 0 && tries < kPorts; ++tries) {
    const Endpoint candidate{at.address, next_port()};
    if (!mailboxes_.contains(candidate)) at = candidate;
  }
  if (at.port == 0) return fail(Errc::kExhausted, "binding to {}: no free port", at.to_string());
  auto mailbox = std::make_unique<Mailbox>();
  mailbox->at = at;
  if (!mailboxes_.emplace(at, mailbox.get()).second) {
    return fail(Errc::kExists, "binding to {}: the address is in use", at.to_string());
  }
  return mailbox;
}

void Sockets::close(Mailbox& mailbox) { mailboxes_.erase(mailbox.at); }

void Sockets::send(const Mailbox& from, Endpoint to, Bytes bytes) {
  if (is_any(to.address)) to.address = IpAddress::loopback();
  Node* const node = node_.network().owner(node_, to.address);
  if (dark_ || node == nullptr) return;
  Endpoint sender = from.at;
  if (is_any(sender.address)) sender.address = address_towards(to.address);
  const auto packet = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  node_.network().send(node_, *node, kHeader + bytes.size(),
                       [node, sender, to, packet] { node->sockets().receive(sender, to, *packet); });
}

void Sockets::receive(Endpoint from, Endpoint to, const std::vector<std::byte>& bytes) {
  auto found = mailboxes_.find(to);
  if (found == mailboxes_.end()) found = mailboxes_.find(any_at(to.port));
  if (found == mailboxes_.end()) return;
  Mailbox& mailbox = *found->second;
  if (mailbox.waiting.size() >= kMailboxDatagrams) {
    BW_PROBE("sim: a datagram is lost because nobody takes the earlier ones");
    return;
  }
  mailbox.waiting.push_back({from, bytes});
  if (mailbox.user != nullptr) mailbox.user->mark();
}

void Sockets::go_dark() {
  dark_ = true;
  while (!connections_.empty()) {
    const auto connection = connections_.begin()->second;
    connection->die(Errc::kReset);
  }
}

Result<std::unique_ptr<runtime::UdpSocket>> bind_udp(SimRuntime& runtime, Endpoint at) {
  BW_TRY(auto mailbox, runtime.node().sockets().bind(at));
  return std::unique_ptr<runtime::UdpSocket>(std::make_unique<SimUdpSocket>(runtime, std::move(mailbox)));
}

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
    co_return fail(Errc::kTimeout, "connecting to {}: no answer within {}", to.to_string(),
                   format_duration(options.timeout));
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
