// The orders of a job's owner to its workers, each sent until the worker has it or the order is obsolete. Part of
// JobCoordinator, to whose kernel the answers go. One thread.
#pragma once

#include <set>
#include <string>

#include "cluster/net/peer_links.h"
#include "core/base/result.h"
#include "core/runtime/task.h"
#include "jobs/dispatch/job_kernel.h"
#include "jobs/dispatch/messages.h"

namespace bellwether::node {

class JobCoordinator;

class JobOrders {
 public:
  // The coroutines run in the scope of `owner`, which must end before this.
  explicit JobOrders(JobCoordinator& owner) : owner_(owner) {}

  runtime::task<void> offer(dispatch::AssignmentId assignment);
  runtime::task<void> begin(dispatch::job_effect::Begin begin);
  bool is_beginning(dispatch::AssignmentId assignment) const { return beginning_.contains(assignment); }
  runtime::task<void> take_over(dispatch::job_effect::TakeOver taking);
  runtime::task<void> hand_over(dispatch::AssignmentId assignment);
  runtime::task<void> stop(dispatch::job_effect::Stop stop);
  runtime::task<void> scale(dispatch::AssignmentId assignment);
  runtime::task<void> deny(dispatch::job_effect::Deny deny, dispatch::Witness witness);
  // Asks a worker what it runs of the job, for a new owner.
  runtime::task<void> adopt(std::string worker);
  void retire_all();

 private:
  // Offers it until it is ready or refused: a worker may have to fetch files first.
  runtime::task<Result<dispatch::Response>> offer_until_answered(dispatch::AssignmentId id, std::string worker,
                                                                 dispatch::Offer message);
  runtime::task<void> keep_ready(dispatch::AssignmentId id, std::string worker, dispatch::Offer message);
  runtime::task<void> retire(std::string worker);
  runtime::task<Result<dispatch::Response>> tell(
      std::string worker, dispatch::JobMessage message, Duration timeout,
      cluster::PeerLinks::WhenBusy when_busy = cluster::PeerLinks::WhenBusy::kWait);
  // Sends the result of make() (nothing: it is obsolete) until take(answer) says that it is done.
  struct Said {
    std::string worker;
    dispatch::JobMessage message;
  };
  template <class Make, class Take>
  runtime::task<void> insist(Make make, Take take);

  JobCoordinator& owner_;
  std::set<dispatch::AssignmentId> beginning_;
  std::set<dispatch::AssignmentId> scaling_;
};

}  // namespace bellwether::node
