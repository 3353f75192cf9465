#include "lead/metrics/metrics_server.h"

// As the library was built: its classes look different otherwise.
#define CPPHTTPLIB_OPENSSL_SUPPORT
#define CPPHTTPLIB_ZLIB_SUPPORT
#define CPPHTTPLIB_BROTLI_SUPPORT
#include <chrono>
#include <csignal>
#include <ctime>
#include <httplib.h>
#include <pthread.h>
#include <thread>

#include "base/bytes.h"
#include "lead/metrics/prometheus_text.h"
#include "runtime/thread.h"

namespace bellwether::lead {
namespace {

constexpr std::size_t kThreads = 2;
constexpr time_t kSecondsMost = 5;  // for a request to arrive, and for its answer to leave

Instant boot_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant::from_ns(now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

// Signals belong to the thread of the runtime, so the threads that begin in this block get none.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

class Server final : public MetricsServer {
 public:
  explicit Server(std::vector<const LeaseFigures*> figures) : figures_(std::move(figures)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_read_timeout(kSecondsMost);
    server_.set_write_timeout(kSecondsMost);
    server_.set_keep_alive_max_count(1);  // nobody keeps one of the few threads
    server_.set_payload_max_length(1024);
    server_.Get("/metrics", [this](const httplib::Request&, httplib::Response& out) { metrics(out); });
    const auto leader = [this](const httplib::Request& in, httplib::Response& out) { health(in, out, true); };
    server_.Get("/healthz", leader);
    server_.Get("/leader", leader);
    server_.Get("/follower", [this](const httplib::Request& in, httplib::Response& out) { health(in, out, false); });
  }
  ~Server() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status listen(const std::string& host, uint16_t port) {
    // A second process on the same port must be an error, not half of the answers.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    const int bound = port == 0 ? server_.bind_to_any_port(host.c_str()) : bind(host, port);
    if (bound <= 0) return fail(Errc::kExists, "cannot listen on " + host + ":" + std::to_string(port));
    where_ = host + ":" + std::to_string(bound);
    const NoSignals no_signals;
    thread_ = std::thread([this] {
      runtime::set_up_thread("metrics", std::nullopt);
      server_.listen_after_bind();
    });
    // The socket takes connections already; but stop() only reaches a server that has begun.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }
  std::string where() const override { return where_; }

 private:
  int bind(const std::string& host, uint16_t port) { return server_.bind_to_port(host.c_str(), port) ? port : -1; }

  void metrics(httplib::Response& out) const {
    std::vector<LeaseSnapshot> keys;
    const Instant now = boot_clock();
    keys.reserve(figures_.size());
    for (const LeaseFigures* figures : figures_) keys.push_back(figures->read(now));
    out.set_content(prometheus_text(keys), "text/plain; version=0.0.4; charset=utf-8");
  }

  void health(const httplib::Request& in, httplib::Response& out, bool as_leader) const {
    const Instant now = boot_clock();
    std::size_t asked = 0;
    std::size_t held = 0;
    std::string body;
    for (const LeaseFigures* figures : figures_) {
      if (in.has_param("loop") && in.get_param_value("loop") != figures->loop()) continue;
      if (in.has_param("key") && in.get_param_value("key") != figures->key()) continue;
      const LeaseSnapshot one = figures->read(now);
      ++asked;
      held += one.leader ? 1 : 0;
      body += (one.leader ? "leader   " : "follower ") + label_value(one.loop.empty() ? one.key : one.loop) + "\n";
    }
    const bool yes = asked > 0 && held == (as_leader ? asked : 0);
    out.status = asked == 0 ? 404 : yes ? 200 : 503;
    out.set_content(asked == 0 ? "there is no such loop or key here\n" : body, "text/plain; charset=utf-8");
  }

  std::vector<const LeaseFigures*> figures_;
  httplib::Server server_;
  std::thread thread_;
  std::string where_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& at,
                                                            std::vector<const LeaseFigures*> figures) {
  const auto colon = at.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : parse_u64(std::string_view(at).substr(colon + 1));
  std::string host = at.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (!port || *port > 65535 || host.empty()) {
    return fail(Errc::kInvalid, "'" + at + "' is no address to listen on; write HOST:PORT, such as 127.0.0.1:9464");
  }
  auto server = std::make_unique<Server>(std::move(figures));
  if (auto listening = server->listen(host, static_cast<uint16_t>(*port)); !listening) {
    return tl::unexpected(listening.error());
  }
  return std::unique_ptr<MetricsServer>(std::move(server));
}

}  // namespace bellwether::lead
