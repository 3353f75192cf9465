#include "cluster/membership_driver.h"

#include <utility>

#include "base/bytes.h"
#include "cluster/message_types.h"

namespace bellwether::cluster {

using namespace membership;  // NOLINT(google-build-using-namespace): the words of the kernel are this file's subject
using runtime::task;

namespace {
constexpr Duration kStreamTimeout = Duration::seconds(5);
}

runtime::Endpoint to_runtime(const membership::Endpoint& endpoint) {
  return {runtime::IpAddress::v6(endpoint.ip), endpoint.port};
}

membership::Endpoint from_runtime(const runtime::Endpoint& endpoint) {
  return {endpoint.address.octets(), endpoint.port};
}

MembershipDriver::MembershipDriver(runtime::Runtime& runtime, link::Datagrams& datagrams, PeerLinks& links,
                                   Switchboard& switchboard, MembershipConfig config, uint64_t seed, Listener& listener)
    : runtime_(runtime),
      datagrams_(datagrams),
      links_(links),
      switchboard_(switchboard),
      listener_(listener),
      kernel_(std::move(config), directory_, seed) {
  switchboard_.connect(message_type::kMembershipStream, *this);
}

MembershipDriver::~MembershipDriver() { switchboard_.disconnect(message_type::kMembershipStream); }

task<void> MembershipDriver::run(std::vector<runtime::Endpoint> seeds, bool founds, runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  Start start{.seeds = {}, .founds = founds, .remembered = {}};
  for (const runtime::Endpoint& seed : seeds) start.seeds.push_back(from_runtime(seed));
  step(start);
  scope.spawn(listen(scope.cancellation()));
  co_await keep_time(scope.cancellation());
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
}

task<void> MembershipDriver::keep_time(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    runtime::Cancellation nap(cancel);
    nap_ = &nap;
    const bool due = co_await runtime_.sleep_until(kernel_.wake(), &nap);
    nap_ = nullptr;
    if (!due) continue;
    // What has arrived while this loop was late is read first: a member is not blamed for our own lateness.
    co_await runtime_.yield();
    step(Tick{});
  }
}

task<void> MembershipDriver::listen(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Status ended = co_await datagrams_.receive(*this, cancel);
    // A socket that fails for a moment (out of memory, a network that is gone) is tried again.
    if (!ended) co_await runtime_.sleep(Duration::millis(100), cancel);
  }
}

void MembershipDriver::tell(Event event) {
  if (scope_ != nullptr) step(event);
}

void MembershipDriver::on_datagram(const runtime::Endpoint& from, uint64_t, Bytes text) {
  if (scope_ != nullptr) step(DatagramArrived{from_runtime(from), as_text(text)});
}

void MembershipDriver::on_request(link::Connection& connection, const wire::Inbound& request) {
  asker_ = scope_ != nullptr ? &connection : nullptr;
  asked_ = request.id;
  if (asker_ != nullptr) step(StreamAsked{request.id, as_text(request.body)});
  if (std::exchange(asker_, nullptr) == nullptr && scope_ != nullptr) return;
  connection.respond(request.id, wire::ReplyStatus::kFailed, as_bytes(std::string_view("not understood")));
}

// A step must not begin within another one: what the effects bring about waits.
void MembershipDriver::step(const Event& event) {
  if (busy_) {
    inbox_.push_back(event);
    return;
  }
  busy_ = true;
  Effects effects;
  kernel_.step(runtime_.now(), event, effects);
  for (Effect& effect : effects) carry_out(effect);
  while (!inbox_.empty()) {
    const Event next = std::move(inbox_.front());
    inbox_.pop_front();
    effects.clear();
    kernel_.step(runtime_.now(), next, effects);
    for (Effect& effect : effects) carry_out(effect);
  }
  busy_ = false;
  if (nap_ != nullptr) nap_->cancel();  // the time to wake at may be another one now
}

void MembershipDriver::carry_out(Effect& effect) {
  if (const auto* datagram = std::get_if<SendDatagram>(&effect)) {
    // One that cannot be sent is one that was lost.
    static_cast<void>(datagrams_.send(to_runtime(datagram->to), as_bytes(datagram->bytes)));
  } else if (auto* question = std::get_if<SendStream>(&effect)) {
    scope_->spawn(ask(this, std::move(*question)));
  } else if (const auto* answer = std::get_if<ReplyStream>(&effect)) {
    if (asker_ != nullptr && answer->request == asked_) {
      asker_->respond(asked_, wire::ReplyStatus::kOk, as_bytes(answer->bytes), true);
      asker_ = nullptr;
    }
  } else if (const auto* member = std::get_if<MemberEvent>(&effect)) {
    if (member->change == MemberChange::kDied || member->change == MemberChange::kLeft) links_.forget(member->name);
    listener_.on_member(*member);
  } else if (const auto* state = std::get_if<StateArrived>(&effect)) {
    listener_.on_state(*state);
  } else if (const auto* conflict = std::get_if<Conflict>(&effect)) {
    listener_.on_conflict(*conflict);
  } else if (const auto* refused = std::get_if<Refused>(&effect)) {
    listener_.on_name_taken(to_runtime(refused->holder));
  } else if (const auto* joined = std::get_if<JoinedGroup>(&effect)) {
    listener_.on_joined(joined->members);
  } else if (std::holds_alternative<LeftGroup>(effect)) {
    listener_.on_left();
  } else if (const auto* raised = std::get_if<IncarnationRaised>(&effect)) {
    listener_.on_incarnation(raised->incarnation);
  } else if (const auto* overflow = std::get_if<GossipOverflowed>(&effect)) {
    listener_.on_overflow(*overflow);
  } else if (const auto* degraded = std::get_if<DegradationChanged>(&effect)) {
    listener_.on_degraded(*degraded);
  } else if (const auto* guard = std::get_if<GuardChanged>(&effect)) {
    listener_.on_guard(*guard);
  }
}

task<void> MembershipDriver::ask(MembershipDriver* self, SendStream question) {
  const PeerAddress peer{"", to_runtime(question.to)};
  const auto answer =
      co_await self->links_.request(peer, message_type::kMembershipStream, wire::Priority::kControl,
                                    std::move(question.bytes), kStreamTimeout, self->scope_->cancellation());
  if (self->scope_->cancellation()->cancelled()) co_return;
  StreamAnswered answered{question.exchange, std::nullopt};
  if (answer) answered.bytes = *answer;
  self->step(answered);
}

std::optional<PeerAddress> MembershipDriver::find(const std::string& name) const {
  const auto node = kernel_.table().find(node_id(name));
  if (!node) return std::nullopt;
  const MemberState state = kernel_.table().at(*node).state;
  if (state != MemberState::kAlive && state != MemberState::kSuspect) return std::nullopt;
  return PeerAddress{name, to_runtime(kernel_.table().endpoint(*node))};
}

std::optional<MemberState> MembershipDriver::state_of(const std::string& name) const {
  const auto node = kernel_.table().find(node_id(name));
  if (!node) return std::nullopt;
  return kernel_.table().at(*node).state;
}

}  // namespace bellwether::cluster
