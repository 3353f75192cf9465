#include "election/store/etcd/etcd_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/bytes.h"
#include "core/base/encoding.h"

namespace bellwether::store {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> nonsense(std::string_view body) {
  return fail(Errc::kProtocol, "etcd sent an invalid answer: " + std::string(body.substr(0, 200)));
}

// The gateway writes 64-bit numbers as text, and leaves zeros out.
uint64_t number(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return 0;
  if (found->is_number_unsigned()) return found->get<uint64_t>();
  return found->is_string() ? parse_u64(found->get_ref<const std::string&>()).value_or(0) : 0;
}

std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& member(const Json& object, const char* name) {
  static const Json none = Json::object();
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::vector<EtcdEntry> entries_of(const Json& range) {
  std::vector<EtcdEntry> entries;
  for (const Json& one : member(range, "kvs")) {
    if (!one.is_object()) continue;
    entries.push_back({bytes_of_base64(text(one, "key")), bytes_of_base64(text(one, "value")),
                       number(one, "create_revision"), number(one, "mod_revision"), number(one, "lease")});
  }
  return entries;
}

Json range_json(std::string_view from, std::string_view end) {
  Json range{{"key", base64_of(from)}};
  if (!end.empty()) {
    range["range_end"] = base64_of(end);
    range["sort_order"] = "ASCEND";
    range["sort_target"] = "CREATE";
  }
  return range;
}

Json parse(std::string_view body) { return Json::parse(body, nullptr, false); }

bool hexadecimal(std::string_view text) {
  return !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

constexpr int kFormat = 1;

std::string record_text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
int64_t signed_number(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

using runtime::task;

constexpr int kHttpOk = 200;
constexpr Duration kAgainAfter = Duration::millis(100);

struct StatusMeaning {
  std::string_view words;
  Errc code;
  std::string_view advice;
};

constexpr std::array kStatusMeanings{
    StatusMeaning{"requested lease not found", Errc::kNotFound, "the lease no longer exists"},
    StatusMeaning{"database space exceeded", Errc::kNoSpace,
                  "its database is full (alarm NOSPACE): compact, defragment, then `etcdctl alarm disarm`"},
    StatusMeaning{"user name is empty", Errc::kRefused, "it requires a login: etcd://USER@HOST?password_file=FILE"},
    StatusMeaning{"authentication failed", Errc::kRefused, "the user or the password is wrong"},
    StatusMeaning{"permission denied", Errc::kRefused,
                  "the user may not read and write below this key and bellwether/"},
    StatusMeaning{"no leader", Errc::kUnreachable, "it has no leader: a majority of its members does not answer"},
    StatusMeaning{"leader changed", Errc::kUnreachable, "its leader changed meanwhile"},
    StatusMeaning{"timed out", Errc::kUnreachable, "it did not agree with a majority of its members in time"},
    StatusMeaning{"not a leader", Errc::kUnreachable, "its leader changed meanwhile"},
    StatusMeaning{"too many requests", Errc::kExhausted, "it is overloaded"},
    StatusMeaning{"stopped", Errc::kUnreachable, "it is shutting down"},
    StatusMeaning{"context deadline exceeded", Errc::kUnreachable,
                  "it did not agree with a majority of its members in time"},
    StatusMeaning{"transport is closing", Errc::kUnreachable, "it is shutting down"},
};

// A token that etcd has forgotten: it was restarted, or the token was unused for long.
bool token_is_stale(const WebResponse& response) {
  return response.status != kHttpOk && response.body.find("invalid auth token") != std::string::npos;
}

}  // namespace

std::string after_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // everything
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string lease_text(uint64_t lease) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), lease, 16).ptr;
  return {digits.data(), end};
}

std::string key_of_claim(std::string_view name) {
  const auto slash = name.rfind('/');
  if (slash == std::string_view::npos || !hexadecimal(name.substr(slash + 1))) return {};
  return std::string(name.substr(0, slash));
}

