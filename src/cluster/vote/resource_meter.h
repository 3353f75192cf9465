// Reads what the system says of this machine and of its control groups, again and again (machine_load.h). One thread,
// that of its runtime.
#pragma once

#include <string>

#include "cluster/vote/machine_load.h"
#include "cluster/vote/vote_driver.h"
#include "core/runtime/runtime.h"

namespace bellwether::cluster {

class ResourceMeter final : public ResourceSource {
 public:
  // `folder`: on the disk that counts. The runtime must outlive it.
  ResourceMeter(runtime::Runtime& runtime, std::string folder) : runtime_(runtime), folder_(std::move(folder)) {}
  ResourceMeter(const ResourceMeter&) = delete;
  ResourceMeter& operator=(const ResourceMeter&) = delete;

  // About every second, until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel) override;
  vote::Resources resources() const override { return load_.resources(); }
  MachineSize size() const override { return size_; }

 private:
  runtime::task<MachineTexts> read_all();

  runtime::Runtime& runtime_;
  std::string folder_;
  MachineLoad load_;
  MachineSize size_;
};

}  // namespace bellwether::cluster
