// Simulated connections and listeners as a process sees them.
#pragma once

#include <memory>

#include "core/runtime/runtime.h"
#include "core/runtime/stream.h"
#include "core/runtime/timer_wheel.h"
#include "sim/sockets.h"
#include "sim/tcp.h"

namespace bellwether::sim {

class SimStream final : public runtime::Stream, public Source {
 public:
  SimStream(SimRuntime& runtime, std::shared_ptr<Connection> connection);
  ~SimStream() override;

  Connection& connection() { return *connection_; }
  void finish_writing() override { connection_->finish_writing(); }
  runtime::Endpoint peer() const override { return connection_->identity().peer; }
  void on_ready() override;

 protected:
  runtime::Io do_read(MutableBytes into) override;
  runtime::Io do_write(Bytes bytes) override;
  void do_reset_when_closed() override { resets_ = true; }

 private:
  void look_again_soon();

  std::shared_ptr<Connection> connection_;
  // The bytes announced to the process: a read gives no more, as with edge-triggered readiness the rest may come later.
  std::size_t announced_ = 0;
  bool end_announced_ = false;
  bool resets_ = false;
  runtime::Timer look_again_;
};

runtime::task<Result<std::unique_ptr<runtime::Stream>>> connect_tcp(SimRuntime& runtime, runtime::Endpoint to,
                                                                    runtime::ConnectOptions options,
                                                                    runtime::Cancellation* cancel);
Result<std::unique_ptr<runtime::Listener>> listen_tcp(SimRuntime& runtime, runtime::Endpoint at,
                                                      runtime::ListenOptions options);

}  // namespace bellwether::sim
