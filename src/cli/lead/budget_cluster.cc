// bellwether budget --of-cluster: the times until the nodes of a cluster detect the death of a node, and until another
// node leads.

#include <algorithm>
#include <cstdio>

#include "cli/cluster_choice.h"
#include "cli/lead/budget.h"
#include "cli/verb.h"
#include "cluster/membership/profile.h"
#include "cluster/node/node_format.h"
#include "core/base/units.h"
#include "election/lease_timing.h"
#include "election/quorum/quorum_timing.h"
#include "election/store/store_url.h"
#include "election/vote/vote_timing.h"

namespace bellwether::cli {
namespace {

using election::Sum;

constexpr std::size_t kUsualVoters = 5;
constexpr std::size_t kMaxVoters = 9;
constexpr std::size_t kMaxScoredVoters = 100;
// The assumption of the profiles.
constexpr Duration kNear = Duration::millis(2);
constexpr Duration kFar = Duration::millis(250);

// The facts of a cluster that decide its times.
struct Shape {
  std::string profile;
  membership::Figures figures;
  std::size_t nodes = 0;
  std::size_t voters = 0;  // 0: a store decides
  std::string store;
  Duration lease;                        // of that store
  std::optional<vote::VoteTiming> vote;  // of a vote by scores
  Duration round_trip;
  Duration sync = quorum::QuorumBudgetInput().sync;
};

// A given profile replaces the file's.
Status read_file(const BudgetOptions& options, Shape& shape) {
  std::vector<std::string> over;
  if (!options.profile.empty()) over.push_back("profile=" + options.profile);
  const ReadSettings read = read_node_settings({.file = options.file, .assignments = {}}, over);
  if (!read.config) return fail(Errc::kInvalid, "no node could start with '{}'", options.file);
  if (!options.elects.empty() && options.elects != read.config->leadership) {
    return fail(Errc::kInvalid, "--via {}:{}: 'leadership' is '{}' there; give --of-cluster --config {}",
                options.elects, options.file, read.config->leadership, options.file);
  }
  shape.profile = read.config->profile;
  if (read.config->votes_by_score()) shape.vote = read.config->vote.timing;
  shape.voters = read.config->voters.size();
  if (read.config->delegates()) {
    shape.store = read.config->leadership;
    shape.lease = read.config->store_lease;
  }
  return {};
}

Result<Shape> shape_of(const BudgetOptions& options) {
  Shape shape{.profile = "lan", .figures = {}, .store = {}};
  if (!options.file.empty()) {
    BW_RETURN_IF_ERROR(read_file(options, shape));
  }
  if (!options.profile.empty()) shape.profile = options.profile;
  const auto figures = membership::figures_named(shape.profile);
  if (!figures) {
    return fail(Errc::kInvalid, "--of-cluster: there is no profile '{}'; there are lan, wan and local", shape.profile);
  }
  shape.figures = *figures;
  if (options.via == cluster::kVote) {
    shape.store.clear();
    shape.vote = shape.profile == "wan" ? vote::VoteTiming::standard() : vote::VoteTiming::lan();
  } else if (!options.via.empty()) {
    shape.store = options.via;
    shape.lease = cluster::usual_store_lease(shape.profile);
  }
  if (options.lease) shape.lease = *options.lease;
  if (!shape.store.empty()) {
    if (options.voters) return fail(Errc::kInvalid, "--voters: where a store decides who leads, nobody votes");
    const Status good = election::LeaseTiming::of(shape.lease).validate();
    if (!good) return fail(Errc::kInvalid, "the lease {}: {}", format_duration(shape.lease), good.error().message);
    shape.voters = 0;
  } else {
    if (options.lease) return fail(Errc::kInvalid, "--ttl is of stores: the lease of votes is that of the profile");
    shape.voters = options.voters.value_or(shape.voters == 0 ? kUsualVoters : shape.voters);
    const std::size_t most = shape.vote ? kMaxScoredVoters : kMaxVoters;
    if (shape.voters == 0 || shape.voters > most) {
      return fail(Errc::kInvalid, "--voters is from 1 to {}", most);
    }
  }
  // The voters of a group for one command are mostly all of its nodes.
  const std::size_t least = options.elects.empty() ? kUsualVoters : 2;
  shape.nodes = options.nodes.value_or(std::max(shape.voters, least));
  if (shape.nodes < std::max<std::size_t>(shape.voters, 2) || shape.nodes > shape.figures.max_members) {
    return fail(Errc::kInvalid,
                fmt::format("--nodes is from 2, or the number of voters, to {}", shape.figures.max_members));
  }
  shape.round_trip = options.round_trip.value_or(shape.profile == "wan" ? kFar : kNear);
  if (options.sync) shape.sync = *options.sync;
  return shape;
}

// When it is known that a node is gone.
Fields detection_of(const Shape& shape) {
  const membership::DetectionBudget budget = membership::detection_budget(shape.figures, shape.nodes);
  const auto from = [&](const char* name, Duration first_probe) {
    Sum sum;
    sum.add(name, first_probe);
    sum.add("verdict", budget.verdict);
    sum.add("suspicion", budget.suspicion);
    return sum;
  };
  const Sum first = from("2 x interval", budget.first_probe_p99);  // 99 of 100
  Sum all = first;
  all.add("spread", budget.spread);
  return {sum_of("to the first, worst", "first/worst", first),
          sum_of("to the first, typical", "first/typical", from("2 x interval / e", budget.first_probe_mean)),
          sum_of("to all, worst", "all/worst", all)};
}

Fields sums_of_votes(const election::GroupBudget& budget) {
  return {sum_of("crash, worst", "crash/worst", budget.crash_worst),
          sum_of("crash, typical", "crash/typical", budget.crash_typical),
          sum_of("hand-over", "transfer", budget.transfer),
          sum_of("cut off, has stopped", "cut_off_stops", budget.cut_off_stops)};
}

election::FailoverBudget store_budget(const Shape& shape, Duration operation) {
  const auto url = store::parse_store_url(shape.store);
  const auto timing = election::LeaseTiming::of(shape.lease);
  return election::budget_of({.mechanism = election::mechanism_of(url ? url->scheme : std::string()),
                              .poll = timing.retry,
                              .lease = timing.lease,
                              .renew_every = timing.renew_every,
                              .operation = operation});
}

}  // namespace

int budget_of_cluster(const BudgetOptions& options, Duration operation) {
  const auto shape = shape_of(options);
  if (!shape) return refuse("budget", shape.error().message);
  const bool votes = shape->store.empty();
  const Fields known = detection_of(*shape);
  Fields elected;
  if (shape->vote) {
    elected = sums_of_votes(vote::budget_of(*shape->vote, {.round_trip = shape->round_trip, .sync = shape->sync}));
  } else if (votes) {
    elected = sums_of_votes(
        quorum::budget_of(node::timing_named(shape->profile),
                          {.members = shape->voters, .round_trip = shape->round_trip, .sync = shape->sync}));
  } else {
    const election::FailoverBudget of_store = store_budget(*shape, operation);
    elected = sums_of(of_store);
    elected.push_back(told("transfer", sum_of("", "", of_store.release_worst).value));
  }
  if (options.json) {
    return print_json({told("format", "bellwether.budget/1"), told("profile", shape->profile),
                       told("nodes", shape->nodes), told("voters", votes ? Value(shape->voters) : Value()),
                       told("decided_by", shape->vote ? cluster::kVote
                                          : votes     ? cluster::kQuorum
                                                      : shape->store),
                       told("membership", object_of(known)), told("election", object_of(elected))});
  }
  std::printf("Profile %s, %zu nodes. A node that falls silent is known to be dead:\n", shape->profile.c_str(),
              shape->nodes);
  print_sums(known);
  std::printf("  One whose machine refuses a new connection is known to be dead at once.\n\n");
  if (votes) {
    std::printf("%zu voters%s, round trip %s, disk %s. The cluster is without a leader:\n", shape->voters,
                shape->vote ? " by scores" : "", format_duration(shape->round_trip).c_str(),
                format_duration(shape->sync).c_str());
  } else {
    std::printf("%s decides who leads, lease %s, an operation %s. The cluster is without a leader:\n",
                shape->store.c_str(), format_duration(shape->lease).c_str(), format_duration(operation).c_str());
  }
  print_sums(elected);
  return kExitOk;
}

}  // namespace bellwether::cli
