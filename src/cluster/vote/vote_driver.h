// The driver of one node of a group that elects an admin by scored votes: it runs the kernel
// (election/vote/vote_elector.h) with a disk, connections, signatures and the boot clock. It executes the kernel's
// effects in their order, reports events to a listener, and hands out the term of office that guarded work checks
// before it acts. One thread, that of its runtime.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/net/kv.h"
#include "cluster/net/leadership.h"
#include "cluster/net/peer_links.h"
#include "cluster/vote/key_recovery.h"
#include "cluster/vote/machine_load.h"
#include "cluster/vote/vetting.h"
#include "cluster/vote/vote_codec.h"
#include "cluster/vote/vote_watch.h"
#include "core/base/callback.h"
#include "core/base/time.h"
#include "core/runtime/kernel_driver.h"
#include "election/vote/vote_elector.h"

namespace bellwether::cluster {

// The quality of the network between two nodes, from questions and their answers: 1 for round trips of no time without
// a loss, 0 when none was answered.

// With round trips of that long and no loss, the quality is one half.
inline constexpr Duration kHalfQuality = Duration::millis(100);
// The weight of the newest question in the mean.
inline constexpr double kNewest = 0.2;

class NetworkQuality {
 public:
  void answered(Duration round_trip);
  void lost();
  // Nothing until something was asked. (1 - loss) / (1 + round trip / kHalfQuality), of the means.
  std::optional<double> value() const;
  Duration round_trip() const { return Duration::from_seconds_f(round_trip_); }
  double loss() const { return loss_; }

 private:
  bool asked_ = false;
  bool heard_ = false;
  double loss_ = 0;
  double round_trip_ = 0;  // seconds
};

struct VoteSettings {
  std::string key;                   // the key to lead, for the term of office
  std::string self;                  // name
  std::vector<std::string> members;  // all names, this one's too
  vote::QuorumRule rule = vote::QuorumRule::kMajority;
  vote::VoteTiming timing;
  vote::ScoreWeights weights;
  std::vector<std::string> capabilities;
  bool first_start = false;  // a person says that this node never voted before
  double reputation_weight = 0;
  VettingSettings vetting = {};
  // Without it an admin needs no key.
  std::optional<KeyHolding> key_holding = {};
  // Works with the key: called in office, after on_elected(). Only the receiver has the key in this process. Not set:
  // the key has no use here.
  Callback<void(const election::TermOfOffice& term, secret::SecretBytes key)> key_receiver = {};
  // The fitness of a node that leads contexts as their leader: 0 to 1; nothing while it does not lead them. Not set: it
  // leads none.
  Callback<std::optional<double>()> fitness = {};
};

class VoteDriver final : public Leadership, private Service {
 public:
  // All must outlive it. `seed` must differ between nodes and starts. REQUIRES that the names have different ids.
  VoteDriver(runtime::Runtime& runtime, Kv& kv, PeerLinks& links, MessageRouter& router, Addresses addresses,
             const VoteSeal& seal, const ResourceSource& resources, VoteSettings settings, uint64_t seed,
             Listener& listener);
  ~VoteDriver() override;
  VoteDriver(const VoteDriver&) = delete;
  VoteDriver& operator=(const VoteDriver&) = delete;

  runtime::task<void> run(runtime::Cancellation* cancel) override;
  bool leads(Instant now) const override { return kernel_.leads(now); }
  Duration stop_grace() const override { return settings_.timing.stop_grace; }
  void work_stopped() override { tell(vote::WorkStopped{}); }
  void stand(bool stands) override;
  void set_health(const quorum::LocalHealth& health) override;
  // The opinion of others ends no office here: promises run out by themselves.
  void suspect(const std::string&) override {}
  Status hand_over(const std::string& cause, const std::string& heir) override;
  void leave(const std::string& cause) override;
  Status change_voters(bool add, const std::string& name) override;
  std::string obstacle() const override;
  bool electable() const override { return kernel_.stands(); }
  bool votes() const override { return true; }
  View view() const override;

