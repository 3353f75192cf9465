#include "lead/roles/group_campaign.h"

#include <algorithm>
#include <sys/resource.h>
#include <utility>

#include "cluster/node/node_election.h"
#include "cluster/node/node_supplies.h"
#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::node {

using runtime::task;

namespace {

// By then the group has elected a node, if it can.
Duration patience_of(const cluster::NodeConfig& config) {
  if (config.votes_by_score()) {
    const vote::VoteTiming& timing = config.vote.timing;
    return timing.discovery * 3 + timing.heartbeat_timeout + timing.election;
  }
  return timing_named(config.profile).lease * 10;
}

}  // namespace

// The one role of the node.
class GroupCampaign::Office final : public NodeRole {
 public:
  explicit Office(GroupCampaign& campaign) : campaign_(campaign) {}

  task<Status> prepare(const NodeTools& tools) override {
    campaign_.on_taking_part(tools.election.leadership());
    co_return Status();
  }
  bool works_while_leading() const override { return true; }
  bool tells_of_terms() const override { return true; }
  void on_elected(const election::TermOfOffice& term) override { campaign_.on_elected(term); }
  void on_renewed(Instant ends, Duration took) override { campaign_.on_renewed(ends, took); }
  void on_drain(const std::string& cause) override { campaign_.on_drain(cause); }
  void on_term_ended(const election::TermEnded& ended) override { campaign_.on_term_ended(ended); }
  void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) override {
    campaign_.on_leader_changed(leader, term, evidence);
  }
  task<void> work_ended() override {
    const auto stopped = [this] { return !campaign_.working_; };
    co_await campaign_.stopped_.wait(campaign_.runtime_, stopped, Instant::never());
  }

 private:
  GroupCampaign& campaign_;
};

task<Status> GroupCampaign::open(const election::Evidence& wanted, Listener& listener) {
  evidence_ = wanted;
  listener_ = &listener;
  co_return Status();
}

task<int> GroupCampaign::run(runtime::Scope& beside) {
  if (staying_out_) co_return 0;
  auto supplies = co_await local_supplies(runtime_, node_options_.config);
  if (!supplies) {
    journal_.error(runtime_.wall_now(), supplies.error().message);
    co_return kExitNotStarted;
  }
  if (staying_out_) co_return 0;
  std::vector<std::shared_ptr<NodeRole>> roles{std::make_shared<Office>(*this)};
  const auto node =
      std::make_unique<ClusterNode>(runtime_, node_options_, std::move(*supplies), std::move(roles), journal_);
  node_ = node.get();
  if (options_.nonblock) beside.spawn(lose_patience(beside.cancellation()));
  const int exit_code = co_await node->run();
  node_ = nullptr;
  election_ = nullptr;
  co_return exit_code;
}

// --- calls of the command --------------------------------------------------------------------------------------------

void GroupCampaign::resign(const std::string& cause) {
  staying_out_ = true;
  weigh();
  if (election_ != nullptr) election_->leave(cause);
  if (node_ != nullptr) node_->go(cause);
}

// A node that has given a term up stands again only after the next election has begun, so that others go first.
void GroupCampaign::work_stopped() {
  working_ = false;
  stopped_.changed();
  if (election_ != nullptr) election_->work_stopped();
  weigh();
}

void GroupCampaign::good_evidence(election::EvidenceKind kind) {
  evidence_.good(runtime_.boot_now(), kind);
  weigh();
}

void GroupCampaign::bad_evidence(election::EvidenceKind kind, std::string why) {
  evidence_.bad(runtime_.boot_now(), kind, std::move(why));
  weigh();
}

// A leader needs evidence at each renewal; a candidate needs it to stand.
void GroupCampaign::weigh() {
  if (election_ == nullptr) return;
  const Instant now = runtime_.boot_now();
  const auto against = evidence_.against(now, working_);
  if (against && in_office_ && working_) give_up(*against);
  const bool stands = !against && !options_.observe && !staying_out_;
  if (stands_ == stands) return;
  if (against && stands_.value_or(true)) journal_.detail(runtime_.wall_now(), "is not a candidate: " + *against);
  stands_ = stands;
  election_->stand(stands);
}

// The term ends here and now, regardless of the election: no renewal moves the end of the work any more.
void GroupCampaign::give_up(const std::string& why) {
  in_office_ = false;
  listener_->on_term_ended({.epoch = epoch_,
                            .reason = election::EndReason::kUnhealthy,
                            .why = why,
                            .stop_by = ends_ + stop_grace(),
                            .work_runs = true});
}

task<void> GroupCampaign::lose_patience(runtime::Cancellation* cancel) {
  const Duration most = patience_of(node_options_.config);
  const bool passed = co_await runtime_.sleep(most, cancel);
  if (!passed || !leader_.empty()) co_return;
  listener_->on_unknown(
      fmt::format("no leader was elected within {}: `bellwether cluster quorum --cluster FILE` shows the members",
                  format_duration(most)));
}

// --- events of the election ------------------------------------------------------------------------------------------

void GroupCampaign::on_taking_part(cluster::Leadership* election) {
  election_ = election;
  weigh();
}

void GroupCampaign::on_elected(const election::TermOfOffice& term) {
  epoch_ = term.epoch;
  ends_ = term.end->ends_at();
  // By votes from before its withdrawal: no work has begun that would have to stop.
  if (!stands_.value_or(false)) return election_->work_stopped();
  in_office_ = working_ = true;
  evidence_.begin(runtime_.boot_now());
  listener_->on_elected(term);
}

void GroupCampaign::on_renewed(Instant ends, Duration took) {
  if (!in_office_) return;
  ends_ = ends;
  // A node that is a majority by itself has its answer at once; a time of zero would mean that nothing was confirmed.
  listener_->on_renewed(ends, std::max(took, Duration::nanos(1)));
  weigh();
}

void GroupCampaign::on_term_ended(const election::TermEnded& ended) {
  if (std::exchange(in_office_, false)) listener_->on_term_ended(ended);
}

void GroupCampaign::on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) {
  const Instant now = runtime_.boot_now();
  lead::LeaderSeen seen{.record = {}, .evidence = evidence, .failover = {}, .another_leads = {}};
  seen.record.holder = leader_ = leader;
  seen.record.epoch = election::Epoch(term.value());
  if (leader.empty()) {
    if (!vacant_since_) vacant_since_ = now;
  } else {
    if (vacant_since_) seen.failover = now - *std::exchange(vacant_since_, std::nullopt);
    if (leader != holder()) {
      seen.another_leads = fmt::format("'{}' is the leader, term {}", printable(leader), term.value());
    }
  }
  listener_->on_leader_changed(seen);
}

int run_group_leader(runtime::EpollRuntime& runtime, const lead::LeadOptions& options, const NodeOptions& node) {
  // A core dump would hold the group's secret. The command may have one, if it asks for it.
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) == 0) {
    core.rlim_cur = 0;
    ::setrlimit(RLIMIT_CORE, &core);
  }
  Journal journal(options.verbosity, options.json, "lead");
  GroupCampaign campaign(runtime, options, node, journal);
  return lead::run_leader(runtime, options, journal, campaign);
}

}  // namespace bellwether::node
