// A forwarder of TCP connections that can be cut: what stands between a contender of a drill and the store. One thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"

namespace bellwether::lead {

class Forwarder {
 public:
  // Listens on a free port of this machine. `target` may be a name. `runtime` must outlive it.
  static runtime::task<Result<std::unique_ptr<Forwarder>>> start(runtime::Runtime& runtime, std::string host,
                                                                 uint16_t port);
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;
  ~Forwarder();

  uint16_t port() const { return listener_->local().port; }
  // From now on nothing passes, and nobody is told.
  void cut() { cut_ = true; }
  // Everything passes again. Connections that lost something are broken, as after a long partition.
  void mend();
  runtime::task<void> stop();

 private:
  struct Pair;
  Forwarder(runtime::Runtime& runtime, runtime::Endpoint target, std::unique_ptr<runtime::Listener> listener);
  runtime::task<void> accept();
  runtime::task<void> carry(std::unique_ptr<runtime::Stream> client);
  runtime::task<void> pump(Pair& pair, runtime::Stream& from, runtime::Stream& to);
  runtime::task<bool> write(runtime::Stream& to, std::string bytes);

  runtime::Runtime& runtime_;
  runtime::Endpoint target_;
  std::unique_ptr<runtime::Listener> listener_;
  bool cut_ = false;
  std::list<Pair*> pairs_;
  runtime::Scope scope_;
};

}  // namespace bellwether::lead
