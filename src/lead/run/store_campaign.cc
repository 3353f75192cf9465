#include "lead/run/store_campaign.h"

#include <memory>
#include <utility>

#include "core/base/units.h"
#include "election/store/environment.h"
#include "election/store/host/host_store.h"

namespace bellwether::lead {

using election::Verdict;
using runtime::task;

// --- events of the candidate -----------------------------------------------------------------------------------------

void StoreCampaign::on_renewed(Instant ends, Duration took) {
  listener_->on_renewed(ends, took);
  if (took > Duration::zero()) store_answered(took);
}

void StoreCampaign::on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) {
  const election::Elector& elector = candidate_->elector();
  const Verdict::Kind kind = elector.verdict().kind;
  const bool free = kind == Verdict::Kind::kFree || kind == Verdict::Kind::kOurs;
  listener_->on_leader_changed({record, evidence, elector.last_failover(), free ? "" : elector.verdict().why});
}

void StoreCampaign::on_store_error(bool renewal, const std::string& why) {
  if (renewal) {
    listener_->on_renewal_failed();
    store_failed();
  }
  // One slow answer does not mean that another process leads.
  const bool patient = runtime_.boot_now() - began_ < options_.timing.renew_deadline;
  if (!patient) listener_->on_unknown("the store did not answer: " + why);
}

void StoreCampaign::on_fail_open(bool open, const std::string& why) {
  listener_->on_fail_open(open, why, candidate_->elector().floor());
}

// --- before it begins ------------------------------------------------------------------------------------------------

// Our name, and whether this process takes part in an election at all.
Status StoreCampaign::choose_name() {
  holder_ = options_.holder.empty() ? store::given_instance_id(&store::own_environment) : options_.holder;
  if (!holder_.empty()) return {};
  // Easier to find for people than the name that the profile nip-le asks for.
  holder_ = own_name();
  const bool nip_le = store::is_nip_le(options_.via);
  if (options_.may_mint_id && !nip_le) return {};
  BW_TRY(auto chosen, store::choose_instance_id(&store::own_environment, options_.may_mint_id, nip_le,
                                                runtime_.self().pid, runtime_.wall_now()));
  elects_ = chosen.elects;
  if (elects_) holder_ = chosen.id;
  return {};
}

task<Result<election::ElectorConfig>> StoreCampaign::configure() {
  election::ElectorConfig config;
  config.key = options_.key;
  config.claim.holder = holder_;
  config.claim.region = options_.region;
  config.claim.cross_region_wait = options_.cross_region_wait;
  config.claim.trust_empty = options_.trust_empty || !elects_;
  config.timing = options_.timing;
  config.traits = store_->traits();
  config.campaign = !options_.observe;
  if (options_.back_off) config.backoff = election::BackoffSettings{};
  if (options_.flap_damping) config.flap = election::FlapSettings{};
  if (config.timing.lease < config.traits.lease_min) {
    co_return fail(Errc::kInvalid, "--ttl is {}, but {} needs at least {}", format_duration(config.timing.lease),
                   store_->describe(), format_duration(config.traits.lease_min));
  }
  if (options_.keep_epochs && !options_.observe && elects_) {
    BW_CO_TRY(config.floor, co_await recall_epoch(options_.key));
  }
  co_return config;
}

// Without an election each process has a private store, in which no other candidate stands.
task<Status> StoreCampaign::open(const election::Evidence& wanted, Campaign::Listener& listener) {
  listener_ = &listener;
  began_ = runtime_.boot_now();
  for (const std::string& warning : options_.timing.warnings()) journal_.warn(runtime_.wall_now(), warning);
  BW_CO_RETURN_IF_ERROR(choose_name());
  if (!elects_) {
    journal_.warn(runtime_.wall_now(),
                  "this process has no name and may not make one: by the rules of NIP-LE it leads without an election, "
                  "and its epoch does not fence");
  }
  std::string url = elects_ ? options_.via : "memory:";
  BW_CO_RETURN_IF_ERROR(co_await open_key(std::move(url), options_.key));
  BW_CO_TRY(auto config, co_await configure());
  config.evidence = wanted;
  candidate_ = std::make_unique<Candidate>(runtime_, *key_, std::move(config), runtime_.prng().next(), *this);
  co_return Status();
}

// --- from begin to end -----------------------------------------------------------------------------------------------

task<int> StoreCampaign::run(runtime::Scope& beside) {
  scope_ = &beside;
  co_await candidate_->run(nullptr);
  co_return 0;
}

void StoreCampaign::close() {
  scope_ = nullptr;
  candidate_.reset();
  key_.reset();
  store_.reset();
}

}  // namespace bellwether::lead
