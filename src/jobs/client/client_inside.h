// What the commands of this product use beside bellwether/client.h: scenarios that were read already, and the totals
// that their screens and reports are made from.
#pragma once

#include "bellwether/client.h"
#include "jobs/client/client_following.h"
#include "load/plan/load.h"
#include "load/report/run_report.h"

namespace bellwether::client::detail {

struct Inside {
  // Both give a job that is not followed yet.
  static Outcome<Job> submit(Client& client, const plan::Bundled& bundled, const Submission& submission,
                             Listener* listener, TotalsListener* totals);
  static Outcome<Job> attach(Client& client, const std::string& job, Listener* listener, TotalsListener* totals);
  // From now on the listeners are told.
  static void follow(Job& job);
  static const plan::Plan& plan(const Job& job);
  // The name of the cluster that is asked.
  static const std::string& cluster(const Client& client);
  // REQUIRES that the job has given its result, and lives as long as that.
  static const report::RunReport& report(const Job& job);
};

}  // namespace bellwether::client::detail
