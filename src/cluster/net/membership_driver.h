// The driver of a node's membership: it runs the kernel (cluster/membership/membership.h) with datagrams, connections
// and timers of a runtime, executes its effects, and reports events to a listener. One thread, that of its runtime.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/membership/membership.h"
#include "cluster/net/peer_links.h"
#include "cluster/wire/link/datagrams.h"
#include "core/base/callback.h"
#include "core/runtime/kernel_driver.h"

namespace bellwether::cluster {

// Addresses of the kernel and of the runtime.
runtime::Endpoint to_runtime(const membership::Endpoint& endpoint);
membership::Endpoint from_runtime(const runtime::Endpoint& endpoint);

// What membership says.
//   MemberEvent    the state of a member has changed
//   StateArrived   the state that a member reports of itself
//   Refused        another process has this node's name: this process must end
//   LeftGroup      this node is no longer a member, and the others know it
using MembershipNews =
    std::variant<membership::MemberEvent, membership::StateArrived, membership::Conflict, membership::Refused,
                 membership::JoinedGroup, membership::LeftGroup, membership::IncarnationRaised,
                 membership::DegradationChanged, membership::GuardChanged, membership::GossipOverflowed>;

class MembershipDriver final : private Service {
 public:
  // Calls come one after the other, never from within another, and must not wait. They may call the driver.
  using Listener = Callback<void(const MembershipNews& news)>;

  // All must outlive it. `seed` must differ between nodes and starts.
  MembershipDriver(runtime::Runtime& runtime, link::Datagrams& datagrams, PeerLinks& links, MessageRouter& router,
                   membership::MembershipConfig config, uint64_t seed, Listener listener);
  ~MembershipDriver() override;
  MembershipDriver(const MembershipDriver&) = delete;
  MembershipDriver& operator=(const MembershipDriver&) = delete;

  // Joins through `seeds`, or is the first of a new group when there are none or it `founds` (membership::Start), and
  // takes part until cancelled.
  runtime::task<void> run(std::vector<runtime::Endpoint> seeds, bool founds, runtime::Cancellation* cancel);
  // An event. Before run() it is dropped.
  void tell(membership::Event event);

  const membership::Membership& kernel() const { return kernel_; }
  // The address of a present member; nothing when no member has that name.
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
  void carry_out(membership::MemberEvent& member);
  template <class News>
    requires std::is_constructible_v<MembershipNews, News>
  void carry_out(News& news) {
    listener_(std::move(news));
  }
  runtime::task<void> listen(runtime::Cancellation* cancel);
  static runtime::task<void> ask(MembershipDriver* self, membership::SendStream question);

  runtime::Runtime& runtime_;
  link::Datagrams& datagrams_;
  PeerLinks& links_;
  MessageRouter& router_;
  Listener listener_;
  membership::Directory directory_;
  membership::Membership kernel_;
  Loop loop_{runtime_, kernel_, *this};
  runtime::Scope* scope_ = nullptr;

  // The connection of the request that is being answered.
  link::Connection* asker_ = nullptr;
  wire::RequestId asked_ = 0;
};

}  // namespace bellwether::cluster
