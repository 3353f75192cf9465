// What a request and its answer cost between two nodes: sealed, over one connection on the loopback interface, with
// both ends in one thread or each in its own. Beside it the same bytes over the same streams without frames, crypto and
// sessions: what is left of the cost when nothing of ours is done. Prints one JSON object.
//   exchanges sealed|bare THREADS DEPTH BYTES SECONDS
//   exchanges fixed DEPTH BYTES COUNT        so many sealed exchanges in one thread: for counting instructions

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "cluster/wire/link/client.h"
#include "cluster/wire/link/server.h"
#include "core/base/check.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/scope.h"

namespace {

using namespace bellwether;  // NOLINT(google-build-using-namespace)
using runtime::Endpoint;
using runtime::Io;
using runtime::Runtime;
using runtime::Scope;
using runtime::Stream;
using runtime::task;

struct Plan {
  bool sealed = true;
  bool two_threads = false;
  int64_t depth = 64;
  std::size_t bytes = 1024;
  Duration span = Duration::seconds(5);
  uint64_t count = 0;  // stop after so many; 0: after `span`
};

double processor_seconds(int who) {
  rusage used{};
  getrusage(who, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

wire::Keyring keyring() {
  auto secret = wire::Secret::take("a secret for benches, 7Q");
  check(secret.has_value(), "it is good enough");
  return wire::Keyring(std::move(*secret));
}

wire::HandshakeSettings node(const char* name, wire::Role role) {
  wire::HandshakeSettings settings;
  settings.self.identity = {"bench", "bench", "here", name, role};
  return settings;
}

class Echo final : public link::ConnectionHandler {
 public:
  void on_request(link::Connection& connection, const wire::Inbound& request) override {
    connection.respond(request.id, wire::ReplyStatus::kOk, request.body);
  }
};

// --- the end that answers ---

struct Answering {
  wire::Keyring keys = keyring();
  Echo echo;
  link::RefusalWatch refusals;
  std::unique_ptr<link::Server> server;
  std::unique_ptr<runtime::Listener> bare;

  Endpoint listen(Runtime& runtime, const Plan& plan) {
    const Endpoint at{runtime::IpAddress::loopback(), 0};
    if (!plan.sealed) {
      auto made = runtime.listen(at, {});
      check(made.has_value(), "a free port");
      bare = std::move(*made);
      return bare->local();
    }
    link::ServerSettings settings;
    settings.handshake = node("m1", wire::Role::kManager);
    auto made = link::Server::listen(runtime, at, settings, keys, echo, refusals);
    check(made.has_value(), "a free port");
    server = std::move(*made);
    return server->local();
  }
};

// Sends back what comes.
task<void> echo_bare(runtime::Listener& listener, runtime::Cancellation* cancel) {
  auto stream = co_await listener.accept(cancel);
  if (!stream) co_return;
  runtime::CancelCallback on_cancel(
      cancel, [](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kCancelled); }, stream->get());
  std::vector<std::byte> buffer(64 * 1024);
  while (true) {
    const Errc waited = co_await (*stream)->readable();
    if (waited != Errc::kOk) co_return;
    const Io io = (*stream)->try_read(buffer);
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind != Io::Kind::kDone) co_return;
    Bytes rest = Bytes(buffer).first(io.count);
    while (!rest.empty()) {
      const Io out = (*stream)->try_write(rest);
      if (out.kind == Io::Kind::kDone) {
        rest = rest.subspan(out.count);
      } else if (out.kind == Io::Kind::kWouldBlock) {
        const Errc writable = co_await (*stream)->writable();
        if (writable != Errc::kOk) co_return;
      } else {
        co_return;
      }
    }
  }
}

task<void> answer(Answering& answering, runtime::Cancellation* cancel) {
  if (answering.server != nullptr) {
    co_await answering.server->serve(cancel);
  } else {
    co_await echo_bare(*answering.bare, cancel);
  }
}

// --- the end that asks ---

struct Asking {
  const Plan& plan;
  std::string body;
  uint64_t done = 0;
  uint64_t asked = 0;
  bool stop = false;
};

task<void> ask_again(Runtime& runtime, link::Connection& connection, Asking& asking) {
  std::vector<std::byte> answer;
  const wire::Outgoing message{.type = 1, .body = as_bytes(asking.body)};
  while (!asking.stop && (asking.plan.count == 0 || asking.asked < asking.plan.count)) {
    ++asking.asked;
    const Instant deadline = runtime.now() + Duration::seconds(10);
    const auto status = co_await connection.request(message, deadline, answer);
    check(status.has_value() && answer.size() == asking.body.size(), "every request is answered");
    ++asking.done;
  }
}

task<void> run(link::Connection& connection, runtime::Cancellation* cancel) {
  const Error why = co_await connection.run(cancel);
  static_cast<void>(why);
}

task<void> stop_after(Runtime& runtime, Asking& asking) {
  co_await runtime.sleep(asking.plan.span);
  asking.stop = true;
}

task<void> ask_sealed(Runtime& runtime, Endpoint to, Asking& asking) {
  const wire::Keyring keys = keyring();
  Echo echo;
  link::RefusalWatch refusals;
  link::DialSettings settings;
  settings.handshake = node("w1", wire::Role::kWorker);
  auto connection = co_await link::dial(runtime, to, "m1", settings, keys, echo, refusals, nullptr);
  check(connection.has_value(), "the loopback interface connects");
  Scope scope;
  scope.spawn(run(**connection, scope.cancellation()));
  {
    Scope asks;
    if (asking.plan.count == 0) asks.spawn(stop_after(runtime, asking));
    for (int64_t i = 0; i < asking.plan.depth; ++i) asks.spawn(ask_again(runtime, **connection, asking));
    co_await asks.join();
  }
  scope.cancel();
  co_await scope.join();
}

// Keeps `depth` messages under way: sends as many again as came back.
task<void> ask_bare(Runtime& runtime, Endpoint to, Asking& asking) {
  auto stream = co_await runtime.connect(to, {}, nullptr);
  check(stream.has_value(), "the loopback interface connects");
  Scope scope;
  scope.spawn(stop_after(runtime, asking));
  const std::size_t whole = asking.body.size() + wire::kStreamOverhead + wire::kMessageHeaderBytes;
  const std::vector<std::byte> block(whole * static_cast<std::size_t>(asking.plan.depth));
  std::vector<std::byte> buffer(64 * 1024);
  std::size_t to_send = block.size();
  std::size_t came = 0;
  while (!asking.stop) {
    while (to_send > 0) {
      const Io io = (*stream)->try_write(Bytes(block).first(std::min(to_send, block.size())));
      if (io.kind != Io::Kind::kDone) break;
      to_send -= io.count;
    }
    const Errc waited = co_await (*stream)->readable();
    check(waited == Errc::kOk, "nothing interrupts");
    const Io io = (*stream)->try_read(buffer);
    if (io.kind == Io::Kind::kWouldBlock) continue;
    check(io.kind == Io::Kind::kDone, "the connection holds");
    came += io.count;
    asking.done += came / whole;
    to_send += came / whole * whole;
    came %= whole;
  }
  co_await scope.join();
}

task<void> ask(Runtime& runtime, Endpoint to, Asking& asking) {
  if (asking.plan.sealed) {
    co_await ask_sealed(runtime, to, asking);
  } else {
    co_await ask_bare(runtime, to, asking);
  }
}

// --- both ---

std::unique_ptr<runtime::EpollRuntime> new_runtime() {
  auto created = runtime::EpollRuntime::create({});
  check(created.has_value(), "descriptors are left");
  return std::move(*created);
}

task<void> both(Runtime& runtime, Answering& answering, Endpoint to, Asking& asking) {
  Scope scope;
  scope.spawn(answer(answering, scope.cancellation()));
  co_await ask(runtime, to, asking);
  scope.cancel();
  co_await scope.join();
}

task<void> answer_until(Runtime& runtime, Answering& answering, const std::atomic<bool>& over) {
  Scope scope;
  scope.spawn(answer(answering, scope.cancellation()));
  while (!over.load()) co_await runtime.sleep(Duration::millis(20));
  scope.cancel();
  co_await scope.join();
}

int measure(const Plan& plan) {
  Asking asking{.plan = plan, .body = std::string(plan.bytes, 'b')};
  const auto runtime = new_runtime();
  const double before = processor_seconds(RUSAGE_SELF);
  const Instant from = runtime->read_clock();
  double asking_cpu = 0;
  if (plan.two_threads) {
    std::atomic<uint16_t> port{0};
    std::atomic<bool> over{false};
    std::thread answering_thread([&] {
      const auto own = new_runtime();
      Answering answering;
      port.store(answering.listen(*own, plan).port);
      own->run(answer_until(*own, answering, over));
    });
    while (port.load() == 0) std::this_thread::yield();
    runtime->run(ask(*runtime, {runtime::IpAddress::loopback(), port.load()}, asking));
    asking_cpu = processor_seconds(RUSAGE_THREAD);
    over.store(true);
    answering_thread.join();
  } else {
    Answering answering;
    const Endpoint to = answering.listen(*runtime, plan);
    runtime->run(both(*runtime, answering, to, asking));
  }
  const double seconds = (runtime->read_clock() - from).seconds_f();
  const double cpu = processor_seconds(RUSAGE_SELF) - before;
  std::printf(
      "{\"sealed\": %s, \"threads\": %d, \"depth\": %lld, \"bytes\": %zu, \"seconds\": %.3f, \"exchanges\": %llu, "
      "\"rate\": %.0f, \"cpu_us\": %.3f, \"asking_cpu_us\": %.3f}\n",
      plan.sealed ? "true" : "false", plan.two_threads ? 2 : 1, static_cast<long long>(plan.depth), plan.bytes, seconds,
      static_cast<unsigned long long>(asking.done), static_cast<double>(asking.done) / seconds,
      cpu * 1e6 / static_cast<double>(asking.done), asking_cpu * 1e6 / static_cast<double>(asking.done));
  return 0;
}

int64_t number(const char* text) { return std::strtoll(text, nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  Plan plan;
  if (words.size() == 5 && (words[0] == "sealed" || words[0] == "bare")) {
    plan.sealed = words[0] == "sealed";
    plan.two_threads = words[1] == "2";
    plan.depth = number(argv[3]);
    plan.bytes = static_cast<std::size_t>(number(argv[4]));
    plan.span = Duration::nanos(static_cast<int64_t>(std::strtod(argv[5], nullptr) * 1e9));
    return measure(plan);
  }
  if (words.size() == 4 && words[0] == "fixed") {
    plan.depth = number(argv[2]);
    plan.bytes = static_cast<std::size_t>(number(argv[3]));
    plan.count = static_cast<uint64_t>(number(argv[4]));
    return measure(plan);
  }
  std::fprintf(stderr, "usage: exchanges sealed|bare THREADS DEPTH BYTES SECONDS | fixed DEPTH BYTES COUNT\n");
  return 2;
}
