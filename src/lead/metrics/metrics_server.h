// A small HTTP server for the figures of keys, on a separate thread: a slow scraper, or a load balancer that asks
// often, never delays a renewal, and a stuck one loses its connection (core/web/http_server.h). Its thread takes no
// signals. It answers
//   GET /metrics                      the text format of Prometheus
//   GET /healthz, /leader             200 while this process holds all its keys, else 503
//   GET /follower                     200 while it holds none of them, else 503
// where ?loop=NAME or ?key=KEY asks for one of several.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/web/http_server.h"
#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {

class MetricsServer final : private web::Handler {
 public:
  // `at`: HOST:PORT; port 0 takes a free one. `figures` must outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<MetricsServer>> start(const std::string& at, std::vector<const LeaseFigures*> figures);
  // Returns when its thread has ended.
  ~MetricsServer() override;
  // "127.0.0.1:9090", with the port that was really taken.
  const std::string& where() const { return where_; }

 private:
  explicit MetricsServer(std::vector<const LeaseFigures*> figures) : figures_(std::move(figures)) {}
  Status begin(std::string at);
  // Reports the result of the start to `listening`, and is the whole life of the thread.
  runtime::task<void> serve(std::string at, std::shared_ptr<std::promise<Status>> listening);
  runtime::task<web::Answer> answer(web::Request request, runtime::Cancellation* cancel) override;
  web::Answer metrics() const;
  web::Answer health(const web::Request& request, bool as_leader) const;

  std::vector<const LeaseFigures*> figures_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;  // made and used by the thread; ends after it
  runtime::Cancellation* over_ = nullptr;
  std::string where_;
  std::thread thread_;
};

}  // namespace bellwether::lead
