// The contenders of a drill: processes of this very program that run one loop of a policy sheet, each with a way to its
// store that can be cut.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lead/drill/drill.h"
#include "lead/drill/forwarder.h"
#include "lead/drill/targets.h"
#include "runtime/child.h"

namespace bellwether::lead {

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
