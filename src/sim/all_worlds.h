// The worlds of this folder, and what they measure.
#pragma once

#include <cstdint>
#include <span>

#include "election/vote/vote_timing.h"
#include "sim/group/group_work.h"
#include "sim/harness/worlds.h"

namespace bellwether::sim {

// A world of three to five whole nodes: the product's drivers, links and kernels on a simulated network with simulated
// disks and clocks. While everything breaks, a checker watches that no term has two leaders and no two may act at once.
// When all is whole, the nodes must agree on the members and the leader, keep to that, and have another leader soon
// after a power failure of this one.
//
// Only the assumptions of docs/contributing/election.md do not break. A disk keeps what it has confirmed or is seen to
// be another one. Fewer than half of the voters lose theirs. Clocks keep within the declared drift.
WorldRow cluster_world();

// A world of a whole datacenter: three to five managers, up to two hundred workers and a client, each the product's
// services, drivers, links and kernels on a simulated machine, and jobs of real scenarios. Only the load itself is a
// model (datacenter/sim_assignments.h), so that every sample is known. Everything breaks as one seed says; then all is
// made whole, and these rules must hold (datacenter/datacenter_checker.h):
//
//   - data that was measured and accepted is in the final totals of its job once, bit for bit, and what a part lacks
//     lies in a loss of the job record that names the worker of that part;
//   - every acknowledged job has ended, all who ask about it get the same answer, no core is taken and no process of an
//     assignment is left;
//   - no owner of a job ever has a part of it run twice, and the target gets no part from two workers at once; the job
//     record lists what the target did not get (datacenter/sim_target.h).
//
// In some of the worlds only managers break, for a while that is shorter than a worker's patience. There, nothing is
// lost and every job completes.
//
// A world of up to forty workers, most of a handful; a world of up to two hundred, with jobs for all their cores; and
// one with a single fault, and one with two faults at once, while a single job runs: the lost load is bounded there.
std::span<const WorldRow> datacenter_worlds();

// A world of candidates for one key, small and fast enough for millions of runs: the product's Elector in each of them,
// a model of a store between them (store_model.h), and all faults drawn from one seed. In the end a candidate must lead
// within the budget, stay, and have a timely successor after a crash.
//
// It leaves out parts of the worlds that run the whole runtime (machine_world.h): messages are moved as values, without
// TCP and without a disk under the store. It keeps the causes of failed elections: delays, losses, pauses, clocks,
// crashes between any two steps, and stores that come back with less than they had. A world for each kind of store.
std::span<const WorldRow> leadership_worlds();

// A world of members with all faults drawn from one seed: crashes, restarts with memory, with older memory and without,
// leaves, two processes under one name, stalls, full and one-way partitions, bridges, rings of majorities, flapping
// links, swizzle-clog, loss, duplicates, and clocks that run at different rates. Only the owner of an incarnation ever
// raises it. When the world is whole again, all views must agree with it in time, and declare no living member dead any
// more.
WorldRow membership_world();

// The anomaly grid: `seeds` selects the portion to run, 1000 and more the whole, less a part spread over it. And the
// time until groups of 3 to 10,000 see a crash, with the cost of an idle group of 1,000.
std::span<const Measurement> membership_measurements();

// A world of members that elect a leader among them, small and fast enough for millions of runs: the product's
// QuorumElector in each, with networks, disks and clocks that break as one seed says.
//
// Only the assumptions of the safety argument (docs/contributing/election.md) do not break. A disk keeps what it has
// confirmed, or its member meets another one that sees the loss. Clocks keep within the declared drift. Fewer than half
// of the members lose their records.
WorldRow quorum_world();

// Of a healthy group of `members` in the LAN profile.
Takeover measure_takeover(uint64_t seed, std::size_t members);

// The needless changes of the leader in `time` with a healthy leader, while the largest permitted number of other
// voters stalls again and again and suspects every member.
struct QuorumCalm {
  uint32_t changes = 0;
  uint64_t stalls = 0;
  uint64_t suspicions = 0;
};
QuorumCalm live_under_stress(uint64_t seed, Duration time);

// A world of nodes, some of which keep the register of one job: the product's acceptor and owner in each, with
// networks, disks and clocks that break as one seed says, while all nodes want to own the job, write it and read it. In
// half of the worlds operators change the set of replicas meanwhile, and machines are lost with their disks. A checker
// compares every answer with the history. Writes and reads must take effect one after the other, each between its
// question and its answer (linearizability, Herlihy and Wing, 1990). No two owners may have one fence, and no two may
// believe at once that they hold the job. A set of replicas has one number. In the end everything is made whole, no
// change is under way, and a node must own the job.
WorldRow register_world();

// A world of nodes that elect an admin by scored votes, small and fast enough for millions of runs: the product's
// VoteElector in each, with networks, disks and clocks that break as one seed says, and scores that change and lie.
//
// Only the assumptions of the safety argument (docs/advanced/scored-votes.md) do not break. A disk keeps what it has
// confirmed, or its node meets another one that sees the loss. Clocks keep within the declared drift. Fewer than half
// of the nodes lose their records. No node with a key votes twice.
WorldRow vote_world();

// Of a healthy group of `nodes`.
Takeover measure_vote_takeover(uint64_t seed, std::size_t nodes, const vote::VoteTiming& timing);

// The changes of the admin of a healthy group of five in `time` while every score goes up and down.
uint32_t changes_under_noise(uint64_t seed, Duration time);

}  // namespace bellwether::sim
