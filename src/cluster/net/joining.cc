#include "cluster/net/joining.h"

#include <utility>

namespace bellwether::cluster {
namespace {

using runtime::task;
namespace event = discovery::event;
namespace effect = discovery::effect;

// An admitted node sends nothing yet: the connection only shows that both ends belong to one cluster.
class Silent final : public link::ConnectionHandler {
 public:
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    connection.respond(request.id, wire::ReplyStatus::kBusy, {});
  }
};

constexpr unsigned kQuietRounds = 2;

// The addresses that were tried, why each failed, and what to do.
std::string told(const std::vector<discovery::Tried>& tried) {
  if (tried.empty()) return " No node to ask is configured: set seeds or dns";
  std::string text = " Tried:";
  for (const discovery::Tried& one : tried) {
    text += fmt::format("\n  {} ({}): {}", to_string(one.place), to_string(one.source), one.outcome);
  }
  return text +
         "\nStart one of these nodes, or correct seeds or dns. If a node refuses, give this one the same secret "
         "(secret.file) and a certificate (tls) that it accepts. A single first node of a new cluster starts with "
         "--found";
}

using UnderWay = std::map<HostPort, runtime::Cancellation*>;

void cancel_in(const UnderWay& under_way, const HostPort& place) {
  const auto found = under_way.find(place);
  if (found != under_way.end()) found->second->cancel();
}

// Unless another one has taken the place since.
void forget_in(UnderWay& under_way, const HostPort& place, const runtime::Cancellation* own) {
  const auto found = under_way.find(place);
  if (found != under_way.end() && found->second == own) under_way.erase(found);
}

}  // namespace

Result<runtime::Endpoint> Joining::endpoint_of(const HostPort& place) {
  BW_TRY(auto address, runtime::IpAddress::parse(place.host));
  return runtime::Endpoint{address, place.port};
}

task<Result<Joining::Way>> Joining::find(discovery::BootstrapSettings settings, event::Start start,
                                         runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  scope_ = &scope;
  outcome_.reset();
  probe_timeout_ = settings.probe_timeout;
  kernel_.emplace(std::move(settings), Prng(runtime_.prng().next()), metrics_);
  loop_.emplace(runtime_, *kernel_, *this);
  loop_->begin(start);
  co_await loop_->keep_time(event::Tick{}, scope.cancellation());
  scope.cancel();
  co_await scope.join();
  scope_ = nullptr;
  if (!outcome_) co_return fail(Errc::kCancelled, "joining was cancelled");
  co_return std::move(*outcome_);
}

void Joining::carry_out(const effect::Resolve& ask) { scope_->spawn(resolve(ask.question)); }

void Joining::carry_out(const effect::Probe& ping) { scope_->spawn(probe(ping.place, ping.at, probe_timeout_)); }

void Joining::carry_out(const effect::Join& ask_in) { scope_->spawn(knock(ask_in.place)); }

void Joining::carry_out(const effect::CancelProbe& no_probe) { cancel_in(probing_, no_probe.place); }

void Joining::carry_out(const effect::CancelJoin& no_join) { cancel_in(knocking_, no_join.place); }

void Joining::carry_out(const effect::Joined& joined) {
  Way way;
  if (joined.through) {
    const auto endpoint = endpoint_of(*joined.through);
    if (endpoint) way.through = *endpoint;
  }
  outcome_ = way;
  loop_->end();
}

void Joining::carry_out(const effect::Failed& failed) {
  outcome_ = fail(Errc::kTimeout, "no member of the cluster was found within join_limit." + told(failed.tried));
  loop_->end();
}

void Joining::settled() {
  if (!report_ || kernel_->state() != discovery::BootstrapState::kBackoff || kernel_->round() <= kQuietRounds) return;
  std::string text = told(kernel_->tried());
  if (text == reported_) return;
  reported_ = std::move(text);
  report_("no member of the cluster is found yet; this node keeps trying." + reported_);
}

task<void> Joining::resolve(discovery::Question question) {
  runtime::Cancellation* cancel = scope_->cancellation();
  event::Resolved resolved{question, {}, Duration::zero()};
  Error trouble;
  if (question.is_service()) {
    const auto services = co_await runtime_.resolve_service(question.name, cancel);
    if (!services) trouble = services.error();
    for (const runtime::ServicePlace& service : services ? *services : std::vector<runtime::ServicePlace>()) {
      const auto addresses = co_await runtime_.resolve(service.host, cancel);
      if (!addresses) {
        trouble = addresses.error();
        continue;
      }
      for (const runtime::IpAddress& address : *addresses)
        resolved.places.push_back({address.to_string(), service.port});
    }
  } else {
    const auto addresses = co_await runtime_.resolve(question.name, cancel);
    if (!addresses) trouble = addresses.error();
    for (const runtime::IpAddress& address : addresses ? *addresses : std::vector<runtime::IpAddress>()) {
      resolved.places.push_back({address.to_string(), question.port});
    }
  }
  if (cancel->cancelled()) co_return;
  if (!resolved.places.empty()) {
    loop_->tell(resolved);
  } else {
    loop_->tell(event::NotResolved{question, trouble.message, trouble.code == Errc::kTimeout});
  }
}

task<void> Joining::probe(HostPort place, Instant at, Duration timeout) {
  runtime::Cancellation cancel(scope_->cancellation());
  probing_[place] = &cancel;
  co_await runtime_.sleep_until(at, &cancel);
  const auto endpoint = endpoint_of(place);
  Status answered = endpoint ? Status() : tl::unexpected(endpoint.error());
  if (endpoint) answered = co_await link::probe(runtime_, *endpoint, timeout, &cancel);
  forget_in(probing_, place, &cancel);
  if (cancel.cancelled()) co_return;
  if (answered) {
    loop_->tell(event::ProbeAnswered{place});
  } else {
    loop_->tell(event::ProbeFailed{place, std::string(without_place(place, answered.error().message))});
  }
}

task<void> Joining::knock(HostPort place) {
  const auto endpoint = endpoint_of(place);
  if (!endpoint) co_return loop_->tell(event::JoinRefused{place, endpoint.error().message});
  runtime::Cancellation own(scope_->cancellation());
  runtime::Cancellation* cancel = &own;
  knocking_[place] = cancel;
  Silent nobody;
  auto dialled = co_await link::dial(runtime_, *endpoint, place.host, dialling_, keyring_, nobody, refusals_, cancel);
  if (dialled) {
    // The other end learns the fate of the connection from us, instead of waiting for its first frame.
    (*dialled)->say_goodbye();
    const Error ended = co_await (*dialled)->run(cancel);
    static_cast<void>(ended);
  }
  forget_in(knocking_, place, cancel);
  if (cancel->cancelled()) co_return;
  if (dialled) {
    loop_->tell(event::JoinAccepted{place});
  } else {
    loop_->tell(event::JoinRefused{place, std::string(without_place(place, dialled.error().error.message))});
  }
}

}  // namespace bellwether::cluster
