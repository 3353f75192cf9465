// `bellwether lead`: runs a command only while this process leads a key, and ends it before another process can lead.
// The parts: a campaign (campaign.h), the command under its guardian (guarded_command.h), hooks, a health command, and
// a journal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/journal/journal.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/elector.h"
#include "election/lease_timing.h"

namespace bellwether::lead {

class Campaign;

struct LeadOptions {
  std::string via;  // the place of the election: a store's URL, vote:FILE or quorum:FILE
  std::string key;
  std::string holder;  // our name; empty: host:pid
  election::LeaseTiming timing;
  std::string region;
  Duration cross_region_wait;
  bool trust_empty = false;
  bool keep_epochs = true;    // remember on this machine which epochs were seen
  bool back_off = false;      // wait between elections that follow each other
  bool flap_damping = false;  // after many changes of leader, no candidate stands for a while
  bool may_mint_id = true;    // false: without a configured id the process does not start
  // The lease follows the duration of renewals, between these bounds.
  std::optional<election::AdaptiveSettings> lease_follows;

  std::vector<std::string> command;
  bool observe = false;               // no campaign, no command: only report the leader
  bool once = false;                  // end after the first term, however it ended
  bool nonblock = false;              // do not wait when another process leads
  std::optional<Duration> wait_most;  // for becoming leader
  int conflict_exit_code = 1;
  bool close_lock = false;  // do not hand the descriptor that holds a host lock to the command
  int stop_signal = 15;
  std::optional<Duration>
      drain_most;  // for the command to stop in good order; else as long as the lease can be renewed

  std::string on_elected;  // shell commands
  std::string on_deposed;
  std::string on_leader_changed;
  std::string health_command;
  Duration health_every = Duration::seconds(5);
  std::optional<Duration>
      progress_within;     // the longest time between two writes of the command to BELLWETHER_PROGRESS_FD
  std::string disk_probe;  // a folder whose disk must answer

  std::string audit_file;
  std::string metrics_at;  // HOST:PORT of a page of metrics; empty: none
  bool json = false;
  int verbosity = 1;  // 0 quiet, 1 important events, 2 every decision
};

// Runs until the command has ended, a signal came, or waiting is over. The exit code of the process; the command's own
// where it ended by itself. REQUIRES that no other thread runs yet.
int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options);
// The same for an election without a store. This opens the audit log of `journal`.
int run_leader(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal, Campaign& campaign);

}  // namespace bellwether::lead
