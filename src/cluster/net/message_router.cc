#include "cluster/net/message_router.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/check.h"
#include "core/base/units.h"

namespace bellwether::cluster {

namespace {

using resilience::LoadState;
using resilience::RequestLimiter;
using resilience::Urgency;

// Requests that are being answered, and bytes that wait to be sent, of all connections together; one connection can use
// only a small part of either.
constexpr double kMaxServing = 8'192;
constexpr double kMaxQueued = 256.0 * (1 << 20);

// An idle loop is late by the whim of the kernel's scheduler, and a few milliseconds more say nothing about this node.
// So the baseline is at least a tenth of a second.
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

void Service::on_request(link::Connection& connection, const wire::Inbound& request) {
  connection.respond(request.id, wire::ReplyStatus::kUnknownType, {});
}

void Service::on_message(link::Connection&, const wire::Inbound&) {}

void MessageRouter::connect(uint16_t type, Service& service) {
  const bool added = services_.emplace(type, &service).second;
  check(added, "one service a type");
}

void MessageRouter::refuse(const link::Connection& connection, wire::Refusal why, const std::string& what) {
  ++(why == wire::Refusal::kUnknownMessage ? unknown_ : refused_);
  const wire::Identity& sender = connection.peer().identity;
  const std::string text = fmt::format("{} '{}': {}", to_string(sender.role), sender.node, what);
  if (refusals_ != nullptr) refusals_->note(why, connection.peer_endpoint(), text, connection.now());
}

// The answer to a request that its sender must not send; nothing: it may.
std::optional<wire::ReplyStatus> MessageRouter::not_allowed(const link::Connection& connection,
                                                            const wire::Inbound& inbound) {
  const wire::Role role = connection.peer().identity.role;
  const auto allowed = classes_.may_send(inbound.type, inbound.body, role);
  if (allowed && *allowed) return std::nullopt;
  const std::string what = classes_.name(inbound.type, inbound.body);
  if (!allowed) {
    refuse(connection, wire::Refusal::kUnknownMessage, what + " is unknown to this version and was ignored");
    return wire::ReplyStatus::kUnknownType;
  }
  refuse(connection, wire::Refusal::kSender,
         fmt::format("{} is not permitted for a {} and was ignored", what, to_string(role)));
  return wire::ReplyStatus::kNotPermitted;
}

// True: it was answered that the node has too much to do.
bool MessageRouter::turned_away(link::Connection& connection, const wire::Inbound& request) {
  const auto busy = admission_check_ ? admission_check_(connection, request) : std::nullopt;
  if (busy) {
    const std::string body = wire::encode_busy(busy->again_after, busy->why);
    connection.respond(request.id, wire::ReplyStatus::kBusy, as_bytes(body));
  }
  return busy.has_value();
}

void MessageRouter::on_request(link::Connection& connection, const wire::Inbound& request) {
  if (const auto status = not_allowed(connection, request)) {
    connection.respond(request.id, *status, {});
    return;
  }
  if (turned_away(connection, request)) return;
  if (request.type == message_type::kChunk) return take_piece(connection, request);
  if (request.type == message_type::kChunkFetch) return give_piece(connection, request);
  deliver(connection, request);
}

void MessageRouter::deliver(link::Connection& connection, const wire::Inbound& request) {
  const auto found = services_.find(request.type);
  if (found != services_.end()) {
    found->second->on_request(connection, request);
    return;
  }
  ++unknown_;
  connection.respond(request.id, wire::ReplyStatus::kUnknownType, {});
}

// The service for the whole request answers its last chunk.
void MessageRouter::take_piece(link::Connection& connection, const wire::Inbound& request) {
  const auto piece = decode_chunk(request.body);
  auto whole = piece ? chunks_.add(connection.now(), &connection, *piece)
                     : Result<std::optional<std::string>>(tl::unexpected(piece.error()));
  if (!whole) {
    connection.respond(request.id, wire::ReplyStatus::kFailed, as_bytes(whole.error().message));
  } else if (!*whole) {
    connection.respond(request.id, wire::ReplyStatus::kOk, {});
  } else {
    wire::Inbound all = request;
    all.type = piece->type;
    all.body = as_bytes(**whole);
    if (const auto status = not_allowed(connection, all)) {
      connection.respond(request.id, *status, {});
    } else if (!turned_away(connection, all)) {
      deliver(connection, all);
    }
  }
}

void MessageRouter::give_piece(link::Connection& connection, const wire::Inbound& request) {
  const auto wanted = decode_chunk_fetch(request.body);
  const auto piece = wanted ? chunks_.fetch(&connection, *wanted) : Result<std::string>(tl::unexpected(wanted.error()));
  if (piece) {
    connection.respond(request.id, wire::ReplyStatus::kOk, as_bytes(*piece), true);
  } else {
    connection.respond(request.id, wire::ReplyStatus::kFailed, as_bytes(piece.error().message));
  }
}

void MessageRouter::respond(link::Connection& connection, wire::RequestId id, std::string body) {
  if (!needs_chunks(body.size())) {
    connection.respond(id, wire::ReplyStatus::kOk, as_bytes(body), true);
    return;
  }
  const auto manifest = chunks_.keep(connection.now(), &connection, std::move(body));
  if (manifest) {
    connection.respond(id, wire::ReplyStatus::kChunked, as_bytes(encode(*manifest)));
  } else {
    connection.respond(id, wire::ReplyStatus::kFailed, as_bytes(manifest.error().message));
  }
}

void MessageRouter::on_message(link::Connection& connection, const wire::Inbound& message) {
  if (not_allowed(connection, message)) return;
  if (admission_check_ && admission_check_(connection, message)) return;
  const auto found = services_.find(message.type);
  if (found != services_.end()) {
    found->second->on_message(connection, message);
  } else {
    ++unknown_;
  }
}

void MessageRouter::on_closed(link::Connection& connection, const Error&) {
  chunks_.closed(&connection);
  for (const auto& [type, service] : services_) service->on_closed(connection);
}

AdmissionControl::AdmissionControl(runtime::Runtime& runtime, const MessageClasses& classes, LoadChanged load_changed)
    : runtime_(runtime),
      classes_(classes),
      load_changed_(load_changed),
      prng_(runtime.prng().fork()),
      detector_(settings_of_loop()) {}

Duration AdmissionControl::spread(Duration wait, double ratio) {
  return wait + prng_.between(Duration::zero(), Duration::from_seconds_f(wait.seconds_f() * ratio));
}

std::optional<wire::Busy> AdmissionControl::turns_away_at(Instant now, const wire::Identity& sender, uint16_t type,
                                                          Bytes body) {
  const MessageClass what = classes_.class_of(type, body, sender.role);
  const LoadState load = detector_.state();
  if (what.urgency != Urgency::kCritical) {
    if (resilience::sheds(load, what.urgency)) {
      count(counts_.shed, what.urgency);
      return wire::Busy{spread(resilience::shed_for(load), 0.5),
                        fmt::format("the node is {} ({})", to_string(load), detector_.reason())};
    }
    const RequestLimiter::Party party = party_of(sender.role);
    const auto wait = limiter_.refuses(now, party, sender.node, what.operation, load);
    if (wait) {
      count(counts_.limited, what.operation);
      const double most = load >= LoadState::kStressed && party == RequestLimiter::Party::kClient
                              ? limiter_.fair_share()
                              : limiter_.limit(party, what.operation);
      return wire::Busy{spread(*wait, 0.1),
                        fmt::format("'{}' has used its share: {} requests ({}) in {}", sender.node, std::lround(most),
                                    to_string(what.operation), format_duration(limiter_.window()))};
    }
  }
  count(counts_.admitted, what.urgency);
  return std::nullopt;
}

void AdmissionControl::on_loop_lag(double ratio) {
  const LoadState before = detector_.state();
  detector_.latency(Duration::from_seconds_f(ratio * kLoopBeat.seconds_f()));
  if (detector_.state() != before) load_changed_(detector_.state(), detector_.reason());
}

// One thread does all the work that matters here, so its needs are relative to one core, not to all of them. The cores
// that make load belong to other processes.
void AdmissionControl::on_resource_usage(const ResourceUsage& signs) {
  detector_.resources(std::min(1.0, signs.cpu_ratio * signs.cores), signs.memory_ratio());
}

void AdmissionControl::on_connections(const std::vector<link::Connection*>& connections) {
  double serving = 0;
  double queued = 0;
  for (const link::Connection* one : connections) {
    serving += static_cast<double>(one->session().serving());
    queued += static_cast<double>(one->session().queued_bytes());
  }
  on_queue(std::max(serving / kMaxServing, queued / kMaxQueued));
}

}  // namespace bellwether::cluster
