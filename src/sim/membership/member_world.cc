#include "sim/membership/member_world.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/overloaded.h"

namespace bellwether::sim {
namespace {

using membership::Endpoint;

constexpr uint64_t kDatagramOverhead = 28 + 29;
constexpr uint64_t kStreamOverhead = 240;  // a handshake on a kept connection, headers and acknowledgements
constexpr uint16_t kPort = 7946;
constexpr Duration kStreamTimeout = Duration::seconds(10);

std::size_t index_of(const Endpoint& endpoint) {
  return std::size_t{endpoint.ip[13]} << 16 | std::size_t{endpoint.ip[14]} << 8 | endpoint.ip[15];
}

}  // namespace

MemberWorld::MemberWorld(MemberWorldSettings settings) : settings_(std::move(settings)), prng_(settings_.seed) {}

Endpoint MemberWorld::endpoint(std::size_t node) {
  return Endpoint::v4(
      {10, static_cast<uint8_t>(node >> 16), static_cast<uint8_t>(node >> 8), static_cast<uint8_t>(node)}, kPort);
}

std::size_t MemberWorld::add(std::string name, uint8_t role) {
  Node& node = nodes_.emplace_back();
  node.id = membership::node_id(name);
  node.name = std::move(name);
  node.role = role;
  return nodes_.size() - 1;
}

void MemberWorld::start(std::size_t index, const std::vector<std::size_t>& seeds,
                        std::vector<membership::Update> remembered, uint32_t incarnation) {
  Node& node = nodes_[index];
  check(!node.kernel, "a process starts once");
  ++node.process;
  // Lives grow over the whole world, as start times do.
  node.life = static_cast<uint32_t>(now_.ns() / 1'000'000 + 1);
  node.kernel = std::make_unique<membership::Membership>(
      membership::MembershipConfig{.name = node.name,
                                   .profile = {.endpoint = endpoint(index), .role = node.role, .meta = {}},
                                   .life = node.life,
                                   .incarnation = incarnation,
                                   .figures = settings_.figures},
      directory_, prng_.next());
  membership::Start start{.seeds = {}, .remembered = std::move(remembered)};
  for (const std::size_t seed : seeds) start.seeds.push_back(endpoint(seed));
  step(index, start);
}

void MemberWorld::start_all_acquainted() {
  std::vector<membership::Update> all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    all.push_back({.kind = membership::UpdateKind::kAlive,
                   .node = nodes_[i].id,
                   .name = nodes_[i].name,
                   .life = static_cast<uint32_t>(now_.ns() / 1'000'000 + 1),
                   .profile = {.endpoint = endpoint(i), .role = nodes_[i].role, .meta = {}},
                   .accusers = {}});
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) start(i, {}, all);
}

void MemberWorld::crash(std::size_t index) {
  Node& node = nodes_[index];
  node.kernel.reset();
  node.tick_at = INT64_MAX;
  node.stall = Stall::kNone;
  for (const Held& held : node.inbox) free_items_.push_back(held.item);
  for (const Held& held : node.outbox) free_items_.push_back(held.item);
  node.inbox.clear();
  node.outbox.clear();
}

void MemberWorld::stall(std::size_t index, Stall kind, Duration span) {
  Node& node = nodes_[index];
  if (!node.kernel) return;
  node.stall = kind;
  node.stall_ends = (now_ + span).ns();
  push(now_ + span, index, Kind::kStallEnds);
}

void MemberWorld::cut(std::size_t from, std::size_t to, bool cut) {
  if (cuts_.size() < nodes_.size()) cuts_.resize(nodes_.size());
  for (auto& row : cuts_) row.resize(nodes_.size());
  cuts_[from][to] = cut ? 1 : 0;
}

bool MemberWorld::is_cut(std::size_t from, std::size_t to) const {
  return from < cuts_.size() && to < cuts_[from].size() && cuts_[from][to] != 0;
}

void MemberWorld::push(Instant at, std::size_t node, Kind kind, uint32_t item) {
  due_.push({at.ns(), sequence_++, static_cast<uint32_t>(node), nodes_[node].process, item, kind});
}

uint32_t MemberWorld::item(Item item) {
  if (free_items_.empty()) {
    items_.push_back(std::move(item));
    return static_cast<uint32_t>(items_.size() - 1);
  }
  const uint32_t index = free_items_.back();
  free_items_.pop_back();
  items_[index] = std::move(item);
  return index;
}

void MemberWorld::run_until(Instant end) {
  while (!due_.empty() && due_.top().at <= end.ns()) {
    const Due due = due_.top();
    due_.pop();
    now_ = Instant::from_ns(due.at);
    handle(due);
  }
  now_ = end;
}

void MemberWorld::handle(const Due& due) {
  Node& node = nodes_[due.node];
  const bool carries = due.kind != Kind::kTick && due.kind != Kind::kStallEnds;
  fingerprint_ = (fingerprint_ ^ static_cast<uint64_t>(due.at) ^ due.sequence << 20) * 0x9e3779b97f4a7c15;
  if (due.kind == Kind::kTick) {
    if (due.process != node.process || !node.kernel || due.at != node.tick_at) return;
    node.tick_at = INT64_MAX;
    if (node.stall == Stall::kStopped) return;
    if (node.kernel->wake() <= local(node)) step(due.node, membership::Tick{});
    return set_wake(due.node);
  }
  if (due.kind == Kind::kStallEnds) {
    if (due.process == node.process && node.kernel && due.at == node.stall_ends) end_stall(due.node);
    return;
  }
  // Datagrams and requests reach any process at the address; answers only the one that asked.
  const bool answer = due.kind == Kind::kAnswered || due.kind == Kind::kFailed;
  if (!node.kernel || (answer && due.process != node.process)) {
    if (due.kind == Kind::kAsked) {
      const Item& asked = items_[due.item];
      push(now_ + latency(), asked.from, Kind::kFailed, item({.exchange = asked.exchange, .bytes = {}}));
    }
    free_items_.push_back(due.item);
    return;
  }
  if (carries && node.stall != Stall::kNone) {
    if (node.inbox.size() < settings_.inbox) {
      node.inbox.push_back({due.kind, due.item});
    } else {
      free_items_.push_back(due.item);
    }
    return;
  }
  arrive(due.node, due.kind, due.item);
}

