#include "load/vuser/tokens.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/http1/error_kind.h"
#include "core/runtime/scope.h"
#include "load/vuser/body_readers.h"

namespace bellwether::vuser {

using http1::ErrorKind;
using runtime::task;

namespace {

constexpr std::size_t kMaxToken = 64 << 10;
constexpr std::size_t kMaxWords = 300;  // of a server, about an error
// A token of a shorter life is renewed as if it had this one.
constexpr Duration kShortest = Duration::millis(100);
constexpr Duration kMargin = Duration::seconds(30);
constexpr Duration kFirstPause = Duration::millis(250);
constexpr Duration kLongestPause = Duration::seconds(30);

std::string member(JsonReader& reader, const std::string& name) {
  plan::JsonPath path;
  path.steps.push_back({name});
  std::string text;
  if (!reader.find_text(path, text)) text.clear();
  return text;
}

std::string shown(std::string_view text) { return printable(text.substr(0, kMaxWords)); }

bool is_bearer_token(std::string_view text) {
  return !text.empty() && text.size() <= kMaxToken &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// Before its end, so that a renewal has time: half a minute, or a quarter of a short life.
Duration margin_of(Duration good_for) { return std::min(kMargin, good_for / 4); }

}  // namespace

Result<TokenAnswer> read_token(int status, std::string_view body) {
  std::string padded(body);
  padded.append(JsonReader::kPadding, '\0');
  JsonReader reader;
  const bool is_json = reader.open(std::string_view(padded).substr(0, body.size()));
  if (status != 200) {
    std::string why = fmt::format("status {}", status);
    if (is_json) {
      const std::string error = member(reader, "error");
      const std::string words = member(reader, "error_description");
      if (!error.empty()) why += ", " + shown(error);
      if (!words.empty()) why += fmt::format(" ({})", shown(words));
    }
    return fail(Errc::kRefused, std::move(why));
  }
  if (!is_json) return fail(Errc::kProtocol, "the answer is not JSON");
  TokenAnswer out;
  out.token = member(reader, "access_token");
  if (!is_bearer_token(out.token)) return fail(Errc::kProtocol, "the answer has no 'access_token' that can be sent");
  const std::string type = member(reader, "token_type");
  if (!type.empty() && !iequals(type, "bearer")) {
    return fail(Errc::kProtocol, "the token is of type '{}', not Bearer", shown(type));
  }
  const auto seconds = parse_double(member(reader, "expires_in"));
  constexpr double kYears = 1e9;
  if (seconds && *seconds < kYears) out.good_for = std::max(Duration::from_seconds_f(*seconds), kShortest);
  return out;
}

struct Tokens::One {
  One(const plan::HttpCall& call_, uint16_t index_) : maker(call_), index(index_), change(nullptr) {}
  RequestMaker maker;
  uint16_t index;
  Change change;  // an attempt has ended
  Instant ends = Instant::from_ns(INT64_MIN);
  Instant renew_at = Instant::from_ns(INT64_MIN);
};

Tokens::Tokens(runtime::Runtime& runtime, const plan::Plan& plan, http1::Client& client, Note note)
    : runtime_(runtime),
      plan_(plan),
      client_(client),
      note_(note),
      values_(plan.tokens.size()),
      all_(plan.tokens.size()) {}

Tokens::~Tokens() = default;

void Tokens::want(uint16_t token) {
  if (all_[token] == nullptr) all_[token] = std::make_unique<One>(plan_.tokens[token], token);
}

bool Tokens::is_valid(uint16_t token) const {
  return all_[token] != nullptr && !values_[token].empty() && runtime_.now() < all_[token]->ends;
}

task<Status> Tokens::obtain() {
  for (const auto& one : all_) {
    if (one == nullptr || is_valid(one->index)) continue;
    const Status given = co_await ask_patiently(*one);
    if (given) continue;
    const std::string url(plan_.tokens[one->index].url.text());
    co_return fail(given.error().code, "no access token from {}: {}", url, given.error().message);
  }
  co_return Status{};
}

// A refused request would be refused again.
task<Status> Tokens::ask_patiently(One& one) {
  const Instant deadline = runtime_.read_clock() + kMaxAsk;
  Duration pause = kFirstPause;
  while (true) {
    const Status given = co_await ask(one, deadline, nullptr);
    const bool hopeless = given || given.error().code == Errc::kRefused;
    if (hopeless || runtime_.now() + pause >= deadline) co_return given;
    co_await runtime_.sleep(pause);
    pause = pause * 2;
  }
}

task<Status> Tokens::ask(One& one, Instant deadline, runtime::Cancellation* cancel) {
  const Instant asked = runtime_.read_clock();
  RequestText text;
  http1::Request request;
  const Values none(0);
  const RenderContext context{none, 1, 0, {}, runtime_.prng()};
  if (!one.maker.make(context, client_.origins(), text, request)) {
    co_return fail(Errc::kRefused, "the request cannot be sent: its URL or its certificates are wrong");
  }
  http1::CallLimits limits = one.maker.limits();
  limits.timeout = std::min(limits.timeout, deadline - asked);
  request.limits = &limits;
  request.want_body = true;
  http1::Session session;
  http1::Response response;
  co_await client_.exchange(session, request, response, cancel);
  if (response.error != ErrorKind::kNone) {
    co_return fail(Errc::kIo, std::string(http1::describe(response.error)));
  }
  auto answer = read_token(response.status, response.body);
  if (!answer) {
    const bool for_now = response.status >= 500 || response.status == 429 || response.status == 408;
    co_return fail(for_now ? Errc::kIo : Errc::kRefused, answer.error().message);
  }
  values_[one.index] = std::move(answer->token);
  one.ends = answer->good_for ? asked + *answer->good_for : Instant::never();
  one.renew_at = answer->good_for ? one.ends - margin_of(*answer->good_for) : Instant::never();
  co_return Status{};
}

task<void> Tokens::renew(runtime::Cancellation* cancel) {
  runtime::Scope scope(cancel);
  for (const auto& one : all_) {
    if (one != nullptr) scope.spawn(renew_one(*one, scope.cancellation()));
  }
  co_await scope.join();
}

task<void> Tokens::renew_one(One& one, runtime::Cancellation* cancel) {
  Duration pause = kFirstPause;
  while (true) {
    const bool time_came = co_await runtime_.sleep_until(one.renew_at, cancel);
    if (!time_came) co_return;
    const Status given = co_await ask(one, Instant::never(), cancel);
    if (cancel->cancelled()) co_return;
    one.change.tell();
    if (given) {
      pause = kFirstPause;
      continue;
    }
    note_("access token",
          fmt::format("no access token from {}: {}", plan_.tokens[one.index].url.text(), given.error().message));
    one.renew_at = runtime_.now() + pause;
    pause = std::min(pause * 2, kLongestPause);
  }
}

task<bool> Tokens::wait(uint16_t token, Instant deadline, runtime::Cancellation* cancel) {
  runtime::Cancellation told(all_[token]->change.now());
  const runtime::CancelCallback on_cancel(
      cancel, [](void* self) { static_cast<runtime::Cancellation*>(self)->cancel(); }, &told);
  co_await runtime_.sleep_until(deadline, &told);
  co_return is_valid(token);
}

}  // namespace bellwether::vuser
