#include "cli/lead_group.h"

#include <cstdio>
#include <utility>

#include "cli/commands.h"
#include "cli/node_settings.h"
#include "node/roles/group_campaign.h"
#include "store/store_url.h"

namespace bellwether::cli {
namespace {

std::string_view scheme_of(std::string_view via) { return via.substr(0, via.find(':')); }

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

// What the URL, the other options and the file say must be one thing.
Status check(const lead::LeadOptions& options, const GroupGiven& given, const cluster::NodeConfig& config,
             const std::string& file) {
  const std::string scheme(scheme_of(options.via));
  if (!given.of_stores.empty()) {
    return fail(Errc::kInvalid,
                given.of_stores.front() + " is for stores. In a group the times come from " + in_quotes(file) +
                    " ('profile', 'security.election_config'), the name and the region " + "too: leave it out");
  }
  if (config.leadership != scheme) {
    return fail(Errc::kInvalid, options.via + ": 'leadership' is " + in_quotes(config.leadership) +
                                    " in the settings of " + in_quotes(file) + ": say leadership: " + scheme +
                                    " there, or --via " +
                                    (config.delegates() ? config.leadership : config.leadership + ":" + file));
  }
  if (config.role != wire::Role::kManager) {
    return fail(Errc::kInvalid, options.via + ": the role is " + in_quotes(to_string(config.role)) +
                                    " there, and only a manager leads: leave 'role' out");
  }
  if (!options.observe && !config.votes()) {
    return fail(Errc::kInvalid, options.via + ": 'voters' does not name " + in_quotes(config.name) +
                                    ", and only voters lead: add it, on all nodes, or give --observe");
  }
  if (config.votes_by_score() && config.vote.rule != vote::QuorumRule::kMajority) {
    return fail(Errc::kInvalid, options.via + ": 'vote.quorum' is " + in_quotes(to_string(config.vote.rule)) +
                                    " there, under which two may lead at once: leave it out");
  }
  const bool has_key_command = !config.vote.key_command.empty();
  if (has_key_command || config.context.serves) {
    return fail(Errc::kInvalid, options.via + ": " + (has_key_command ? "'vote.key_command'" : "'context.serve'") +
                                    " is in the settings of " + in_quotes(file) +
                                    ", and this process leads its own command: leave one of them out");
  }
  if (options.key != config.cluster) {
    return fail(Errc::kInvalid, "--key is " + in_quotes(options.key) +
                                    ", and this group leads one thing, itself: say --key " + config.cluster +
                                    ", or leave it out; a second key needs a second group");
  }
  if (!options.holder.empty() && options.holder != config.name) {
    return fail(Errc::kInvalid, "--id is " + in_quotes(options.holder) + ", and 'name' in the settings of " +
                                    in_quotes(file) + " is " + in_quotes(config.name) + ": leave --id out");
  }
  return {};
}

}  // namespace

bool is_group(std::string_view via) { return store::is_group_url(via); }

int run_lead_in_group(lead::LeadOptions& options, const GroupGiven& given) {
  const std::string file = options.via.substr(options.via.find(':') + 1);
  if (file.empty()) {
    std::fprintf(stderr, "bellwether lead: %s names no file: --via %sFILE, the settings of a node (YAML)\n",
                 options.via.c_str(), options.via.c_str());
    return kExitUsage;
  }
  auto read = read_node_settings({.file = file, .assignments = {}});
  if (!read.config) return kExitUsage;
  if (options.key.empty()) options.key = read.config->cluster;
  if (const Status good = check(options, given, *read.config, file); !good) {
    std::fprintf(stderr, "bellwether lead: %s\n", good.error().message.c_str());
    return kExitUsage;
  }
  node::NodeOptions node;
  node.config = std::move(*read.config);
  node.first_start = given.first_start;
  auto runtime = runtime::EpollRuntime::create({});
  if (!runtime) {
    std::fprintf(stderr, "bellwether lead: %s\n", runtime.error().message.c_str());
    return kExitUsage;
  }
  return node::run_group_leader(**runtime, options, node);
}

}  // namespace bellwether::cli
