// The campaign of one process for a key in a store: a candidate (election/store/candidate.h), its name, and the epochs
// that this machine remembers.
#pragma once

#include <string>

#include "lead/run/campaign.h"
#include "lead/run/candidate_host.h"
#include "lead/run/leader_run.h"

namespace bellwether::lead {

class StoreCampaign final : public Campaign, public CandidateHost {
 public:
  // All must outlive it.
  StoreCampaign(runtime::EpollRuntime& runtime, const LeadOptions& options, Journal& journal)
      : CandidateHost(runtime, journal, options.lease_follows, options.timing.lease), options_(options) {}

  runtime::task<Status> open(const election::Evidence& wanted, Campaign::Listener& listener) override;
  const std::string& holder() const override { return holder_; }
  runtime::task<int> run(runtime::Scope& beside) override;
  void close() override;
  void resign(const std::string& cause) override { candidate_->resign({.cause = cause, .heir = {}, .stay_out = true}); }
  void work_stopped() override { candidate_->work_stopped(); }
  void good_evidence(election::EvidenceKind kind) override { candidate_->good_evidence(kind); }
  void bad_evidence(election::EvidenceKind kind, std::string why) override {
    candidate_->bad_evidence(kind, std::move(why));
  }
  Duration stop_grace() const override { return candidate_->elector().stop_grace(); }
  Instant lease_ends() const override { return candidate_->elector().lease_ends(); }
  int claim_descriptor() const override { return key_->claim_descriptor(); }

 private:
  void on_elected(const election::TermOfOffice& term) override { listener_->on_elected(term); }
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override { listener_->on_drain(cause); }
  void on_term_ended(const election::TermEnded& ended) override { listener_->on_term_ended(ended); }
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_store_error(bool renewal, const std::string& why) override;
  void on_fail_open(bool open, const std::string& why) override;
  Status choose_name();
  runtime::task<Result<election::ElectorConfig>> configure();

  const LeadOptions& options_;
  Campaign::Listener* listener_ = nullptr;
  std::string holder_;
  bool elects_ = true;
  Instant began_;
};

}  // namespace bellwether::lead
