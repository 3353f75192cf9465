// A simulated manager: its vote, the registers and copies of jobs that it keeps, and the jobs that it has in hand.
#pragma once

#include <memory>
#include <string>

#include "cluster/copies/copies.h"
#include "cluster/copies/copy_keeper.h"
#include "cluster/election_driver.h"
#include "cluster/jobs/job_keeper.h"
#include "cluster/jobs/quorum_job_store.h"
#include "node/manager/manager_service.h"
#include "sim/datacenter/member_process.h"

namespace bellwether::sim {

inline constexpr const char* kVotes = "election/record";

std::unique_ptr<MemberRole> make_manager(const MemberParts& parts);

class SimManager final : public MemberRole,
                         private cluster::ElectionDriver::Listener,
                         private jobs::JobKeeper::Listener,
                         private copies::CopyKeeper::Listener,
                         private node::ManagerService::Listener {
 public:
  explicit SimManager(const MemberParts& parts);
  SimManager(const SimManager&) = delete;
  SimManager& operator=(const SimManager&) = delete;

  runtime::task<void> work(runtime::Cancellation* cancel) override;
  runtime::task<void> wind_up(Instant deadline, runtime::Cancellation* cancel) override;
  void on_gone(const std::string& name, const std::string& why) override { service_.on_worker_gone(name, why); }
  void on_there(const std::string& name) override { service_.on_worker_back(name); }
  void on_suspected(const std::string& name) override;
  std::string leader_name() const override { return leader_; }
  bool leads() const override;
  SimManager* manager() override { return this; }

  const jobs::JobKeeper& keeper() const { return job_keeper_; }
  const node::ManagerService& service() const { return service_; }
  // One of its disks does nothing any more until it is opened again.
  bool disk_is_broken() const { return votes_.broken() || kept_.broken(); }
  // Fills in the answer, for somebody who looks from outside.
  void hold(Inquest* inquest);

 private:
  void on_elected(const election::TermOfOffice& term) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) override;
  void on_note(bool warning, const std::string& text) override;
  void on_job_says(const std::string& job, const std::string& event, const std::string& text, bool warning) override;
  runtime::task<void> serve(runtime::Cancellation* cancel);
  static runtime::task<void> answer(SimManager* self, Inquest* inquest);
  void say(const std::string& text) { parts_.place.stage->watcher->saw(parts_.place, text); }

  MemberParts parts_;
  SimKv votes_;
  SimKv kept_;
  cluster::ElectionDriver election_;
  jobs::JobLines job_lines_;
  jobs::JobKeeper job_keeper_;
  copies::CopyLines copy_lines_;
  copies::CopyKeeper copy_keeper_;
  copies::Copies copies_;
  jobs::QuorumJobStore store_;
  node::ManagerService service_;
  runtime::Cancellation winding_up_;
  election::TermOfOffice term_;
  std::string leader_;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::sim
