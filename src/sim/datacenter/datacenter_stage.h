// The inputs of the processes of a simulated datacenter, and their outputs as seen from outside. It outlives them all.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/callback.h"
#include "core/base/host_port.h"
#include "core/base/prng.h"
#include "jobs/dispatch/job_record.h"
#include "load/codec/window_codec.h"
#include "load/plan/plan.h"
#include "sim/datacenter/sim_target.h"
#include "sim/harness/faulty_world.h"

namespace bellwether::sim {

// Well-known ways to lose or to double measured data.
inline constexpr auto kDatacenterMistakes = std::to_array<Mistake>({
    {.name = "blobs-not-durable", .what = "managers lose their copies of job statistics in a power failure", .seed = 9},
    {"tells-twice", "an assignment reports some of its seconds twice"},
    {"loses-second", "an assignment does not report some of its seconds"},
    {.name = "never-dies", .what = "the process of an assignment survives SIGKILL", .only_stops = true},
    {"loses-values", "assignments begin without the values of other workflows"},
    {.name = "begins-anew", .what = "the successor of an assignment repeats all of its iterations", .seed = 82},
    {.name = "makes-on", .what = "contexts are generated after the end of their leader's term", .seed = 39},
    {"outlives-permit", "the process of an assignment does not look at its permit", "datacenter-fence"},
    {.name = "permit-from-arrival",
     .what = "a permit lasts from when it arrives, not from when it was asked for",
     .world = "datacenter-fence",
     .seed = 49},
    {"owner-does-not-wait", "an owner moves parts before the permits that it gave have ended", "datacenter-fence"},
    {.name = "forgets-denials",
     .what = "a witness denies and gives permits all the same",
     .world = "datacenter-fence",
     .seed = 19},
    {.name = "follower-starts-unconfirmed",
     .what = "a follower begins before the assignment before it has confirmed its end",
     .world = "datacenter-fence",
     .seed = 315},
    {"offers-unkept", "an owner offers assignments before a majority keeps its record of them", "datacenter-pair"},
    {"gives-up-unkept", "an owner gives assignments up before a majority keeps its record of it", "datacenter-pair"},
    {"counts-twice", "a manager counts some of the reports twice"},
});

// One second of some parts of a workflow, as an assignment has reported it to its worker.
struct ToldSecond {
  uint64_t second = 0;  // of the workflow's clock
  std::string window;
};

// One assignment in a separate process.
struct AssignmentStory {
  std::string worker;
  uint64_t life = 0;  // of the worker
  uint16_t workflow = 0;
  dispatch::PartRange parts;
  bool begun = false;
  bool resumed = false;
  Duration begins_at;  // on the workflow's clock
  bool crashed = false;
  std::vector<ToldSecond> told;
  std::vector<Sent> sent;             // to the target
  uint64_t iterations = 0;            // that have begun, where they are counted
  std::vector<plan::Given> given;     // values of other workflows, with which it was prepared
  std::vector<std::string> provided;  // for others, when it ended
};

// One job: its scenario, its client's view, and the history of its assignments.
struct JobStory {
  std::string id;
  uint64_t number = 0;  // in the upper half of its seed
  std::string bundle;
  std::unique_ptr<plan::Plan> plan;
  dispatch::JobSpec spec;
  ingest::Shape shape;
  Duration submit_after;                 // the start of its client
  std::optional<Duration> cancel_after;  // its acknowledgement
  dispatch::StopHow cancel_how = dispatch::StopHow::kAtOnce;
  std::vector<std::string> cancel_only;  // these workflows; empty: all

  bool acknowledged = false;
  bool cancelled = false;  // a manager has noted it
  std::string refused;
  bool followed = false;       // to its end
  dispatch::JobRecord record;  // the last that its client has seen
  std::string totals;          // and its counts

  std::map<uint32_t, AssignmentStory> assignments;
};

// A requested context.
struct ContextStory {
  std::string payload;
  std::optional<WallTime> submitted_at;  // by the clock of the first client
  bool accepted = false;
  bool made = false;
  std::string trouble;  // the last report about it
};

struct DatacenterStage {
  std::size_t mistake = 0;  // a row of kDatacenterMistakes, counted from 1
  bool is(MistakeIn<kDatacenterMistakes> one) const { return mistake == one.number; }
  std::vector<HostPort> managers;
  std::vector<std::unique_ptr<JobStory>> jobs;
  std::vector<ContextStory> contexts;
  bool assignments_fail = false;  // some assignments fail
  uint32_t owners = 0;
  std::string violation;          // that a process has seen itself
  Callback<void()> on_take_over;  // called when an assignment is ordered to take over from another one
};

}  // namespace bellwether::sim
