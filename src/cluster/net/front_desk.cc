#include "cluster/net/front_desk.h"

#include <algorithm>
#include <cmath>

#include "core/base/units.h"

namespace bellwether::cluster {
namespace {

using resilience::LoadState;
using resilience::RequestLimiter;
using resilience::Urgency;

// Requests that are being answered, and bytes that wait to be sent, of all connections together; what one connection
// can have under way is a small part of either.
constexpr double kServingMost = 8'192;
constexpr double kQueuedMost = 256.0 * (1 << 20);

// A loop that has nothing to do is late by as little as the kernel's scheduler likes, and a few milliseconds more say
// nothing about this node. So the baseline is never taken for less than a tenth of a second.
resilience::OverloadSettings settings_of_loop() {
  resilience::OverloadSettings settings;
  settings.least_baseline = Duration::millis(100);
  return settings;
}

RequestLimiter::Party party_of(wire::Role role) {
  const bool node = role == wire::Role::kGate || role == wire::Role::kManager || role == wire::Role::kWorker;
  return node ? RequestLimiter::Party::kNode : RequestLimiter::Party::kClient;
}

template <class Count, class Index>
void count(Count& counts, Index index) {
  ++counts[static_cast<std::size_t>(index)];
}

}  // namespace

FrontDesk::FrontDesk(runtime::Runtime& runtime, const MessageClasses& classes, Listener& listener)
    : runtime_(runtime),
      classes_(classes),
      listener_(listener),
      prng_(runtime.prng().fork()),
      detector_(settings_of_loop()) {}

Duration FrontDesk::spread(Duration wait, double share) {
  return wait + prng_.between(Duration::zero(), Duration::from_seconds_f(wait.seconds_f() * share));
}

std::optional<wire::Busy> FrontDesk::turns_away(const link::Connection& connection, const wire::Inbound& inbound) {
  return turns_away(runtime_.now(), connection.peer().identity, inbound.type, inbound.body);
}

std::optional<wire::Busy> FrontDesk::turns_away(Instant now, const wire::Identity& sender, uint16_t type, Bytes body) {
  const MessageClass what = classes_.class_of(type, body, sender.role);
  const LoadState load = detector_.state();
  if (what.urgency != Urgency::kCritical) {
    if (resilience::sheds(load, what.urgency)) {
      count(counts_.shed, what.urgency);
      return wire::Busy{spread(resilience::shed_for(load), 0.5),
                        "the node is " + std::string(to_string(load)) + " (" + std::string(detector_.reason()) + ")"};
    }
    const RequestLimiter::Party party = party_of(sender.role);
    const auto wait = limiter_.refuses(now, party, sender.node, what.operation, load);
    if (wait) {
      count(counts_.limited, what.operation);
      const double most = load >= LoadState::kStressed && party == RequestLimiter::Party::kClient
                              ? limiter_.fair_share()
                              : limiter_.limit(party, what.operation);
      return wire::Busy{spread(*wait, 0.1), "'" + sender.node +
                                                "' has had its share: " + std::to_string(std::lround(most)) +
                                                " requests (" + std::string(to_string(what.operation)) + ") in " +
                                                format_duration(limiter_.window())};
    }
  }
  count(counts_.admitted, what.urgency);
  return std::nullopt;
}

void FrontDesk::on_loop_lag(double ratio) {
  const LoadState before = detector_.state();
  detector_.latency(Duration::from_seconds_f(ratio * kLoopBeat.seconds_f()));
  if (detector_.state() != before) listener_.on_load_changed(detector_.state(), detector_.reason());
}

// All that matters here is done by one thread: what it needs is measured against one core, whatever others there are.
// The cores that make load belong to other processes.
void FrontDesk::on_vital_signs(const VitalSigns& signs) {
  detector_.resources(std::min(1.0, signs.cpu_share * signs.cores), signs.memory_share());
}

void FrontDesk::on_connections(const std::vector<link::Connection*>& connections) {
  double serving = 0;
  double queued = 0;
  for (const link::Connection* one : connections) {
    serving += static_cast<double>(one->session().serving());
    queued += static_cast<double>(one->session().queued_bytes());
  }
  on_queue(std::max(serving / kServingMost, queued / kQueuedMost));
}

}  // namespace bellwether::cluster