void MemberWorld::arrive(std::size_t index, Kind kind, uint32_t which) {
  const Item it = std::move(items_[which]);
  free_items_.push_back(which);
  switch (kind) {
    case Kind::kDatagram: return step(index, membership::DatagramArrived{endpoint(it.from), it.bytes});
    case Kind::kAsked:
      check(it.exchange < (uint64_t{1} << 32));
      // The request's number holds the sender.
      return step(index, membership::StreamAsked{uint64_t{it.from} << 32 | it.exchange, it.bytes});
    case Kind::kAnswered: return step(index, membership::StreamAnswered{it.exchange, it.bytes});
    case Kind::kFailed: return step(index, membership::StreamAnswered{it.exchange, std::nullopt});
    case Kind::kTick:
    case Kind::kStallEnds: break;
  }
}

void MemberWorld::end_stall(std::size_t index) {
  Node& node = nodes_[index];
  const bool stopped = node.stall == Stall::kStopped;
  node.stall = Stall::kNone;
  for (const Held& held : node.outbox) transmit(index, held.kind, held.item);
  node.outbox.clear();
  // Timers first: the worse order for a process that was stopped.
  if (stopped && node.kernel->wake() <= local(node)) step(index, membership::Tick{});
  std::vector<Held> waiting;
  waiting.swap(node.inbox);
  for (const Held& held : waiting) {
    if (node.kernel) arrive(index, held.kind, held.item);
  }
  if (node.kernel) set_wake(index);
}

void MemberWorld::step(std::size_t index, const membership::Event& event) {
  effects_.clear();
  nodes_[index].kernel->step(local(nodes_[index]), event, effects_);
  carry_out(index);
  set_wake(index);
}

void MemberWorld::carry_out(std::size_t index) {
  Node& node = nodes_[index];
  const auto out = [&](Kind kind, Item what) {
    const uint32_t which = item(std::move(what));
    if (node.stall == Stall::kBlocked) {
      node.outbox.push_back({kind, which});
    } else {
      transmit(index, kind, which);
    }
  };
  for (membership::Effect& effect : effects_) {
    if (watcher_) watcher_->saw(index, effect, now_);
    std::visit(
        Overloaded{[&](membership::SendDatagram& datagram) {
                     out(Kind::kDatagram, {index, index_of(datagram.to), 0, std::move(datagram.bytes)});
                   },
                   [&](membership::SendStream& request) {
                     push(now_ + kStreamTimeout, index, Kind::kFailed,
                          item({.exchange = request.exchange, .bytes = {}}));
                     out(Kind::kAsked, {index, index_of(request.to), request.exchange, std::move(request.bytes)});
                   },
                   [&](membership::ReplyStream& reply) {
                     out(Kind::kAnswered, {index, static_cast<std::size_t>(reply.request >> 32),
                                           reply.request & 0xffffffff, std::move(reply.bytes)});
                   },
                   [](const auto&) {}},  // only for watchers
        effect);
  }
}

void MemberWorld::transmit(std::size_t index, Kind kind, uint32_t which) {
  Item& it = items_[which];
  const bool datagram = kind == Kind::kDatagram;
  ++traffic_.messages;
  traffic_.bytes += it.bytes.size() + (datagram ? kDatagramOverhead : kStreamOverhead);
  const bool lost = (datagram && watcher_ && !watcher_->passes(index, it.to, it.bytes)) || it.to >= nodes_.size() ||
                    is_cut(index, it.to) || (!datagram && is_cut(it.to, index)) ||
                    (datagram && settings_.loss > 0 && prng_.chance(settings_.loss));
  if (lost) {
    free_items_.push_back(which);
    return;
  }
  const std::size_t to = it.to;
  if (datagram && settings_.duplicates > 0 && prng_.chance(settings_.duplicates)) {
    push(now_ + latency() * 3, to, kind, item(Item(it)));
  }
  push(now_ + latency(), to, kind, which);
}

void MemberWorld::inject(std::size_t from, std::size_t to, std::string bytes) {
  push(now_ + latency(), to, Kind::kDatagram, item({.from = from, .to = to, .bytes = std::move(bytes)}));
}

void MemberWorld::set_wake(std::size_t index) {
  Node& node = nodes_[index];
  if (!node.kernel || node.stall == Stall::kStopped) return;
  const Instant wake = node.kernel->wake();
  if (wake == Instant::never()) return;
  const double world = static_cast<double>(wake.ns()) / node.rate;
  const int64_t at = std::max(now_.ns(), static_cast<int64_t>(world) + (node.rate == 1 ? 0 : 1));
  if (at >= node.tick_at) return;
  node.tick_at = at;
  push(Instant::from_ns(at), index, Kind::kTick);
}

}  // namespace bellwether::sim