void EtcdTransaction::compare(std::string_view name, const char* what, uint64_t revision) {
  const bool created = std::string_view(what) == "CREATE";
  const Json compare{{"key", base64_of(name)},
                     {"target", what},
                     {"result", "EQUAL"},
                     {created ? "create_revision" : "mod_revision", std::to_string(revision)}};
  compares_.push_back(compare.dump());
}
void EtcdTransaction::if_created(std::string_view name, uint64_t revision) { compare(name, "CREATE", revision); }
void EtcdTransaction::if_modified(std::string_view name, uint64_t revision) { compare(name, "MOD", revision); }

void EtcdTransaction::put(std::string_view name, std::string_view value, uint64_t lease) {
  const Json put{{"key", base64_of(name)}, {"value", base64_of(value)}, {"lease", std::to_string(lease)}};
  operations_.push_back(Json{{"request_put", put}}.dump());
}
void EtcdTransaction::put_keeping_lease(std::string_view name, std::string_view value) {
  const Json put{{"key", base64_of(name)}, {"value", base64_of(value)}, {"ignore_lease", true}};
  operations_.push_back(Json{{"request_put", put}}.dump());
}
void EtcdTransaction::remove(std::string_view name) {
  operations_.push_back(Json{{"request_delete_range", {{"key", base64_of(name)}}}}.dump());
}

EtcdTransaction::EtcdTransaction(const std::string& key, std::string note)
    : looks_{{key + "/", after_prefix(key + "/")}, {std::move(note), {}}} {}

std::string EtcdTransaction::body() const {
  Json looks = Json::array();
  for (const Look& look : looks_) looks.push_back(Json{{"request_range", range_json(look.from, look.end)}});
  Json compares = Json::array();
  for (const std::string& one : compares_) compares.push_back(Json::parse(one));
  Json success = Json::array();
  for (const std::string& one : operations_) success.push_back(Json::parse(one));
  success.insert(success.end(), looks.begin(), looks.end());
  return Json{{"compare", compares}, {"success", success}, {"failure", looks}}.dump();
}

Result<EtcdShown> parse_shown(const std::string& body, std::size_t looks) {
  const Json json = parse(body);
  if (!json.is_object() || !json.contains("header") || !member(json, "responses").is_array()) return nonsense(body);
  const Json& responses = json["responses"];
  if (responses.size() < looks) return nonsense(body);
  EtcdShown shown;
  shown.succeeded = member(json, "succeeded") == Json(true);
  shown.cluster = text(json["header"], "cluster_id");
  shown.revision = number(json["header"], "revision");
  for (std::size_t at = responses.size() - looks; at < responses.size(); ++at) {
    shown.entries.push_back(entries_of(member(responses[at], "response_range")));
  }
  return shown;
}

Result<EtcdAnswer> parse_transaction(const std::string& body, const std::string& key) {
  BW_TRY(auto shown, parse_shown(body, 2));
  EtcdAnswer answer{shown.succeeded, std::move(shown.cluster), shown.revision, {}, std::nullopt};
  for (EtcdEntry& entry : shown.entries[0]) {
    if (key_of_claim(entry.key) == key) answer.queue.push_back(std::move(entry));
  }
  if (!shown.entries[1].empty()) answer.note = std::move(shown.entries[1].front());
  return answer;
}

std::string range_body(std::string_view from, std::string_view end) { return range_json(from, end).dump(); }

std::string changes_body(std::string_view from, std::string_view end, uint64_t revision, std::size_t most) {
  Json range = range_json(from, end);
  range["sort_target"] = "MOD";
  range["min_mod_revision"] = std::to_string(revision);
  range["limit"] = std::to_string(most);
  return range.dump();
}

std::string names_body(std::string_view from, std::string_view end) {
  Json range = range_json(from, end);
  range["keys_only"] = true;
  return range.dump();
}

Result<EtcdRange> parse_range(const std::string& body) {
  const Json json = parse(body);
  if (!json.is_object() || !json.contains("header")) return nonsense(body);
  return EtcdRange{text(json["header"], "cluster_id"), number(json["header"], "revision"), entries_of(json)};
}

