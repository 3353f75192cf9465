// Shares as child processes: this executable again, with the arguments `share --socket N`, which must lead to
// share_main(). One thread, that of the runtime.
#pragma once

#include <memory>

#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "jobs/share/share_process.h"

namespace bellwether::node {

// Outlives its shares.
class ChildShares final : public ShareFactory {
 public:
  explicit ChildShares(runtime::Runtime& runtime) : runtime_(runtime) {}
  std::unique_ptr<ShareProcess> start(ChildOrder order, ShareProcess::Listener& listener) override;

 private:
  runtime::Runtime& runtime_;
  runtime::Scope starting_;  // processes on their way, also those of shares that are gone already
};

}  // namespace bellwether::node
