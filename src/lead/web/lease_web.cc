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
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/web/http_server.h"
#include "core/web/request_guard.h"
#include "election/store/disk/small_file.h"
#include "election/store/lease_store.h"
#include "lead/lease_tools.h"
#include "lead/run/candidate_host.h"
#include "lead/web/lease_page.h"

namespace bellwether::lead {
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
  const std::string where = "/?prefix=" + web::form_encoded(value_of(fields, "prefix"));
  co_return web::Answer{.status = 303, .body = done.outcome + "\n", .fields = {{"Location", where}}};
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
