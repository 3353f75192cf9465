#include "tests/sim/fast/http_server.h"

#include "core/runtime/scope.h"
#include "target/connection.h"

namespace bellwether::sim {

using runtime::Runtime;
using runtime::Scope;
using runtime::task;

task<void> http_server(Runtime& runtime, void* context) {
  target::Service service(runtime, *static_cast<target::FaultOptions*>(context), runtime.prng().next());
  auto listener = runtime.listen({runtime::IpAddress::any(), 80}, {});
  if (!listener) co_return;
  Scope connections;
  while (true) {
    auto stream = co_await (*listener)->accept(nullptr);
    if (stream) connections.spawn(target::serve(&service, std::move(*stream), connections.cancellation()));
  }
}

}  // namespace bellwether::sim
