// A small HTTP server for the figures of keys, on a thread of its own: a scraper that is slow, or a load balancer that
// asks often, never delays a renewal, and one that is stuck loses its connection (core/web/http_server.h). Its thread
// takes no signals. It answers
//   GET /metrics                      the text format of Prometheus
//   GET /healthz, /leader             200 while this process holds all its keys, else 503
//   GET /follower                     200 while it holds none of them, else 503
// where ?loop=NAME or ?key=KEY asks for one of several.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "lead/metrics/lease_figures.h"

namespace bellwether::lead {

class MetricsServer {
 public:
  // `at`: HOST:PORT; port 0 takes a free one. `figures` must outlive it. kExists when the port is taken.
  static Result<std::unique_ptr<MetricsServer>> start(const std::string& at, std::vector<const LeaseFigures*> figures);
  // Returns when its thread has ended.
  virtual ~MetricsServer() = default;
  // "127.0.0.1:9090", with the port that was really taken.
  virtual std::string where() const = 0;

 protected:
  MetricsServer() = default;
};

}  // namespace bellwether::lead
