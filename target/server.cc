#include "target/server.h"

#include <csignal>
#include <memory>
#include <optional>
#include <thread>

#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "core/runtime/thread.h"
#include "core/runtime/tls.h"
#include "target/connection.h"

namespace bellwether::target {
namespace {

using runtime::Cancellation;
using runtime::EpollRuntime;
using runtime::Scope;
using runtime::Stream;
using runtime::task;
using runtime::TlsContext;

constexpr Duration kMaxHandshake = Duration::seconds(10);

task<void> serve_tls(Service* service, std::unique_ptr<Stream> stream, std::shared_ptr<TlsContext> tls,
                     Cancellation* cancel) {
  auto secured =
      co_await runtime::tls_accept(service->runtime, std::move(stream), std::move(tls), kMaxHandshake, cancel);
  if (secured) co_await serve(service, std::move(*secured), cancel);
}

// One thread: its loop, its listening socket and its connections. Made by the control thread, run by its own.
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(const TargetOptions& options, runtime::Endpoint at, uint64_t seed,
                                                std::shared_ptr<TlsContext> tls) {
    BW_TRY(auto runtime, EpollRuntime::create({.seed = seed}));
    BW_TRY(auto listener, runtime->listen(at, {.share_port = options.threads > 1}));
    return std::unique_ptr<Worker>(new Worker(std::move(runtime), std::move(listener), options.faults, std::move(tls)));
  }
  ~Worker() {
    if (thread_.joinable()) thread_.join();
  }

  runtime::Endpoint local() const { return listener_->local(); }

  void start(std::optional<int> cpu) {
    thread_ = std::thread([this, cpu] {
      runtime::set_up_thread("target", cpu);
      runtime_->run(accept_all());
    });
  }

  // From the control thread, once.
  TargetTotals stop() {
    runtime_->post([](void* self) { static_cast<Worker*>(self)->cancellation_.cancel(); }, this);
    thread_.join();
    return {service_.connections, service_.requests};
  }

 private:
  Worker(std::unique_ptr<EpollRuntime> runtime, std::unique_ptr<runtime::Listener> listener, const FaultOptions& faults,
         std::shared_ptr<TlsContext> tls)
      : runtime_(std::move(runtime)),
        listener_(std::move(listener)),
        service_(*runtime_, faults, runtime_->prng().next()),
        tls_(std::move(tls)) {}

  task<void> accept_all() {
    Scope connections(&cancellation_);
    while (auto accepted = co_await runtime::accept_next(*runtime_, *listener_, &cancellation_)) {
      connections.spawn(tls_ == nullptr ? serve(&service_, std::move(accepted), connections.cancellation())
                                        : serve_tls(&service_, std::move(accepted), tls_, connections.cancellation()));
    }
    co_await connections.join();
  }

  std::unique_ptr<EpollRuntime> runtime_;
  std::unique_ptr<runtime::Listener> listener_;
  Service service_;
  std::shared_ptr<TlsContext> tls_;
  Cancellation cancellation_;
  std::thread thread_;
};

Result<std::shared_ptr<TlsContext>> make_tls(const TargetOptions& options) {
  if (!options.tls) return std::shared_ptr<TlsContext>();
  if (!options.certificate_file.empty()) {
    return TlsContext::server({options.certificate_file, options.key_file, {"http/1.1"}});
  }
  return TlsContext::self_signed_server({"localhost", "127.0.0.1", "::1", options.listen.address.to_string()},
                                        {"http/1.1"});
}

task<Status> write_text(runtime::Runtime* runtime, std::string path, std::string text) {
  const runtime::OpenOptions how{.create = true, .truncate = true, .write = true};
  BW_CO_TRY(auto file, co_await runtime->open(std::move(path), how));
  auto written = co_await file->write_at(0, as_bytes(text));
  co_return written;
}

task<void> wait_for_end(runtime::Runtime* runtime, runtime::Signals* signals, Duration run_for) {
  Cancellation over;
  runtime::Timer timer([](void* cancellation) { static_cast<Cancellation*>(cancellation)->cancel(); }, &over);
  if (run_for > Duration::zero()) runtime->timers().arm(timer, runtime->now() + run_for);
  co_await signals->next(&over);
}

}  // namespace

Result<TargetTotals> run_target(const TargetOptions& options, OnListening on_listening) {
  BW_TRY(auto control, EpollRuntime::create({.seed = options.seed}));
  BW_TRY(auto signals, runtime::Signals::collect(*control, {SIGINT, SIGTERM}));
  BW_TRY(auto tls, make_tls(options));
  if (!options.ca_file.empty() && tls != nullptr) {
    BW_RETURN_IF_ERROR(control->run(write_text(control.get(), options.ca_file, tls->certificate_pem())));
  }

  // Threads share a port, and so would a second target of this user: only a listener that does not share finds it out.
  if (const auto alone = control->listen(options.listen, {}); !alone) return tl::unexpected(alone.error());

  std::vector<std::unique_ptr<Worker>> workers;
  runtime::Endpoint at = options.listen;
  for (uint32_t i = 0; i < options.threads; ++i) {
    BW_TRY(auto worker, Worker::create(options, at, control->prng().next(), tls));
    at = worker->local();  // with port 0, the others share the port that the first was given
    workers.push_back(std::move(worker));
  }
  for (std::size_t i = 0; i < workers.size(); ++i) {
    workers[i]->start(options.pin.empty() ? std::nullopt : std::optional(options.pin[i % options.pin.size()]));
  }
  on_listening((options.tls ? "https://" : "http://") + at.to_string());
  control->read_clock();
  control->run(wait_for_end(control.get(), signals.get(), options.run_for));

  TargetTotals sum;
  for (auto& worker : workers) {
    const TargetTotals totals = worker->stop();
    sum.connections += totals.connections;
    sum.requests += totals.requests;
  }
  return sum;
}

}  // namespace bellwether::target
