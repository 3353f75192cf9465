#include "jobs/client/job_client.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/node/dialling.h"
#include "core/base/units.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::node {

using dispatch::Refusal;
using runtime::task;

namespace {

constexpr Duration kTry = Duration::seconds(5);
constexpr Duration kSubmitTry = Duration::seconds(7);   // managers ask a quorum first, for 5 s at most
constexpr Duration kTellingTry = Duration::seconds(1);  // a manager without an answer for so long is silent
constexpr Duration kShortestPause = Duration::millis(50);
constexpr Duration kLongestPause = Duration::seconds(1);
constexpr Duration kMaxClose = Duration::millis(200);
constexpr Duration kMaxIdle = Duration::seconds(60);
// It pauses between its attempts by itself, and should soon notice that a manager is back.
constexpr resilience::BreakerSettings kBreakers{.open_for = Duration::seconds(1)};

bool passes(Refusal::Kind kind) {
  return kind == Refusal::Kind::kNotOwner || kind == Refusal::Kind::kNotLeader || kind == Refusal::Kind::kUnavailable ||
         kind == Refusal::Kind::kBusy;
}

Errc code_of(Refusal::Kind kind) {
  if (passes(kind)) return Errc::kExhausted;
  if (kind == Refusal::Kind::kUnknown) return Errc::kNotFound;
  return kind == Refusal::Kind::kConflict ? Errc::kExists : Errc::kRefused;
}

// The timeout of one attempt: a manager holds some requests up to the time that they give.
Duration answer_most(const dispatch::JobMessage& message) {
  if (std::holds_alternative<dispatch::Submit>(message)) return kSubmitTry;
  if (const auto* watch = std::get_if<dispatch::Watch>(&message)) return kTry + watch->wait;
  if (const auto* live = std::get_if<dispatch::WatchLive>(&message)) return kTry + live->wait;
  return kTry;
}

// A machine that refuses a connection is no manager that refuses a request.
Errc code_of_link(Errc code) { return code == Errc::kRefused ? Errc::kUnreachable : code; }

}  // namespace

std::string text_of(std::span<const SilentManager> silent, std::size_t all, Instant now) {
  if (silent.empty()) return {};
  std::string names;
  for (const SilentManager& one : silent) {
    names += fmt::format("{}{} (for {}: {})", names.empty() ? "" : ", ", one.place, format_duration(now - one.since),
                         one.why);
  }
  if (silent.size() * 2 < all) return "no answer from " + names;
  return fmt::format("no answer from {}; a job needs a majority of the managers: start these again{}", names,
                     silent.size() == all ? ", or correct their addresses or the secret" : "");
}

Result<std::unique_ptr<JobClient>> JobClient::make(runtime::Runtime& runtime, const cluster::NodeConfig& config,
                                                   wire::Keyring keyring, Settings settings) {
  if (settings.managers.empty())
    return fail(Errc::kInvalid, "the cluster settings name no manager; add `seeds: [HOST:PORT, …]` to them");
  BW_TRY(auto dialling, dialling_as(config, settings.name, settings.role));
  return std::unique_ptr<JobClient>(
      new JobClient(runtime, std::move(dialling), std::move(keyring), std::move(settings)));
}

JobClient::JobClient(runtime::Runtime& runtime, link::DialSettings dialling, wire::Keyring keyring, Settings settings)
    : runtime_(runtime),
      settings_(std::move(settings)),
      keyring_(std::move(keyring)),
      dialling_(std::move(dialling)),
      silent_(settings_.managers.size()),
      links_(runtime, dialling_, keyring_, router_, refusals_, {}, kMaxIdle, kBreakers) {}

void JobClient::unheard(std::size_t manager, const std::string& why) {
  if (silent_[manager]) return;
  std::string place = to_string(settings_.managers[manager]);
  const std::string dialled = "connecting to " + place + ": ";
  silent_[manager] = {std::move(place), why.starts_with(dialled) ? why.substr(dialled.size()) : why,
                      runtime_.read_clock()};
}

Error JobClient::given_up(Error last, bool refused) const {
  std::vector<SilentManager> silent;
  for (const std::optional<SilentManager>& one : silent_) {
    if (one) silent.push_back(*one);
  }
  const std::string who = text_of(silent, silent_.size(), runtime_.read_clock());
  if (!who.empty()) last.message = refused ? last.message + "; " + who : who;
  return last;
}

task<Result<dispatch::Response>> JobClient::ask(dispatch::JobMessage message, Instant deadline,
                                                runtime::Cancellation* cancel, Instant retry_until) {
  const Duration one_try = answer_most(message);
  const std::string body = dispatch::encode(message);
  Duration pause = kShortestPause;
  Error last{Errc::kTimeout, "no manager was asked"};
  std::size_t tried = 0;
  bool refused = false;  // by a manager, which says more than that another one is out of reach
  while (cancel == nullptr || !cancel->cancelled()) {
    const std::size_t manager = next_ % settings_.managers.size();
    const HostPort place = settings_.managers[manager];
    const auto addresses = co_await runtime_.resolve(place.host, cancel);
    Duration wait;
    if (addresses) {
      const cluster::PeerAddress to{{}, {addresses->front(), place.port}};
      const Instant now = runtime_.read_clock();
      const Duration left = deadline == Instant::never() ? one_try : std::min(one_try, deadline - now);
      const auto answer =
          co_await links_.request(to, cluster::message_type::kDispatch, wire::Priority::kControl, body, left, cancel);
      if (answer) {
        BW_CO_TRY(auto decoded, dispatch::decode_response(*answer));
        answered_by_ = to_string(place);
        silent_[manager].reset();
        const auto* refusal = std::get_if<Refusal>(&decoded);
        if (refusal == nullptr) co_return decoded;
        refused = true;
        last = {code_of(refusal->kind), refusal->why.empty() ? std::string(to_string(refusal->kind)) : refusal->why};
        if (!passes(refusal->kind)) co_return tl::unexpected(last);
        wait = refusal->again_after;
      } else {
        // An attempt that the deadline cuts short says less than the earlier ones.
        const bool cut_short = answer.error().code == Errc::kTimeout && left < one_try && tried > 0;
        const Error unheard{code_of_link(answer.error().code),
                            fmt::format("{}: {}", to_string(place), answer.error().message)};
        if (!cut_short && !refused) last = unheard;
        const bool known = unheard.code == Errc::kUnsupported || unheard.code == Errc::kTooLarge;
        if (known) co_return tl::unexpected(unheard);
        if (!cut_short || left >= kTellingTry) this->unheard(manager, answer.error().message);
      }
    } else {
      if (!refused) last = {addresses.error().code, addresses.error().message};
      unheard(manager, addresses.error().message);
    }
    ++next_;
    // It tries all of them before it waits.
    if (++tried % settings_.managers.size() == 0 || wait > Duration::zero()) {
      const Duration nap = std::max(wait, Duration::nanos(runtime_.prng().between(pause.ns() / 2, pause.ns())));
      pause = std::min(pause * 2, kLongestPause);
      if (runtime_.read_clock() + nap >= std::min(deadline, retry_until)) {
        co_return tl::unexpected(given_up(std::move(last), refused));
      }
      co_await runtime_.sleep(nap, cancel);
    }
  }
  co_return fail(Errc::kCancelled, "the request was cancelled");
}

task<void> JobClient::close() { co_await links_.close(kMaxClose); }

}  // namespace bellwether::node
