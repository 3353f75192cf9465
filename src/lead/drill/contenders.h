// The contenders of a drill: processes of this program that run one loop of a policy sheet, each with a way to its
// store that can be cut.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/runtime/child.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "lead/drill/drill.h"

namespace bellwether::lead {

// A forwarder of TCP connections that can be cut, between a contender of a drill and the store. One thread.
class Forwarder {
 public:
  // Listens on a free port of this machine. `target` may be a name. `runtime` must outlive it.
  static runtime::task<Result<std::unique_ptr<Forwarder>>> start(runtime::Runtime& runtime, std::string host,
                                                                 uint16_t port);
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;
  ~Forwarder();

  uint16_t port() const { return listener_->local().port; }
  // From now on no data passes, and neither end gets a notice.
  void cut() { cut_ = true; }
  // Lets all data pass again. Connections that lost data are broken, as after a long partition.
  void mend();
  runtime::task<void> stop();

 private:
  struct Pair;
  Forwarder(runtime::Runtime& runtime, runtime::Endpoint target, std::unique_ptr<runtime::Listener> listener);
  runtime::task<void> accept();
  runtime::task<void> carry(std::unique_ptr<runtime::Stream> client);
  runtime::task<void> pump(Pair& pair, runtime::Stream& from, runtime::Stream& to);

  runtime::Runtime& runtime_;
  runtime::Endpoint target_;
  std::unique_ptr<runtime::Listener> listener_;
  bool cut_ = false;
  std::list<Pair*> pairs_;
  runtime::Scope scope_;
};

class Contenders final : public DrillTargets {
 public:
  // `folder`: for the files of the drill; the acts are in act_file(). Both must outlive it.
  Contenders(runtime::Runtime& runtime, const DrillOptions& options, std::string folder)
      : runtime_(runtime), options_(options), folder_(std::move(folder)) {}

  runtime::task<Status> start() override;
  runtime::task<Status> break_one(std::string holder, uint64_t epoch) override;
  runtime::task<Status> repair() override;
  runtime::task<void> stop() override;
  std::string act_file() const override { return folder_ + "/acts"; }

 private:
  struct One {
    std::string holder;
    std::string store;  // URL
    std::unique_ptr<Forwarder> way;
    std::unique_ptr<runtime::Child> process;
    bool broken = false;
  };
  runtime::task<Status> open_way(One& one);
  runtime::task<Status> launch(One& one);
  std::string tick_command() const;

  runtime::Runtime& runtime_;
  const DrillOptions& options_;
  std::string folder_;
  std::vector<One> all_;
  std::size_t launched_ = 0;
};

// The URL with its only host replaced by a port of this machine; kUnsupported where it has none or several.
Result<std::string> redirected(const std::string& url, uint16_t port);

}  // namespace bellwether::lead
