#include "sim/world.h"

#include <utility>

#include "core/base/check.h"

namespace bellwether::sim {
namespace {

constexpr uint32_t kFirstAddress = 0x0a000001;  // 10.0.0.1
constexpr std::size_t kMaxNodes = 10'000;
// Far beyond the events of one instant, unless code acts without waiting and time stands still.
constexpr uint64_t kMaxEventsAtOnce = 10'000'000;

}  // namespace

World::~World() {
  for (const auto& node : nodes_) node->lose_power();
  timeline_.clear();
}

Node& World::add_node(std::string name) {
  check(nodes_.size() < kMaxNodes, "a world is small");
  const auto index = static_cast<uint32_t>(nodes_.size());
  const auto address = runtime::IpAddress::v4(kFirstAddress + index);
  network_.add_name(name, {address});
  nodes_.push_back(std::make_unique<Node>(timeline_, network_, index, std::move(name), address));
  return *nodes_.back();
}

bool World::step(Instant end) {
  const Instant next = timeline_.next();
  if (next > end) {
    timeline_.advance(end);
    events_at_once_ = 0;
    return false;
  }
  events_at_once_ = next > now() ? 0 : events_at_once_ + 1;
  check(events_at_once_ < kMaxEventsAtOnce, "time goes on");
  timeline_.advance(next);
  timeline_.run_one();
  return true;
}

void World::run_until(Instant time) {
  while (step(time)) {
  }
}

}  // namespace bellwether::sim
