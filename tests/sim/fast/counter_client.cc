#include "tests/sim/fast/counter.h"
#include "tests/sim/fast/framing.h"

namespace bellwether::sim {
namespace {

using runtime::Runtime;
using runtime::Stream;
using runtime::task;

constexpr Duration kPatience = Duration::seconds(3);

task<std::unique_ptr<Stream>> reach_server(Runtime& runtime) {
  auto addresses = co_await runtime.resolve("server", nullptr);
  if (!addresses) co_return nullptr;
  auto stream = co_await runtime.connect({addresses->front(), 9}, {.timeout = kPatience}, nullptr);
  co_return stream ? std::move(*stream) : nullptr;
}

// The value that the server answers with; 0 when it did not.
task<uint64_t> increment_once(Runtime& runtime, Stream& stream, Increment increment) {
  std::string message;
  put_number(message, increment.client);
  put_number(message, increment.request);
  const bool sent = co_await write_message(runtime, stream, std::move(message), kPatience);
  if (!sent) co_return 0;
  auto answer = co_await read_message(runtime, stream, kPatience);
  co_return answer && answer->size() == 8 ? number_at(*answer, 0) : 0;
}

}  // namespace

// What it was told is the one thing that a client does not forget when it is killed.
task<void> counter_client(Runtime& runtime, void* context) {
  auto& client = *static_cast<CounterClientContext*>(context);
  std::unique_ptr<Stream> stream;
  while (true) {
    if (stream == nullptr) stream = co_await reach_server(runtime);
    const Increment next{client.number, client.checker.acknowledged_of(client.number) + 1};
    uint64_t value = 0;
    if (stream != nullptr) value = co_await increment_once(runtime, *stream, next);
    if (value > 0) {
      client.checker.acknowledged(next, value);
    } else {
      stream.reset();
    }
    co_await runtime.sleep(runtime.prng().between(Duration::millis(1), Duration::millis(100)));
  }
}

}  // namespace bellwether::sim
