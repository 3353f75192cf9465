#include "cli/budget_cluster.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/node_settings.h"
#include "cluster/membership/profile.h"
#include "cluster/node/node_words.h"
#include "core/base/units.h"
#include "election/lease_timing.h"
#include "election/quorum/quorum_timing.h"
#include "election/store/store_url.h"
#include "election/vote/vote_timing.h"

namespace bellwether::cli {
namespace {

using election::Sum;
using Json = nlohmann::ordered_json;

constexpr std::size_t kUsualVoters = 5;
constexpr std::size_t kMostVoters = 9;
constexpr std::size_t kMostScoredVoters = 100;
// What the profiles are made for.
constexpr Duration kNear = Duration::millis(2);
constexpr Duration kFar = Duration::millis(250);

// A cluster, as far as its times depend on it.
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

// A profile that is given takes the place of the file's.
Status read_file(const ClusterBudgetOptions& options, Shape& shape) {
  std::vector<std::string> over;
  if (!options.profile.empty()) over.push_back("profile=" + options.profile);
  const ReadSettings read = read_node_settings({.file = options.file, .assignments = {}}, over);
  if (!read.config) return fail(Errc::kInvalid, "no node could start with '" + options.file + "'");
  if (!options.elects.empty() && options.elects != read.config->leadership) {
    return fail(Errc::kInvalid, "--via " + options.elects + ":" + options.file + ": 'leadership' is '" +
                                    read.config->leadership + "' there; give --cluster --config " + options.file);
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

Result<Shape> shape_of(const ClusterBudgetOptions& options) {
  Shape shape{.profile = "lan", .figures = {}, .store = {}};
  if (!options.file.empty()) {
    BW_RETURN_IF_ERROR(read_file(options, shape));
  }
  if (!options.profile.empty()) shape.profile = options.profile;
  const auto figures = membership::figures_named(shape.profile);
  if (!figures) {
    return fail(Errc::kInvalid, "--cluster: there is no profile '" + shape.profile + "'; there are lan, wan and local");
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
    if (!good) return fail(Errc::kInvalid, "the lease " + format_duration(shape.lease) + ": " + good.error().message);
    shape.voters = 0;
  } else {
    if (options.lease) return fail(Errc::kInvalid, "--ttl is of stores: the lease of votes is that of the profile");
    shape.voters = options.voters.value_or(shape.voters == 0 ? kUsualVoters : shape.voters);
    const std::size_t most = shape.vote ? kMostScoredVoters : kMostVoters;
    if (shape.voters == 0 || shape.voters > most) {
      return fail(Errc::kInvalid, "--voters is from 1 to " + std::to_string(most));
    }
  }
  shape.nodes = options.nodes.value_or(std::max(shape.voters, kUsualVoters));
  if (shape.nodes < std::max<std::size_t>(shape.voters, 2) || shape.nodes > shape.figures.max_members) {
    return fail(Errc::kInvalid,
                "--nodes is from 2, or the number of voters, to " + std::to_string(shape.figures.max_members));
  }
  shape.round_trip = options.round_trip.value_or(shape.profile == "wan" ? kFar : kNear);
  if (options.sync) shape.sync = *options.sync;
  return shape;
}

struct Detection {
  Sum first_worst;  // 99 of 100
  Sum first_typical;
  Sum all_worst;
};

Detection detection_of(const Shape& shape) {
  const membership::DetectionBudget budget = membership::detection_budget(shape.figures, shape.nodes);
  Detection out;
  const auto rest = [&](Sum& sum) {
    sum.add("verdict", budget.verdict);
    sum.add("suspicion", budget.suspicion);
  };
  out.first_worst.add("2 x interval", budget.first_probe_p99);
  rest(out.first_worst);
  out.first_typical.add("2 x interval / e", budget.first_probe_mean);
  rest(out.first_typical);
  out.all_worst = out.first_worst;
  out.all_worst.add("spread", budget.spread);
  return out;
}

Json budget_cluster_to_json(const Sum& sum) {
  return {{"seconds", seconds(sum.total)}, {"formula", sum.formula()}, {"arithmetic", sum.arithmetic()}};
}

// Of votes, by scores or not.
template <class Budget>
Json votes_json(const Budget& budget) {
  return {{"crash",
           {{"worst", budget_cluster_to_json(budget.crash_worst)},
            {"typical", budget_cluster_to_json(budget.crash_typical)}}},
          {"transfer", budget_cluster_to_json(budget.transfer)},
          {"cut_off_stops", budget_cluster_to_json(budget.cut_off_stops)}};
}

Json budget_cluster_to_json(const election::FailoverBudget& budget) {
  return {{"crash",
           {{"worst", budget_cluster_to_json(budget.crash_worst)},
            {"typical", budget_cluster_to_json(budget.crash_typical)}}},
          {"transfer", budget_cluster_to_json(budget.release_worst)}};
}

template <class Budget>
void print_votes(const Budget& budget) {
  print_sum("crash, worst", budget.crash_worst);
  print_sum("crash, typical", budget.crash_typical);
  print_sum("hand-over", budget.transfer);
  print_sum("cut off, has stopped", budget.cut_off_stops);
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

double seconds(Duration span) { return static_cast<double>(span.ns()) / 1e9; }

std::string about(Duration span) {
  const Duration tenth = span < Duration::seconds(1) ? Duration::millis(10) : Duration::millis(100);
  const int64_t steps = (span + tenth - Duration::nanos(1)) / tenth;
  char text[32];
  std::snprintf(text, sizeof text, "%gs", seconds(tenth * steps));
  return text;
}

void print_sum(const char* title, const election::Sum& sum) {
  std::printf("  %-22s %-8s %s\n  %-22s %-8s = %s\n", title, about(sum.total).c_str(), sum.formula().c_str(), "", "",
              sum.arithmetic().c_str());
}

void print_failover(const election::FailoverBudget& budget) {
  print_sum("crash, worst", budget.crash_worst);
  print_sum("crash, typical", budget.crash_typical);
  if (budget.hang_worst) print_sum("hang, worst", *budget.hang_worst);
  print_sum("release, worst", budget.release_worst);
  print_sum("release, typical", budget.release_typical);
}

int budget_of_cluster(const ClusterBudgetOptions& options) {
  const auto shape = shape_of(options);
  if (!shape) return refuse("budget", shape.error().message);
  const Detection detection = detection_of(*shape);
  const bool votes = shape->store.empty();
  const quorum::QuorumBudget of_quorum =
      quorum::budget_of(node::timing_named(shape->profile),
                        {.members = shape->voters, .round_trip = shape->round_trip, .sync = shape->sync});
  const vote::VoteBudget of_scores =
      vote::budget_of(shape->vote.value_or(vote::VoteTiming()), {.round_trip = shape->round_trip, .sync = shape->sync});
  const election::FailoverBudget of_store = store_budget(*shape, options.operation);
  if (options.json) {
    Json out{{"format", "bellwether.budget/1"}, {"profile", shape->profile}, {"nodes", shape->nodes}};
    out["voters"] = votes ? Json(shape->voters) : Json(nullptr);
    out["decided_by"] = shape->vote ? cluster::kVote : votes ? cluster::kQuorum : shape->store;
    out["membership"] = {{"first",
                          {{"worst", budget_cluster_to_json(detection.first_worst)},
                           {"typical", budget_cluster_to_json(detection.first_typical)}}},
                         {"all", {{"worst", budget_cluster_to_json(detection.all_worst)}}}};
    out["election"] = shape->vote ? votes_json(of_scores)
                      : votes     ? votes_json(of_quorum)
                                  : budget_cluster_to_json(of_store);
    std::printf("%s\n", out.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return kExitOk;
  }
  std::printf("Profile %s, %zu nodes. A node that falls silent is known to be dead:\n", shape->profile.c_str(),
              shape->nodes);
  print_sum("to the first, worst", detection.first_worst);
  print_sum("to the first, typical", detection.first_typical);
  print_sum("to all, worst", detection.all_worst);
  std::printf("  One whose machine refuses a new connection is known to be dead at once.\n\n");
  if (votes) {
    std::printf("%zu voters%s, round trip %s, disk %s. The cluster is without a leader:\n", shape->voters,
                shape->vote ? " by scores" : "", format_duration(shape->round_trip).c_str(),
                format_duration(shape->sync).c_str());
    shape->vote ? print_votes(of_scores) : print_votes(of_quorum);
  } else {
    std::printf("%s decides who leads, lease %s, an operation %s. The cluster is without a leader:\n",
                shape->store.c_str(), format_duration(shape->lease).c_str(),
                format_duration(options.operation).c_str());
    print_failover(of_store);
  }
  return kExitOk;
}

}  // namespace bellwether::cli