std::string grant_body(int64_t seconds) { return Json{{"TTL", std::to_string(seconds)}}.dump(); }

Result<uint64_t> parse_grant(const std::string& body) {
  const Json json = parse(body);
  const uint64_t lease = json.is_object() ? number(json, "ID") : 0;
  if (lease == 0) return nonsense(body);
  return lease;
}

std::string lease_body(uint64_t lease) { return Json{{"ID", std::to_string(lease)}}.dump(); }

Result<int64_t> parse_keep_alive(const std::string& body) {
  const Json json = parse(body);
  if (!json.is_object() || !json.contains("result")) return nonsense(body);
  return static_cast<int64_t>(number(json["result"], "TTL"));
}

std::string watch_body(std::string_view from, std::string_view end) {
  return Json{{"create_request", {{"key", base64_of(from)}, {"range_end", base64_of(end)}}}}.dump();
}

Result<EtcdNews> parse_watch(std::string_view line, const std::string& key) {
  const Json json = parse(line);
  if (!json.is_object() || !member(json, "result").is_object()) return nonsense(line);
  const Json& result = member(json, "result");
  EtcdNews news;
  news.over = !json.contains("result") || member(result, "canceled") == Json(true);
  news.begins = !news.over && member(result, "created") == Json(true);
  const Json& events = member(result, "events");
  if (!events.is_array()) return news;
  for (const Json& event : events) {
    const Json& entry = event.is_object() ? member(event, "kv") : event;
    if (!entry.is_object() || key_of_claim(bytes_of_base64(text(entry, "key"))) != key) continue;
    news.revision = std::max(news.revision, number(entry, "mod_revision"));
  }
  return news;
}

Result<EtcdRemovals> parse_removals(std::string_view line) {
  const Json json = parse(line);
  if (!json.is_object() || !member(json, "result").is_object()) return nonsense(line);
  const Json& result = member(json, "result");
  EtcdRemovals removals;
  removals.over = !json.contains("result") || member(result, "canceled") == Json(true);
  removals.begins = !removals.over && member(result, "created") == Json(true);
  const Json& events = member(result, "events");
  if (!events.is_array()) return removals;
  for (const Json& event : events) {
    if (!event.is_object() || text(event, "type") != "DELETE" || !member(event, "kv").is_object()) continue;
    std::string name = bytes_of_base64(text(member(event, "kv"), "key"));
    if (!name.empty()) removals.names.push_back(std::move(name));
  }
  return removals;
}

