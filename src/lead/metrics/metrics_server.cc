#include "lead/metrics/metrics_server.h"

#include "core/runtime/boot_timers.h"
#include "core/runtime/epoll/boot_clock.h"
#include "core/runtime/thread.h"
#include "core/web/labels.h"

namespace bellwether::lead {
namespace {

using runtime::task;

// The value of ?name=…, decoded; nothing when it is not there.
std::optional<std::string> parameter(const web::Request& request, std::string_view name) {
  for (const auto& [other, value] : web::form_fields(request.query)) {
    if (other == name) return value;
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& at,
                                                            std::vector<const LeaseFigures*> figures) {
  std::unique_ptr<MetricsServer> server(new MetricsServer(std::move(figures)));
  BW_RETURN_IF_ERROR(server->begin(at));
  return server;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  runtime::post_patiently(
      *runtime_, [](void* self) { static_cast<MetricsServer*>(self)->over_->cancel(); }, this);
  thread_.join();
}

Status MetricsServer::begin(std::string at) {
  auto listening = std::make_shared<std::promise<Status>>();
  auto answer = listening->get_future();
  const runtime::NoSignals no_signals;
  thread_ = std::thread([this, listening, at = std::move(at)] {
    runtime::set_up_thread("metrics", std::nullopt);
    auto made = runtime::EpollRuntime::create({});
    if (!made) {
      listening->set_value(tl::unexpected(made.error()));
      return;
    }
    runtime_ = std::move(*made);
    runtime_->run(serve(at, listening));
  });
  Status done = answer.get();
  if (!done) thread_.join();
  return done;
}

task<void> MetricsServer::serve(std::string at, std::shared_ptr<std::promise<Status>> listening) {
  const auto endpoint = co_await web::endpoint_of(*runtime_, std::move(at));
  if (!endpoint) {
    listening->set_value(tl::unexpected(endpoint.error()));
    co_return;
  }
  auto server = web::HttpServer::listen(*runtime_, *endpoint, *this, {});
  if (!server) {
    listening->set_value(tl::unexpected(server.error()));
    co_return;
  }
  runtime::Cancellation over;
  over_ = &over;
  where_ = (*server)->local().to_string();
  listening->set_value(Status());
  co_await (*server)->serve(&over);
}

task<web::Answer> MetricsServer::answer(web::Request request, runtime::Cancellation*) {
  if (request.method != "GET" && request.method != "HEAD") {
    co_return web::Answer{
        .status = 405, .body = "this page supports only GET and HEAD\n", .fields = {{"Allow", "GET, HEAD"}}};
  }
  if (request.path == "/metrics") co_return metrics();
  if (request.path == "/healthz" || request.path == "/leader") co_return health(request, true);
  if (request.path == "/follower") co_return health(request, false);
  co_return web::Answer{.status = 404, .body = "the pages are /metrics, /healthz, /leader and /follower\n"};
}

web::Answer MetricsServer::metrics() const {
  std::vector<LeaseSnapshot> keys;
  const Instant now = runtime::BootClock::now();
  keys.reserve(figures_.size());
  for (const LeaseFigures* figures : figures_) keys.push_back(figures->read(now));
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = prometheus_text(keys)};
}

web::Answer MetricsServer::health(const web::Request& request, bool as_leader) const {
  const auto loop = parameter(request, "loop");
  const auto key = parameter(request, "key");
  const Instant now = runtime::BootClock::now();
  std::size_t asked = 0;
  std::size_t held = 0;
  std::string body;
  for (const LeaseFigures* figures : figures_) {
    if ((loop && *loop != figures->loop()) || (key && *key != figures->key())) continue;
    const LeaseSnapshot one = figures->read(now);
    ++asked;
    held += one.leader ? 1 : 0;
    body += fmt::format("{}{}\n", one.leader ? "leader   " : "follower ",
                        web::label_value(one.loop.empty() ? one.key : one.loop));
  }
  if (asked == 0) return {.status = 404, .body = "there is no such loop or key here\n"};
  return {.status = held == (as_leader ? asked : 0) ? 200 : 503, .body = std::move(body)};
}

}  // namespace bellwether::lead
