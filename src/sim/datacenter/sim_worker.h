// A simulated worker: the product's, with shares that are a model (sim_shares.h).
#pragma once

#include <memory>
#include <string>

#include "node/worker/worker_service.h"
#include "sim/datacenter/member_process.h"
#include "sim/datacenter/sim_shares.h"

namespace bellwether::sim {

std::unique_ptr<MemberRole> make_worker(const MemberParts& parts);

class SimWorker final : public MemberRole, private node::WorkerService::Listener {
 public:
  explicit SimWorker(const MemberParts& parts);
  SimWorker(const SimWorker&) = delete;
  SimWorker& operator=(const SimWorker&) = delete;

  runtime::task<void> work(runtime::Cancellation* cancel) override;
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  SimWorker* worker() override { return this; }

  const node::WorkerService& service() const { return service_; }
  // Why it has something to do, or to keep; empty: it has not.
  std::string business() const;

 private:
  void on_worker_note(bool warning, const std::string& text) override;
  static runtime::task<void> feel(SimWorker* self, runtime::Cancellation* cancel);

  MemberParts parts_;
  SimShares shares_;
  node::WorkerService service_;
};

}  // namespace bellwether::sim