  std::optional<VoteView> last_vote() const override;
  std::vector<VoteMessageView> vote_messages() const override { return watch_.messages(); }
  Status call_election(bool forced) override;
  const vote::VoteElector& kernel() const { return kernel_; }
  // Empty for none.
  std::string name_of(vote::NodeId node) const;

 private:
  using Loop = runtime::KernelDriver<VoteDriver, vote::VoteElector, vote::Event, vote::Effects>;
  friend Loop;

  runtime::task<void> keep_measuring(runtime::Cancellation* cancel);
  runtime::task<void> ask_someone(runtime::Cancellation* cancel);
  runtime::task<void> keep_experience();
  // The nodes that it believes.
  vote::Claim claim();
  runtime::task<void> load_book();
  static runtime::task<void> keep_book(VoteDriver* self);
  void remember(const vote::Conduct& conduct);
  void write_down(vote::NodeId node, vote::Deed deed);
  void vet(const std::string& sender, const vote::Message& message);
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  bool follows(const std::string& admin, election::Term term) const;
  void on_key(election::Term term, Result<secret::SecretBytes> key);
  void on_key_warning(const std::string& text) { listener_.on_note(true, text); }
  void look_at_keys();
  void tell(vote::Event event);
  Status ask(vote::Event event);
  void carry_out(const vote::Persist& persist) { scope_->spawn(this->persist(this, persist.record)); }
  void carry_out(const vote::Send& send) { this->send(send.to, send.message); }
  void carry_out(const vote::Broadcast& all);
  void carry_out(const vote::Elected& won);
  void carry_out(const vote::Reconstruct& wanted);
  void carry_out(const vote::Renewed& renewed) { terms_.renewed(renewed); }
  void carry_out(const vote::Drain& drain) { listener_.on_drain(named(drain.cause)); }
  void carry_out(const vote::TermEnded& ended);
  void carry_out(const vote::StateChanged&) {}  // view() asks the kernel
  void carry_out(const vote::AdminChanged& changed);
  void carry_out(const vote::ElectionComplete& complete);
  void carry_out(const vote::Conduct& conduct) { remember(conduct); }
  void carry_out(const vote::Denied& denied) { denied_ = named(denied.why); }
  void carry_out(const vote::Refused& refused);
  void carry_out(const vote::Note& note) { listener_.on_note(note.warning, named(note.text)); }
  void carry_out(const vote::Left&) { listener_.on_retired(); }
  void settled() { look_at_keys(); }
  // vote_watch.cc: reports to people
  void observe(Instant now, const vote::Event& event, const vote::Effects& effects);
  VoteStatus status() const;
  void send(vote::NodeId to, const vote::Message& message);
  std::string named(const std::string& text) const;
  static runtime::task<void> persist(VoteDriver* self, vote::Record record);

  runtime::Runtime& runtime_;
  Kv& kv_;
  PeerLinks& links_;
  MessageRouter& router_;
  Addresses addresses_;
  const VoteSeal& seal_;
  const ResourceSource& resources_;
  VoteSettings settings_;
  Listener& listener_;
  vote::VoteElector kernel_;
  std::map<vote::NodeId, std::string> names_;
  Vetting vetting_;
  vote::ReputationBook book_;
  std::optional<HearingWatch> hearing_;  // while it runs
  std::optional<KeyRecovery> keys_;
  secret::SecretBytes key_;  // reconstructed, and not handed out yet
  election::OwnTerms terms_{settings_.key, settings_.self, listener_};
  Loop loop_{runtime_, kernel_, *this};
  Instant started_;
  Duration experience_;  // of earlier lives
  Instant experience_kept_;
  std::map<vote::NodeId, NetworkQuality> network_;
  std::optional<vote::ElectionComplete> ended_;  // the last election whose end this node knows
  std::size_t asked_ = 0;                        // which of them was asked last
  std::string denied_;                           // the last wish that was denied, and why
  bool stands_ = true;
  runtime::Scope* scope_ = nullptr;
  VoteWatch watch_;
  std::array<uint64_t, vote::kRefusals> refused_{};  // by the kernel, before its last step
  vote::Term watched_;                               // the last election whose begin was reported
};

}  // namespace bellwether::cluster
