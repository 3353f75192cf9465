// For tests: a few members whose packets take a millisecond, driven by hand.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/membership/membership.h"

namespace bellwether::membership {

class SmallGroup {
 public:
  explicit SmallGroup(Figures figures) : figures_(std::move(figures)) {}

  static Endpoint where(std::size_t node) { return Endpoint::v4({10, 0, 0, static_cast<uint8_t>(node)}, 7946); }

  std::size_t add(std::string name, std::vector<std::size_t> seeds, uint32_t life = 1, uint32_t incarnation = 0,
                  std::vector<Update> remembered = {}) {
    const std::size_t index = nodes_.size();
    nodes_.emplace_back();
    nodes_[index].name = std::move(name);
    start(index, std::move(seeds), life, incarnation, std::move(remembered));
    return index;
  }
  void start(std::size_t index, std::vector<std::size_t> seeds, uint32_t life, uint32_t incarnation = 0,
             std::vector<Update> remembered = {}) {
    Start begin{.seeds = {}, .founds = false, .remembered = std::move(remembered)};
    for (const std::size_t seed : seeds) begin.seeds.push_back(where(seed));
    this->begin(index, begin, life, incarnation);
  }
  void begin(std::size_t index, const Start& start, uint32_t life, uint32_t incarnation = 0) {
    nodes_[index].kernel =
        std::make_unique<Membership>(MembershipConfig{.name = nodes_[index].name,
                                                      .profile = {.endpoint = where(index), .role = 0, .meta = {}},
                                                      .life = life,
                                                      .incarnation = incarnation,
                                                      .figures = figures_},
                                     directory_, 77 + index);
    step(index, start);
  }
  void kill(std::size_t index) { nodes_[index].kernel.reset(); }
  void cut(std::size_t from, std::size_t to) { cut_.insert({from, to}); }
  void heal() { cut_.clear(); }

  void step(std::size_t index, const Event& event) {
    Effects out;
    nodes_[index].kernel->step(now, event, out);
    for (Effect& effect : out) {
      if (auto* datagram = std::get_if<SendDatagram>(&effect)) {
        sent.emplace_back(index, datagram->bytes);
        wire_.push_back({now + Duration::millis(1), index, datagram->to.ip[15], 0, 'd', datagram->bytes});
      } else if (auto* request = std::get_if<SendStream>(&effect)) {
        wire_.push_back({now + Duration::millis(1), index, request->to.ip[15], request->exchange, 'q', request->bytes});
      } else if (auto* reply = std::get_if<ReplyStream>(&effect)) {
        wire_.push_back(
            {now + Duration::millis(1), index, reply->request >> 32, reply->request & 0xffffffff, 'a', reply->bytes});
      } else {
        seen.emplace_back(index, std::move(effect));
      }
    }
  }
  void run(Duration span) {
    const Instant end = now + span;
    while (now < end) {
      now += Duration::millis(1);
      while (!wire_.empty() && wire_.front().at <= now) {
        const Message message = std::move(wire_.front());
        wire_.pop_front();
        deliver(message);
      }
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].kernel && nodes_[i].kernel->wake() <= now) step(i, Tick{});
      }
    }
  }

  Membership& operator[](std::size_t index) { return *nodes_[index].kernel; }
  MemberState state(std::size_t at, const std::string& of) {
    const auto found = nodes_[at].kernel->table().find(node_id(of));
    return found ? nodes_[at].kernel->table().at(*found).state : MemberState::kUnknown;
  }
  // How often `at` received this change of `of`.
  std::ptrdiff_t told(std::size_t at, MemberChange change, const std::string& of) const {
    return std::count_if(seen.begin(), seen.end(), [&](const auto& entry) {
      const auto* event = std::get_if<MemberEvent>(&entry.second);
      return entry.first == at && event && event->change == change && event->name == of;
    });
  }
  template <class Wanted>
  std::vector<Wanted> all(std::size_t at) const {
    std::vector<Wanted> found;
    for (const auto& [node, effect] : seen) {
      if (const auto* wanted = std::get_if<Wanted>(&effect); wanted && node == at) found.push_back(*wanted);
    }
    return found;
  }

  // How many datagrams of this kind a node has sent.
  std::ptrdiff_t sent_of(std::size_t node, PacketKind kind) const {
    return std::count_if(sent.begin(), sent.end(), [&](const auto& entry) {
      PacketReader in(entry.second);
      PacketHead head;
      return entry.first == node && read_head(in, head) && head.kind == kind;
    });
  }

  Instant now = Instant::from_ns(1'000'000'000);
  std::vector<std::pair<std::size_t, Effect>> seen;
  std::vector<std::pair<std::size_t, std::string>> sent;  // datagrams

 private:
  struct Node {
    std::string name;
    std::unique_ptr<Membership> kernel;
  };
  struct Message {
    Instant at;
    std::size_t from;
    std::size_t to;
    uint64_t exchange;
    char kind;  // datagram, question, answer
    std::string bytes;
  };
  void deliver(const Message& message) {
    const bool lost =
        cut_.contains({message.from, message.to}) || message.to >= nodes_.size() || !nodes_[message.to].kernel;
    if (message.kind == 'd' && !lost) step(message.to, DatagramArrived{where(message.from), message.bytes});
    if (message.kind == 'q' && !lost) {
      step(message.to, StreamAsked{uint64_t{message.from} << 32 | message.exchange, message.bytes});
    }
    if (message.kind == 'q' && lost && nodes_[message.from].kernel) {
      step(message.from, StreamAnswered{message.exchange, std::nullopt});
    }
    if (message.kind == 'a' && !lost) step(message.to, StreamAnswered{message.exchange, message.bytes});
  }

  Figures figures_;
  Directory directory_;
  std::vector<Node> nodes_;
  std::deque<Message> wire_;
  std::set<std::pair<std::size_t, std::size_t>> cut_;
};

}  // namespace bellwether::membership
