#include "sim/network.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/probe.h"
#include "sim/node.h"

namespace bellwether::sim {
namespace {

constexpr Duration kWithinMachine = Duration::micros(10);

bool is_loopback(runtime::IpAddress address) {
  if (address.is_v4()) return (address.v4_value() >> 24) == 127;
  return address == *runtime::IpAddress::parse("::1");
}

}  // namespace

Network::Pair Network::pair(const Node& from, const Node& to) { return {from.index(), to.index()}; }

void Network::block_both_ways(const Node& a, const Node& b) {
  block(a, b);
  block(b, a);
}

void Network::isolate(const Node& node) { isolated_.insert(node.index()); }

bool Network::is_isolated(const Node& node) const { return isolated_.contains(node.index()); }

void Network::heal() {
  blocked_.clear();
  isolated_.clear();
}

void Network::add_address(Node& node, runtime::IpAddress address) {
  const bool added = owners_.emplace(address, &node).second;
  check(added, "an address belongs to one node");
}

void Network::add_name(std::string name, std::vector<runtime::IpAddress> addresses) {
  names_.insert_or_assign(std::move(name), std::move(addresses));
}

void Network::add_service(std::string name, std::vector<runtime::ServicePlace> places) {
  std::sort(places.begin(), places.end(), runtime::is_tried_before);
  services_.insert_or_assign(std::move(name), std::move(places));
}

void Network::fail_name(std::string name, bool fails) {
  if (fails) {
    failing_names_.insert(std::move(name));
  } else {
    failing_names_.erase(name);
  }
}

Result<std::vector<runtime::IpAddress>> Network::look_up(std::string_view name) const {
  if (auto literal = runtime::IpAddress::parse(name)) return std::vector{*literal};
  const auto found = names_.find(name);
  if (found != names_.end() && !failing_names_.contains(name)) return found->second;
  return fail(Errc::kDns, "the name '{}' could not be resolved", name);
}

Result<std::vector<runtime::ServicePlace>> Network::look_up_service(std::string_view name) const {
  const auto found = services_.find(name);
  if (found != services_.end() && !found->second.empty() && !failing_names_.contains(name)) return found->second;
  return fail(Errc::kDns, "the service '{}' could not be resolved", name);
}

Node* Network::owner(Node& from, runtime::IpAddress address) const {
  if (is_loopback(address)) return &from;
  const auto found = owners_.find(address);
  return found == owners_.end() ? nullptr : found->second;
}

bool Network::is_blocked(const Node& from, const Node& to) const {
  if (&from == &to) return false;
  return blocked_.contains(pair(from, to)) || isolated_.contains(from.index()) || isolated_.contains(to.index());
}

bool Network::arrives(const Node& from, const Node& to) const { return to.has_power() && !is_blocked(from, to); }

Duration Network::draw_delay(const Link& link) {
  Prng& prng = timeline_.prng();
  Duration delay = prng.between(link.latency_min, link.latency_max);
  if (prng.chance(link.reorder)) {
    BW_PROBE("sim: a packet is overtaken");
    delay += prng.between(Duration::zero(), link.reorder_max);
  }
  return delay;
}

Network::Fate Network::draw(const Node& from, const Node& to, std::size_t size) {
  timeline_.record(size);
  if (&from == &to) return {1, {kWithinMachine}};
  const auto own = links_.find(pair(from, to));
  const Link& link = own == links_.end() ? common_ : own->second;
  if (is_blocked(from, to)) return {};
  if (timeline_.prng().chance(link.loss)) {
    BW_PROBE("sim: a packet is lost");
    return {};
  }
  Duration queued;
  if (link.bytes_per_second > 0) {
    Instant& busy = busy_until_[pair(from, to)];
    busy = std::max(busy, timeline_.now()) +
           Duration::from_seconds_f(static_cast<double>(size) / static_cast<double>(link.bytes_per_second));
    queued = busy - timeline_.now();
  }
  Fate fate{1, {queued + draw_delay(link)}};
  if (timeline_.prng().chance(link.duplicate)) {
    BW_PROBE("sim: a packet is duplicated");
    fate = {2, {fate.delays[0], queued + draw_delay(link)}};
  }
  return fate;
}

}  // namespace bellwether::sim
