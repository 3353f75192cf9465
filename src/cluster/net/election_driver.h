// The driver of one voter of an elected group: it runs the kernel (election/quorum/quorum_elector.h) with a disk,
// connections and the boot clock. It executes the kernel's effects in their order, reports events to a listener, and
// hands out the term of office that guarded work checks before it acts. One thread, that of its runtime.
#pragma once

#include <map>
#include <string>

#include "cluster/net/kv.h"
#include "cluster/net/leadership.h"
#include "cluster/net/peer_links.h"
#include "core/base/result.h"
#include "core/message/message.h"
#include "core/runtime/kernel_driver.h"
#include "election/quorum/quorum_elector.h"
#include "election/quorum/quorum_events.h"

namespace bellwether::message {
extern template const Message& message_of<quorum::Message>();
extern template const Message& message_of<quorum::Record>();
}  // namespace bellwether::message

namespace bellwether::cluster {

struct ElectionSettings {
  std::string key;                  // the key to lead, for the term of office
  std::string self;                 // name
  std::vector<std::string> voters;  // the declared members, all names
  quorum::QuorumTiming timing;
  unsigned priority = 8;     // 8 stands first, lower ones later
  bool first_start = false;  // a person says that this voter never voted before
};

class ElectionDriver final : public Leadership, private Service {
 public:
  using Addresses = cluster::Addresses;

  // All must outlive it. `seed` must differ between nodes and starts. REQUIRES that the voters' names have different
  // ids.
  ElectionDriver(runtime::Runtime& runtime, Kv& kv, PeerLinks& links, MessageRouter& router, Addresses addresses,
                 ElectionSettings settings, uint64_t seed, Listener& listener);
  ~ElectionDriver() override;
  ElectionDriver(const ElectionDriver&) = delete;
  ElectionDriver& operator=(const ElectionDriver&) = delete;

  runtime::task<void> run(runtime::Cancellation* cancel) override;
  bool leads(Instant now) const override { return kernel_.leads(now); }
  Duration stop_grace() const override { return settings_.timing.stop_grace; }
  void work_stopped() override { tell(quorum::WorkStopped{}); }
  void stand(bool stands) override { tell(quorum::Stand{stands_ = stands}); }
  void set_health(const quorum::LocalHealth& health) override { tell(health); }
  void synced() override { tell(quorum::Synced{}); }
  void suspect(const std::string& leader) override { tell(quorum::LeaderSuspected{member_id(leader)}); }
  Status hand_over(const std::string& cause, const std::string& heir) override;
  void leave(const std::string& cause) override;
  void learn(const std::string& name) override { names_[member_id(name)] = name; }
  Status change_voters(bool add, const std::string& name) override;
  std::string obstacle() const override;
  bool electable() const override { return !kernel_.follows_only(); }
  bool votes() const override { return true; }
  View view() const override;

  // An event; before run() it is dropped.
  void tell(quorum::Event event);
  const quorum::QuorumElector& kernel() const { return kernel_; }
  // Empty for no member, and for a member whose name this node does not know.
  std::string name_of(quorum::MemberId member) const;
  // Messages that were refused: invalid, or from another sender than they say.
  uint64_t refused() const { return refused_; }

 private:
  using Loop = runtime::KernelDriver<ElectionDriver, quorum::QuorumElector, quorum::Event, quorum::Effects>;
  friend Loop;

  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void carry_out(quorum::Persist& persist);
  void carry_out(const quorum::Send& send);
  void carry_out(const quorum::Elected& won) { terms_.elected(won); }
  void carry_out(const quorum::Renewed& renewed) { terms_.renewed(renewed); }
  void carry_out(const quorum::Drain& drain) { listener_.on_drain(drain.cause); }
  void carry_out(const quorum::TermEnded& ended);
  void carry_out(const quorum::LeaderChanged& changed);
  void carry_out(const quorum::MembersChanged& changed);
  void carry_out(const quorum::ChangeRefused& refused) { change_refused_ = named(refused.why); }
  void carry_out(const quorum::Note& note) { listener_.on_note(note.warning, named(note.text)); }
  void carry_out(const quorum::Left&) { listener_.on_retired(); }
  std::string named(const std::string& text) const;
  static runtime::task<void> persist(ElectionDriver* self, quorum::Record record);

  runtime::Runtime& runtime_;
  Kv& kv_;
  PeerLinks& links_;
  MessageRouter& router_;
  Addresses addresses_;
  ElectionSettings settings_;
  Listener& listener_;
  quorum::QuorumElector kernel_;
  std::map<quorum::MemberId, std::string> names_;
  election::OwnTerms terms_{settings_.key, settings_.self, listener_};
  Loop loop_{runtime_, kernel_, *this};
  bool stands_ = true;
  std::string change_refused_;  // the last requested change of voters, and why it was refused
  runtime::Scope* scope_ = nullptr;
  uint64_t refused_ = 0;
};

}  // namespace bellwether::cluster
