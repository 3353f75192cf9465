// Load beside a drill, by `bellwether run` of a scenario: from the first round to the last.
#pragma once

#include <memory>
#include <string>

#include "lead/drill/drill.h"
#include "runtime/child.h"
#include "runtime/runtime.h"

namespace bellwether::lead {

class OwnLoad {
 public:
  // `folder`: where its result file goes. `runtime` must outlive it.
  OwnLoad(runtime::Runtime& runtime, std::string scenario, std::string folder)
      : runtime_(runtime), scenario_(std::move(scenario)), result_(std::move(folder) + "/load.json") {}

  runtime::task<Status> start();
  // Ends the load in good order, and says what it did. An error is in there.
  runtime::task<DrillLoad> stop();

 private:
  runtime::Runtime& runtime_;
  std::string scenario_;
  std::string result_;
  std::unique_ptr<runtime::Child> process_;
};

}  // namespace bellwether::lead
