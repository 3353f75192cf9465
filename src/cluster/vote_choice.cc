#include "cluster/vote_choice.h"

namespace bellwether::cluster {
namespace {

vote::QuorumRule rule_named(std::string_view name) {
  for (std::size_t i = 0; i < vote::kQuorumRules; ++i) {
    const auto rule = static_cast<vote::QuorumRule>(i);
    if (to_string(rule) == name) return rule;
  }
  return vote::QuorumRule::kMajority;
}

}  // namespace

VoteChoice vote_choice(const Settings& settings, std::string_view profile) {
  VoteChoice choice;
  choice.capabilities = settings.texts("agent.capabilities");
  choice.rule = rule_named(settings.text("vote.quorum"));
  choice.key = settings.text("vote.key");
  choice.keys = settings.text("vote.keys");
  choice.weights = {.uptime = settings.share("vote.weights.uptime"),
                    .capability = settings.share("vote.weights.capability"),
                    .resources = settings.share("vote.weights.resources"),
                    .network = settings.share("vote.weights.network"),
                    .experience = settings.share("vote.weights.experience"),
                    .fitness = settings.flag("context.enable_context_leadership")
                                   ? settings.share("context.context_leadership_weight")
                                   : 0};
  choice.operator_key = settings.text("vote.operator_key");
  choice.attestation = settings.text("agent.attestation");
  choice.reputation_weight = static_cast<double>(settings.number("vote.reputation_weight")) / 100;
  choice.key_share = settings.text("vote.key_share");
  choice.key_commitment = settings.text("vote.key_commitment");
  choice.key_command = settings.texts("vote.key_command");
  choice.timing = profile == "wan" ? vote::VoteTiming::standard() : vote::VoteTiming::lan();
  const auto take = [&settings](std::string_view name, Duration& into) {
    const Duration given = settings.duration(name);
    if (given > Duration::zero()) into = given;
  };
  vote::VoteTiming& timing = choice.timing;
  take("security.election_config.discovery_timeout", timing.discovery);
  take("security.election_config.discovery_backoff", timing.discovery_backoff);
  take("security.election_config.election_timeout", timing.election);
  take("security.election_config.heartbeat_timeout", timing.heartbeat_timeout);
  timing.set_windows();
  take("security.election_config.gather_timeout", timing.gather);
  take("security.election_config.transfer_timeout", timing.transfer);
  take("security.election_config.stop_grace", timing.stop_grace);
  take("security.election_config.election_min_term", timing.election_min_term);
  take("security.election_config.leader_min_term", timing.leader_min_term);
  return choice;
}

}  // namespace bellwether::cluster
