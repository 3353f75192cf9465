#include "sim/sockets.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "core/runtime/event.h"
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

}  // namespace bellwether::sim
