#include "lead/web/lease_web.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/base/bytes.h"
#include "core/base/encoding.h"
#include "core/base/units.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/web/http_server.h"
#include "election/store/disk/small_file.h"
#include "election/store/lease_store.h"
#include "lead/lease_tools.h"
#include "lead/run/candidate_host.h"

namespace bellwether::lead {

namespace {

using election::LeaseRecord;
using nlohmann::ordered_json;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --line: #d5d5d5; --dim: #666; --bad: #b00020; --good: #146c2e; }
@media (prefers-color-scheme: dark) { :root { --line: #444; --dim: #aaa; --bad: #ff8a80; --good: #7bd88f; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
.dim { color: var(--dim); } .bad { color: var(--bad); } .good { color: var(--good); }
form { margin: .4rem 0; } input[type=text] { width: 10rem; }
@media (max-width: 45rem) { thead { display: none; } td { display: block; border: 0; padding: .1rem 0; }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
  td[data-name]::before { content: attr(data-name) ": "; color: var(--dim); } }
)";

std::string cell(const char* name, const std::string& html, const char* type = "td") {
  return fmt::format("<{} data-name=\"{}\">{}</{}>", type, name, html, type);
}

// Names from outside do not turn the text around them (bidirectional controls).
std::string apart(std::string_view text) { return fmt::format("<bdi>{}</bdi>", html_text(text)); }

std::string hidden(const char* name, std::string_view value) {
  return fmt::format("<input type=\"hidden\" name=\"{}\" value=\"{}\">", name, html_text(value));
}

std::string form(const LeasePage& page, const PageLease& lease, const char* act, const std::string& inner) {
  return fmt::format("<form method=\"post\" action=\"/act\">{}{}{}{}{}{}</form>", hidden("secret", page.form_secret),
                     hidden("act", act), hidden("key", store::percent_encoded(lease.key)),
                     hidden("epoch", std::to_string(lease.seen.record.epoch.value())), hidden("prefix", page.prefix),
                     inner);
}

// An operator's acts on a held key.
std::string actions(const LeasePage& page, const PageLease& lease) {
  if (page.read_only || !lease.seen.record.held()) return "";
  const std::string by = "<label>you: <input type=\"text\" name=\"by\" maxlength=\"100\" required></label> ";
  std::string out = "<details><summary>change</summary>";
  if (!lease.seen.foreign) {
    out += form(page, lease, "transfer",
                by + "<label>to: <input type=\"text\" name=\"to\" maxlength=\"200\" required></label> "
                     "<button>Transfer</button>");
    out += form(page, lease, "release", by + "<button>Release</button>");
  }
  out += form(page, lease, "steal",
              by + "<label>for (or anybody): <input type=\"text\" name=\"to\" maxlength=\"200\"></label> "
                   "<label><input type=\"checkbox\" name=\"confirm\" value=\"yes\" required> the holder may act until "
                   "it notices; only fences stop it</label> <button>Steal</button>");
  return out + "</details>";
}

std::string row(const LeasePage& page, const PageLease& lease) {
  const LeaseRecord& record = lease.seen.record;
  const bool bad = (!lease.seen.present && !lease.seen.evidence.empty()) || lease.seen.may_have_lost_data ||
                   lease.seen.sight == election::HolderSight::kDead;
  std::string status = html_text(status_of(lease.seen));
  if (bad) status = fmt::format("<span class=\"bad\">{}</span>", status);
  if (lease.seen.present && !lease.seen.evidence.empty() && lease.seen.sight != election::HolderSight::kDead) {
    status += fmt::format("<br><span class=\"dim\">{}</span>", html_text(lease.seen.evidence));
  }
  const std::string next = record.heir == election::kAnybody ? "anybody" : apart(record.heir);
  std::string change = apart(record.cause);
  if (record.acquired_at.unix_ns != 0 && record.held()) {
    change += fmt::format(" <span class=\"dim\">{}</span>", html_text(ago(record.acquired_at, page.now)));
  }
  return fmt::format("<tr>{}{}{}{}{}{}{}</tr>\n", cell("key", apart(lease.key)),
                     cell("holder", record.held() ? apart(record.holder) : "<span class=\"dim\">nobody</span>"),
                     cell("epoch", std::to_string(record.epoch.value())),
                     cell("valid for", html_text(left_text(lease.seen, page.now))), cell("next", next),
                     cell("last change", change), cell("status", status + actions(page, lease)));
}

std::string table_of(const LeasePage& page) {
  if (!page.trouble.empty()) {
    return fmt::format("<p class=\"bad\">The leases cannot be read: {}</p>\n", html_text(page.trouble));
  }
  if (page.leases.empty()) return "<p>No keys.</p>\n";
  std::string out = "<table><thead><tr>";
  for (const char* head : {"key", "holder", "epoch", "valid for", "next", "last change", "status"}) {
    out += fmt::format("<th>{}</th>", head);
  }
  out += "</tr></thead><tbody>\n";
  for (const PageLease& lease : page.leases) out += row(page, lease);
  out += "</tbody></table>\n";
  if (page.more) out += "<p class=\"dim\">There are more; a prefix shows others.</p>\n";
  return out;
}

std::string acts_of(const LeasePage& page) {
  if (page.acts.empty()) return "";
  std::string out = "<h2>Asked for here</h2>\n<table><tbody>\n";
  for (const PageAct& act : page.acts) {
    out += fmt::format("<tr>{}{}{}{}</tr>\n", cell("at", html_text(format_wall(act.at))), cell("by", apart(act.who)),
                       cell("asked", apart(act.asked)),
                       cell("outcome", fmt::format("<span class=\"{}\">{}</span>", act.done ? "good" : "bad",
                                                   html_text(act.outcome))));
  }
  return out + "</tbody></table>\n";
}

ordered_json to_json(const PageLease& lease, WallTime now) {
  const LeaseRecord& record = lease.seen.record;
  return {{"key", lease.key},
          {"key_id", store::percent_encoded(lease.key)},
          {"held", record.held()},
          {"holder", record.holder},
          {"epoch", record.epoch.value()},
          {"lease_ms", record.lease.ms()},
          {"left_ms", record.held() ? left_of(lease.seen, now).ms() : 0},
          {"acquired_unix_ms", record.acquired_at.unix_ns / 1'000'000},
          {"renewed_unix_ms", record.renewed_at.unix_ns / 1'000'000},
          {"next", record.heir},
          {"cause", record.cause},
          {"region", record.region},
          {"foreign", lease.seen.foreign},
          {"holder_dead", lease.seen.sight == election::HolderSight::kDead},
          {"may_have_lost_data", lease.seen.may_have_lost_data},
          {"evidence", lease.seen.evidence},
          {"status", status_of(lease.seen)}};
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : label_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n': out += "\\x0a"; break;
      default: out += c;
    }
  }
  return out;
}

std::string content_policy(const std::string& style_nonce) {
  return fmt::format(
      "default-src 'none'; style-src 'nonce-{}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      style_nonce);
}

std::string html_of(const LeasePage& page) {
  std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Leases</title>\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  if (page.refresh_s > 0) {
    out += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", page.refresh_s);
  }
  out += fmt::format("<style nonce=\"{}\">{}</style></head><body>\n", html_text(page.style_nonce), kStyle);
  out += fmt::format("<h1>Leases in {}</h1>\n", apart(page.store));
  out += fmt::format(
      "<form method=\"get\" action=\"/\"><label>prefix: <input type=\"text\" name=\"prefix\" value=\"{}\"></label> "
      "<label>every <input type=\"number\" name=\"refresh\" min=\"0\" max=\"3600\" value=\"{}\"> s (0: not)</label> "
      "<button>Show</button></form>\n",
      html_text(page.prefix), page.refresh_s);
  out += table_of(page) + acts_of(page);
  out += fmt::format(
      "<p class=\"dim\">{}; <i>valid for</i> counts by the wall clocks of two machines where the store does not "
      "tell.</p>\n",
      html_text(format_wall(page.now)));
  return out + "</body></html>\n";
}

std::string json_of(const LeasePage& page) {
  ordered_json out{{"format", "bellwether.leases/1"}, {"store", page.store}, {"more", page.more}};
  if (!page.trouble.empty()) out["error"] = page.trouble;
  out["leases"] = ordered_json::array();
  for (const PageLease& lease : page.leases) out["leases"].push_back(to_json(lease, page.now));
  out["acts"] = ordered_json::array();
  for (const PageAct& act : page.acts) {
    out["acts"].push_back({{"at", format_wall(act.at)},
                           {"by", act.who},
                           {"asked", act.asked},
                           {"outcome", act.outcome},
                           {"done", act.done}});
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

namespace {

using runtime::task;

constexpr std::size_t kActsKept = 20;
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMinSecretBytes = 16;

// 128 random bits, unguessable, in hexadecimal.
std::string draw_secret() {
  std::array<char, 16> bytes{};
  check(::getentropy(bytes.data(), bytes.size()) == 0, "the kernel gives random bytes");
  return hex(std::string_view(bytes.data(), bytes.size()));
}

using Fields = std::map<std::string, std::string, std::less<>>;

Fields fields_of(std::string_view text) {
  Fields out;
  for (auto& [name, value] : web::form_fields(text)) out.emplace(std::move(name), std::move(value));
  return out;
}

std::string value_of(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

// The request of a form.
struct Asked {
  std::string act;
  std::string key;
  std::string to;
  std::string by;
  election::Epoch epoch;

  std::string text() const {
    return fmt::format("{} '{}'{} (epoch {})", act, key, to.empty() ? "" : " to " + to, epoch.value());
  }
};

Result<Asked> asked_by(const Fields& fields) {
  Asked asked{value_of(fields, "act"), {}, value_of(fields, "to"), value_of(fields, "by"), {}};
  const auto key = percent_decoded(value_of(fields, "key"));
  const auto epoch = parse_u64(value_of(fields, "epoch"));
  if (!key || key->empty() || !epoch) return fail(Errc::kInvalid, "the form names no key and epoch");
  asked.key = *key;
  asked.epoch = election::Epoch(*epoch);
  if (asked.by.empty() || asked.by.size() > kMaxNameBytes || label_text(asked.by) != asked.by) {
    return fail(Errc::kInvalid, "enter your name");
  }
  if (asked.to.size() > kMaxNameBytes) return fail(Errc::kInvalid, "the name is too long");
  if (asked.act == "transfer" && asked.to.empty()) return fail(Errc::kInvalid, "enter the name of the next holder");
  if (asked.act == "release") asked.to.clear();
  if (asked.act == "steal" && value_of(fields, "confirm") != "yes") {
    return fail(Errc::kInvalid, "confirm the steal: the holder may act until it notices it");
  }
  if (asked.act != "transfer" && asked.act != "release" && asked.act != "steal") {
    return fail(Errc::kInvalid, "the actions are transfer, release and steal");
  }
  return asked;
}

class LeaseWeb final : public web::Handler {
 public:
  LeaseWeb(runtime::EpollRuntime& runtime, const LeaseWebOptions& options) : runtime_(runtime), options_(options) {}

  task<int> run(runtime::Signals& signals);
  task<web::Answer> answer(web::Request request, runtime::Cancellation* cancel) override;

 private:
  Status guard(const runtime::Endpoint& at);
  task<LeasePage> page(std::string prefix);
  task<web::Answer> show(web::Request request);
  task<web::Answer> act(web::Request request);
  task<PageAct> carry_out(Asked asked);
  void note(const PageAct& done, const Asked& asked);
  static int refuse(const Error& error) {
    std::fprintf(stderr, "bellwether lease: %s\n", error.message.c_str());
    return kExitWrong;
  }

  runtime::EpollRuntime& runtime_;
  const LeaseWebOptions& options_;
  std::unique_ptr<store::LeaseStore> store_;
  std::unique_ptr<web::RequestGuard> guard_;
  Journal journal_{0, false, "lease serve"};
  std::deque<PageAct> acts_;  // the latest first
};

// Decides the permitted clients, from the address it listens on.
Status LeaseWeb::guard(const runtime::Endpoint& at) {
  const bool here = web::is_loopback(at.address);
  if (!here && options_.bearer.empty()) {
    return fail(Errc::kInvalid, at.to_string() +
                                    " is reachable from other machines: require a secret in every request "
                                    "(--secret-file FILE), or listen on 127.0.0.1");
  }
  if (!options_.names.empty() && options_.bearer.empty() && !options_.read_only) {
    return fail(Errc::kInvalid,
                "clients that use another host name (--name) act with the rights of this process: require a secret in "
                "every request (--secret-file FILE), or use --read-only");
  }
  if (!options_.bearer.empty() && options_.bearer.size() < kMinSecretBytes) {
    return fail(Errc::kInvalid, "the secret is too short: expected at least {} bytes", kMinSecretBytes);
  }
  web::GuardRules rules{{}, draw_secret(), options_.bearer};
  if (here || !options_.names.empty()) rules.hosts = web::names_of_page(at, options_.names);
  guard_ = std::make_unique<web::RequestGuard>(std::move(rules));
  return {};
}

task<void> end_at_signal(runtime::Signals& signals, runtime::Cancellation& over) {
  const int number = co_await signals.next(nullptr);
  if (number != 0) over.cancel();
}

task<int> LeaseWeb::run(runtime::Signals& signals) {
  auto store = co_await store::open_store(runtime_, options_.via);
  if (!store) co_return refuse(store.error());
  store_ = std::move(*store);
  const auto at = co_await web::endpoint_of(runtime_, options_.listen);
  if (!at) co_return refuse(at.error());
  auto server = web::HttpServer::listen(runtime_, *at, *this, {});
  if (!server) co_return refuse(server.error());
  const runtime::Endpoint local = (*server)->local();
  if (const auto guarded = guard(local); !guarded) co_return refuse(guarded.error());
  if (!journal_.open_audit(runtime_.wall_now(), options_.audit_file)) co_return kExitWrong;
  std::fprintf(stderr, "bellwether lease: the leases of %s are at http://%s/\n", store_->describe().c_str(),
               local.to_string().c_str());
  if (options_.bearer.empty()) {
    std::fprintf(stderr,
                 "bellwether lease: every user of this machine may %s there; restrict that with --secret-file\n",
                 options_.read_only ? "read" : "read and act");
  }
  runtime::Cancellation over;
  runtime::Scope scope;
  scope.spawn(end_at_signal(signals, over));
  co_await (*server)->serve(&over);
  co_await scope.join();
  co_return 0;
}

task<web::Answer> LeaseWeb::answer(web::Request request, runtime::Cancellation*) {
  if (request.method == "POST" && request.path == "/act") {
    auto acted = co_await act(std::move(request));
    co_return acted;
  }
  if (auto wrong = guard_->against_reading(request)) co_return *wrong;
  if (request.path != "/" && request.path != "/leases.json") {
    co_return web::Answer{.status = 404, .body = "the pages are / and /leases.json\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    co_return web::Answer{
        .status = 405, .body = "this page supports only GET and HEAD\n", .fields = {{"Allow", "GET, HEAD"}}};
  }
  auto shown = co_await show(std::move(request));
  co_return shown;
}

task<LeasePage> LeaseWeb::page(std::string prefix) {
  LeasePage page{.store = store_->describe(), .prefix = prefix, .read_only = options_.read_only};
  LeaseTools tools(runtime_, *store_, {}, options_.timeout);
  const auto found = co_await tools.list(std::move(prefix), options_.most + 1);
  if (found) {
    for (const store::ListedKey& one : *found) page.leases.push_back({one.key, one.seen});
    page.more = page.leases.size() > options_.most;
    if (page.more) page.leases.pop_back();
  } else {
    page.trouble = found.error().message;
  }
  page.acts.assign(acts_.begin(), acts_.end());
  page.now = runtime_.wall_now();
  co_return page;
}

task<web::Answer> LeaseWeb::show(web::Request request) {
  const Fields query = fields_of(request.query);
  auto shown = co_await page(value_of(query, "prefix"));
  web::Answer answer;
  answer.status = shown.trouble.empty() ? 200 : 502;
  answer.fields = {{"Cache-Control", "no-store"}};
  if (request.path == "/leases.json") {
    answer.type = "application/json";
    answer.body = json_of(shown);
    co_return answer;
  }
  shown.refresh_s = static_cast<int>(std::min<uint64_t>(parse_u64(value_of(query, "refresh")).value_or(0), 3600));
  shown.form_secret = guard_->form_secret();
  shown.style_nonce = draw_secret();
  answer.type = "text/html; charset=utf-8";
  answer.body = html_of(shown);
  answer.fields.emplace_back("Content-Security-Policy", content_policy(shown.style_nonce));
  // Not "no-referrer": browsers would then send "Origin: null" with the forms of this very page.
  answer.fields.emplace_back("Referrer-Policy", "same-origin");
  answer.fields.emplace_back("X-Frame-Options", "DENY");
  co_return answer;
}

task<web::Answer> LeaseWeb::act(web::Request request) {
  const Fields fields = fields_of(request.body);
  if (auto wrong = guard_->against_acting(request, value_of(fields, "secret"))) co_return *wrong;
  if (options_.read_only) co_return web::Answer{.status = 403, .body = "this server is read-only (--read-only)\n"};
  const auto asked = asked_by(fields);
  if (!asked) co_return web::Answer{.status = 400, .body = asked.error().message + "\n"};
  const PageAct done = co_await carry_out(*asked);
  note(done, *asked);
  if (request.field("Accept").find("application/json") != std::string::npos) {
    const nlohmann::ordered_json json{{"done", done.done}, {"asked", done.asked}, {"outcome", done.outcome}};
    co_return web::Answer{.status = done.done ? 200 : 409,
                          .type = "application/json",
                          .body = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
  }
  std::string where = "/?prefix=";
  append_percent_encoded(value_of(fields, "prefix"), where);
  co_return web::Answer{.status = 303, .body = done.outcome + "\n", .fields = {{"Location", std::move(where)}}};
}

task<PageAct> LeaseWeb::carry_out(Asked asked) {
  PageAct done{.at = runtime_.wall_now(), .who = asked.by, .asked = asked.text(), .outcome = {}};
  LeaseTools tools(runtime_, *store_, asked.by, options_.timeout);
  const bool steals = asked.act == "steal";
  Result<election::LeaseRecord> before = fail(Errc::kInvalid, "");
  if (steals) {
    before = co_await tools.steal(asked.key, asked.to, asked.epoch);
  } else {
    before = co_await tools.ask_to_hand_over(asked.key, asked.to, asked.epoch);
  }
  done.done = before.has_value();
  if (!before) {
    done.outcome = before.error().message;
  } else if (steals) {
    done.outcome = fmt::format("taken from {}; epoch {} is over", before->holder, before->epoch.value());
  } else {
    done.outcome = fmt::format("asked {} to hand over", before->holder);
  }
  co_return done;
}

void LeaseWeb::note(const PageAct& done, const Asked& asked) {
  acts_.push_front(done);
  if (acts_.size() > kActsKept) acts_.pop_back();
  const std::string text = fmt::format("{}: {}: {}", done.who, done.asked, done.outcome);
  std::fprintf(stderr, "bellwether lease: %s\n", printable(text).c_str());
  journal_.transition(done.at, asked.act, text,
                      {{"key", asked.key},
                       {"by", asked.by},
                       {"to", asked.to},
                       {"epoch", static_cast<int64_t>(asked.epoch.value())},
                       {"done", static_cast<int64_t>(done.done ? 1 : 0)},
                       {"outcome", done.outcome}});
}

}  // namespace

int serve_leases(runtime::EpollRuntime& runtime, const LeaseWebOptions& options) {
  auto signals = runtime::Signals::collect(runtime, {SIGINT, SIGTERM, SIGHUP});
  if (!signals) {
    std::fprintf(stderr, "bellwether lease: %s\n", signals.error().message.c_str());
    return kExitWrong;
  }
  LeaseWeb web(runtime, options);
  return runtime.run(web.run(**signals));
}

}  // namespace bellwether::lead
