#include "cluster/net/membership_driver.h"

#include <utility>

#include "cluster/net/message_classes.h"
#include "core/base/bytes.h"

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
                                   MessageRouter& router, MembershipConfig config, uint64_t seed, Listener listener)
    : runtime_(runtime),
      datagrams_(datagrams),
      links_(links),
      router_(router),
      listener_(listener),
      kernel_(std::move(config), directory_, seed) {
  check(datagrams_.text_max() >= kMaxDatagram, "a packet of membership fits into a datagram");
  router_.connect(message_type::kMembershipStream, *this);
}

MembershipDriver::~MembershipDriver() { router_.disconnect(message_type::kMembershipStream); }

task<void> MembershipDriver::run(std::vector<runtime::Endpoint> seeds, bool founds, runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  Start start{.seeds = {}, .founds = founds, .remembered = {}};
  for (const runtime::Endpoint& seed : seeds) start.seeds.push_back(from_runtime(seed));
  loop_.begin(std::move(start));
  scope.spawn(listen(scope.cancellation()));
  co_await loop_.keep_time(Tick{}, scope.cancellation());
  scope.cancel();
  co_await scope.join();
  loop_.end();
  scope_ = nullptr;
}

task<void> MembershipDriver::listen(runtime::Cancellation* cancel) {
  while (!cancel->cancelled()) {
    const Status ended = co_await datagrams_.receive(callback_to<&MembershipDriver::on_datagram>(*this), cancel);
    // A socket that fails for a moment (out of memory, a network that is gone) is tried again.
    if (!ended) co_await runtime_.sleep(Duration::millis(100), cancel);
  }
}

void MembershipDriver::tell(Event event) {
  if (loop_.running()) loop_.tell(std::move(event));
}

void MembershipDriver::on_datagram(const runtime::Endpoint& from, uint64_t, Bytes text) {
  if (loop_.running()) loop_.tell(DatagramArrived{from_runtime(from), as_text(text)});
}

void MembershipDriver::on_request(link::Connection& connection, const wire::Inbound& request) {
  asker_ = loop_.running() ? &connection : nullptr;
  asked_ = request.id;
  if (asker_ != nullptr) loop_.tell(StreamAsked{request.id, as_text(request.body)});
  if (std::exchange(asker_, nullptr) == nullptr && loop_.running()) return;
  connection.respond(request.id, wire::ReplyStatus::kFailed, as_bytes(std::string_view("not understood")));
}

void MembershipDriver::carry_out(const SendDatagram& datagram) {
  // a datagram that cannot be sent counts as lost
  static_cast<void>(datagrams_.send(to_runtime(datagram.to), as_bytes(datagram.bytes)));
}

void MembershipDriver::carry_out(const ReplyStream& answer) {
  if (asker_ == nullptr || answer.request != asked_) return;
  asker_->respond(asked_, wire::ReplyStatus::kOk, as_bytes(answer.bytes), true);
  asker_ = nullptr;
}

void MembershipDriver::carry_out(MemberEvent& member) {
  if (member.change == MemberChange::kDied || member.change == MemberChange::kLeft) links_.forget(member.name);
  listener_(std::move(member));
}

task<void> MembershipDriver::ask(MembershipDriver* self, SendStream question) {
  const PeerAddress peer{"", to_runtime(question.to)};
  const auto answer =
      co_await self->links_.request(peer, message_type::kMembershipStream, wire::Priority::kControl,
                                    std::move(question.bytes), kStreamTimeout, self->scope_->cancellation());
  if (self->scope_->cancellation()->cancelled()) co_return;
  StreamAnswered answered{question.exchange, std::nullopt};
  if (answer) answered.bytes = *answer;
  self->loop_.tell(std::move(answered));
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
