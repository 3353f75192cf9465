// A node's part in its group, at work: the kernel of membership (cluster/membership/membership.h) with datagrams,
// connections and timers of a runtime. It carries the kernel's effects out and tells a listener what matters. One
// thread, that of its runtime.
#pragma once

#include <string>
#include <vector>

#include "cluster/membership/membership.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/link/datagrams.h"
#include "core/runtime/kernel_driver.h"

namespace bellwether::cluster {

// Addresses of the kernel and of the runtime.
runtime::Endpoint to_runtime(const membership::Endpoint& endpoint);
membership::Endpoint from_runtime(const runtime::Endpoint& endpoint);

class MembershipDriver final : private Service {
 public:
  // Calls come one after the other, never from within another, and must not wait. They may call the driver.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_member(const membership::MemberEvent& event) = 0;
    virtual void on_state(const membership::StateArrived&) {}
    virtual void on_conflict(const membership::Conflict& conflict) = 0;
    // Another process bears this node's name: this one must end.
    virtual void on_name_taken(const runtime::Endpoint& holder) = 0;
    virtual void on_joined(std::size_t members) = 0;
    virtual void on_left() = 0;
    virtual void on_incarnation(uint32_t) {}
    virtual void on_degraded(const membership::DegradationChanged&) {}
    virtual void on_guard(const membership::GuardChanged&) {}
    virtual void on_overflow(const membership::GossipOverflowed&) {}
  };

  // All must outlive it. `seed` must differ between nodes and starts.
  MembershipDriver(runtime::Runtime& runtime, link::Datagrams& datagrams, PeerLinks& links, Switchboard& switchboard,
                   membership::MembershipConfig config, uint64_t seed, Listener& listener);
  ~MembershipDriver() override;
  MembershipDriver(const MembershipDriver&) = delete;
  MembershipDriver& operator=(const MembershipDriver&) = delete;

  // Joins through `seeds`, or is the first of a new group when there are none or it `founds` (membership::Start), and
  // takes part until cancelled.
  runtime::task<void> run(std::vector<runtime::Endpoint> seeds, bool founds, runtime::Cancellation* cancel);
  // What happened. Before run() it is dropped.
  void tell(membership::Event event);

  const membership::Membership& kernel() const { return kernel_; }
  // Where a present member is reached; nothing when there is none of that name.
  std::optional<PeerAddress> find(const std::string& name) const;
  std::optional<membership::MemberState> state_of(const std::string& name) const;

 private:
  using Loop = runtime::KernelDriver<MembershipDriver, membership::Membership, membership::Event, membership::Effects,
                                     runtime::KernelClock::kSteady>;
  friend Loop;

  void on_datagram(const runtime::Endpoint& from, uint64_t sender, Bytes text);
  void on_request(link::Connection& connection, const wire::Inbound& request) override;
  void carry_out(const membership::SendDatagram& datagram);
  void carry_out(membership::SendStream& question) { scope_->spawn(ask(this, std::move(question))); }
  void carry_out(const membership::ReplyStream& answer);
  void carry_out(const membership::MemberEvent& member);
  void carry_out(const membership::StateArrived& state) { listener_.on_state(state); }
  void carry_out(const membership::Conflict& conflict) { listener_.on_conflict(conflict); }
  void carry_out(const membership::Refused& refused) { listener_.on_name_taken(to_runtime(refused.holder)); }
  void carry_out(const membership::JoinedGroup& joined) { listener_.on_joined(joined.members); }
  void carry_out(const membership::LeftGroup&) { listener_.on_left(); }
  void carry_out(const membership::IncarnationRaised& raised) { listener_.on_incarnation(raised.incarnation); }
  void carry_out(const membership::GossipOverflowed& overflow) { listener_.on_overflow(overflow); }
  void carry_out(const membership::DegradationChanged& degraded) { listener_.on_degraded(degraded); }
  void carry_out(const membership::GuardChanged& guard) { listener_.on_guard(guard); }
  runtime::task<void> listen(runtime::Cancellation* cancel);
  static runtime::task<void> ask(MembershipDriver* self, membership::SendStream question);

  runtime::Runtime& runtime_;
  link::Datagrams& datagrams_;
  PeerLinks& links_;
  Switchboard& switchboard_;
  Listener& listener_;
  membership::Directory directory_;
  membership::Membership kernel_;
  Loop loop_{runtime_, kernel_, *this};
  runtime::Scope* scope_ = nullptr;

  // The question on a stream that is being answered.
  link::Connection* asker_ = nullptr;
  wire::RequestId asked_ = 0;
};

}  // namespace bellwether::cluster