std::string authenticate_body(const std::string& user, const std::string& password) {
  return Json{{"name", user}, {"password", password}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> parse_authenticate(const std::string& body) {
  const Json json = parse(body);
  std::string token = json.is_object() ? text(json, "token") : std::string();
  if (token.empty()) return nonsense(body);
  return token;
}

std::string etcd_message(const std::string& body) {
  const Json json = parse(body);
  if (!json.is_object()) return body.substr(0, 200);
  const std::string message = text(json, "message");
  return message.empty() ? text(json, "error") : message;
}

std::string etcd_value_of(const election::LeaseRecord& record) {
  const Json value{{"bellwether", kFormat},         {"holder", record.holder},
                   {"token", record.token},         {"region", record.region},
                   {"heir", record.heir},           {"cause", record.cause},
                   {"lease_ms", record.lease.ms()}, {"acquired_ms", record.acquired_at.unix_ns / 1'000'000}};
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<election::LeaseRecord> parse_etcd_value(std::string_view value) {
  const Json json = Json::parse(value, nullptr, false);
  if (!json.is_object() || signed_number(json, "bellwether") != kFormat) return std::nullopt;
  election::LeaseRecord record;
  record.holder = record_text(json, "holder");
  record.token = record_text(json, "token");
  record.region = record_text(json, "region");
  record.heir = record_text(json, "heir");
  record.cause = record_text(json, "cause");
  record.lease = Duration::millis(std::max<int64_t>(signed_number(json, "lease_ms"), 0));
  record.acquired_at = {signed_number(json, "acquired_ms") * 1'000'000};
  record.renewed_at = record.acquired_at;
  return record;
}

Error EtcdApi::error_of(const WebResponse& response) {
  const std::string message = etcd_message(response.body);
  for (const StatusMeaning& meaning : kStatusMeanings) {
    if (message.find(meaning.words) == std::string::npos) continue;
    Error error{meaning.code, fmt::format("{}: {} ({})", web_.where(), meaning.advice, message)};
    if (meaning.code == Errc::kUnreachable) web_.avoid();
    return error;
  }
  return {Errc::kProtocol, fmt::format("{}: etcd answered {}: {}", web_.where(), response.status, message)};
}

task<Status> EtcdApi::authenticate(Instant deadline, runtime::Cancellation* cancel) {
  WebRequest request;
  request.method = "POST";
  request.target = "/v3/auth/authenticate";
  request.fields = {"Content-Type: application/json"};
  request.body = authenticate_body(user_, password_);
  request.repeatable = true;
  BW_CO_TRY(const auto response, co_await web_.call(std::move(request), deadline, cancel));
  if (response.body.find("authentication is not enabled") != std::string::npos) {
    user_.clear();  // this server needs no login
    co_return Status();
  }
  if (response.status != kHttpOk) co_return tl::unexpected(error_of(response));
  BW_CO_TRY(token_, parse_authenticate(response.body));
  co_return Status();
}

WebRequest EtcdApi::request_for(const std::string& path, const std::string& body) const {
  WebRequest request;
  request.method = "POST";
  request.target = path;
  request.fields = {"Content-Type: application/json"};
  if (!token_.empty()) request.fields.push_back("Authorization: " + token_);
  request.body = body;
  return request;
}

task<Status> EtcdApi::watch(std::string body, WebWatch& watch, Instant begin_by, Instant deadline) {
  if (!user_.empty() && token_.empty()) {
    BW_CO_RETURN_IF_ERROR(co_await authenticate(begin_by, nullptr));
  }
  WebRequest request = request_for("/v3/watch", body);
  // A member that is cut off from the others must report that; otherwise it would stay silent for ever.
  request.fields.push_back("Grpc-Metadata-hasleader: true");
  BW_CO_TRY(const auto response, co_await web_.stream(std::move(request), watch, begin_by, deadline, nullptr));
  if (token_is_stale(response)) token_.clear();
  if (response.status != kHttpOk) co_return tl::unexpected(error_of(response));
  co_return Status();
}

task<Result<std::string>> EtcdApi::call(std::string path, std::string body, bool repeatable, Instant deadline,
                                        runtime::Cancellation* cancel) {
  while (true) {
    auto answer = co_await call_once(path, body, repeatable, deadline, cancel);
    if (answer) co_return answer;
    const Errc code = answer.error().code;
    const bool passes = code == Errc::kUnreachable || code == Errc::kReset || code == Errc::kClosed;
    if (!repeatable || !passes || deadline - runtime_.now() < kAgainAfter * 2) co_return answer;
    co_await runtime_.sleep(kAgainAfter, cancel);
  }
}

task<Result<std::string>> EtcdApi::call_once(const std::string& path, const std::string& body, bool repeatable,
                                             Instant deadline, runtime::Cancellation* cancel) {
  for (int tries = 0;; ++tries) {
    if (!user_.empty() && token_.empty()) {
      BW_CO_RETURN_IF_ERROR(co_await authenticate(deadline, cancel));
    }
    WebRequest request = request_for(path, body);
    request.repeatable = repeatable;
    BW_CO_TRY(auto response, co_await web_.call(std::move(request), deadline, cancel));
    if (tries == 0 && !user_.empty() && token_is_stale(response)) {
      token_.clear();
      continue;
    }
    if (response.status != kHttpOk) co_return tl::unexpected(error_of(response));
    co_return std::move(response.body);
  }
}

}  // namespace bellwether::store
