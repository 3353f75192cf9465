#include <utility>

#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "tests/sim/fast/counter.h"
#include "tests/sim/fast/framing.h"

namespace bellwether::sim {
namespace {

using runtime::Event;
using runtime::File;
using runtime::Runtime;
using runtime::Scope;
using runtime::Stream;
using runtime::task;

constexpr Duration kIdle = Duration::seconds(20);
constexpr std::string_view kNewLog = "/data/log.new";

class CounterServer {
 public:
  CounterServer(Runtime& runtime, CounterServerContext& context) : runtime_(runtime), context_(context) {}
  task<void> run();

 private:
  // A request that waits for the log; lives in the frame of its connection.
  struct Waiting {
    Increment increment;
    uint64_t value = 0;  // 0: it could not be written
    Event answered;
  };

  task<bool> recover();
  task<bool> write_anew(std::string_view text);
  task<void> accept_all(Scope& scope);
  task<void> serve(std::unique_ptr<Stream> stream, runtime::Cancellation* cancel);
  task<void> write_log();
  task<bool> append(std::string text);
  void fail();

  Runtime& runtime_;
  CounterServerContext& context_;
  std::unique_ptr<File> file_;
  uint64_t file_size_ = 0;
  std::map<Increment, uint64_t> values_;
  uint64_t counter_ = 0;
  std::vector<Waiting*> queue_;
  Event work_;
  Event failed_;
};

// Anything that goes wrong with the disk ends the process: after a failed sync, what a read shows may never have
// reached the disk. The next process writes the log anew before it believes it.
task<void> CounterServer::run() {
  const bool ready = co_await recover();
  if (!ready) co_return;
  Scope scope;
  scope.spawn(accept_all(scope));
  scope.spawn(write_log());
  co_await failed_.wait();
  scope.cancel();
  co_await scope.join();
}

void CounterServer::fail() {
  failed_.set();
  work_.set();
}

task<bool> CounterServer::recover() {
  std::string text;
  auto opened = co_await runtime_.open(std::string(kCounterLog), {.write = true});
  if (!opened && opened.error().code != Errc::kNotFound) co_return false;
  if (opened) {
    file_ = std::move(*opened);
    text.resize(*file_->size());
    auto read = co_await file_->read_at(0, std::as_writable_bytes(std::span(text)));
    if (!read) co_return false;
    text.resize(*read);
  }
  const std::vector<Increment> log = read_log(text);
  std::string whole;
  for (const Increment& increment : log) {
    append_record(whole, increment, counter_);
    values_.emplace(increment, ++counter_);
  }
  file_size_ = whole.size();
  if (context_.mistake != Mistake::kTrustsLogAfterFailedSync || file_ == nullptr) {
    const bool written = co_await write_anew(whole);
    if (!written) co_return false;
  }
  context_.checker.recovered(log);
  co_return true;
}

task<bool> CounterServer::write_anew(std::string_view text) {
  auto opened = co_await runtime_.open(std::string(kNewLog), {.create = true, .truncate = true, .write = true});
  if (!opened) co_return false;
  file_ = std::move(*opened);
  const Status written = co_await file_->write_at(0, as_bytes(text));
  if (!written) co_return false;
  const Status synced = co_await file_->sync();
  if (!synced) co_return false;
  const Status renamed = co_await runtime_.rename(std::string(kNewLog), std::string(kCounterLog));
  if (!renamed) co_return false;
  const Status named = co_await runtime_.sync_directory("/data");
  co_return named.has_value();
}

task<void> CounterServer::accept_all(Scope& scope) {
  auto listener = runtime_.listen({runtime::IpAddress::any(), 9}, {.backlog = 4});
  if (!listener) {
    fail();
    co_return;
  }
  while (true) {
    auto stream = co_await (*listener)->accept(scope.cancellation());
    if (!stream) co_return;
    scope.spawn(serve(std::move(*stream), scope.cancellation()));
  }
}

task<void> CounterServer::serve(std::unique_ptr<Stream> stream, runtime::Cancellation* cancel) {
  runtime::CancelCallback on_cancel(
      cancel, [](void* s) { static_cast<Stream*>(s)->interrupt(Errc::kCancelled); }, stream.get());
  while (true) {
    auto message = co_await read_message(runtime_, *stream, kIdle);
    if (!message || message->size() != 16 || failed_.is_set()) co_return;
    Waiting waiting;
    waiting.increment = {number_at(*message, 0), number_at(*message, 8)};
    queue_.push_back(&waiting);
    work_.set();
    co_await waiting.answered.wait();
    if (waiting.value == 0) co_return;
    std::string answer;
    put_number(answer, waiting.value);
    const bool sent = co_await write_message(runtime_, *stream, std::move(answer), kIdle);
    if (!sent) co_return;
  }
}

// Writes what has come together while the last of it was written, with one sync.
task<void> CounterServer::write_log() {
  while (!failed_.is_set()) {
    work_.reset();
    const std::vector<Waiting*> batch = std::exchange(queue_, {});
    std::string records;
    for (Waiting* waiting : batch) {
      const auto [known, is_new] = values_.emplace(waiting->increment, counter_ + 1);
      if (is_new || context_.mistake == Mistake::kForgetsRequests) {
        append_record(records, waiting->increment, counter_);
        known->second = ++counter_;
      }
    }
    if (context_.mistake == Mistake::kAnswersBeforeSync) {
      for (Waiting* waiting : batch) {
        waiting->value = values_.at(waiting->increment);
        waiting->answered.set();
      }
    }
    bool written = true;
    if (!records.empty()) written = co_await append(std::move(records));
    if (context_.mistake != Mistake::kAnswersBeforeSync) {
      for (Waiting* waiting : batch) {
        if (written) waiting->value = values_.at(waiting->increment);
        waiting->answered.set();
      }
    }
    if (!written) fail();
    co_await work_.wait();
  }
  for (Waiting* waiting : std::exchange(queue_, {})) waiting->answered.set();
}

task<bool> CounterServer::append(std::string text) {
  const Status written = co_await file_->write_at(file_size_, as_bytes(text));
  if (!written) co_return false;
  file_size_ += text.size();
  const Status synced = co_await file_->sync();
  co_return synced.has_value();
}

}  // namespace

task<void> counter_server(Runtime& runtime, void* context) {
  CounterServer server(runtime, *static_cast<CounterServerContext*>(context));
  co_await server.run();
}

}  // namespace bellwether::sim
