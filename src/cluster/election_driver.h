// One voter of an elected group, at work: the kernel (election/quorum/quorum_elector.h) with a disk, connections and
// the boot clock. It carries the kernel's effects out in their order, tells a listener what matters, and hands out the
// term of office that whatever is guarded asks before it acts. One thread, that of its runtime.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cluster/kv.h"
#include "cluster/peer_names.h"
#include "election/quorum/quorum_elector.h"
#include "election/term_of_office.h"

namespace bellwether::cluster {

struct ElectionSettings {
  std::string key;                  // what is led, for the term of office
  std::string self;                 // name
  std::vector<std::string> voters;  // the declared members, all names
  quorum::QuorumTiming timing;
  unsigned priority = 8;     // 8 stands first, lower ones later
  bool first_start = false;  // a person says that this voter never voted before
};

class ElectionDriver final : private Service {
 public:
  // Calls come one after the other, never from within another, and must not wait. They may call the driver.
  class Listener {
   public:
    virtual ~Listener() = default;
    // The work may begin. term.valid_for(now) is to be asked before each act.
    virtual void on_elected(const election::TermOfOffice& term) = 0;
    // Stop the work in good order and call work_stopped(); the term goes on meanwhile.
    virtual void on_drain(const std::string& cause) = 0;
    // The term is over. If `ended.work_runs`, its last act must come before `ended.stop_by`, and work_stopped() follow.
    virtual void on_term_ended(const election::TermEnded& ended) = 0;
    // Empty: nobody is known to lead.
    virtual void on_leader_changed(const std::string& leader, election::Term term, const std::string& evidence) = 0;
    virtual void on_voters_changed(const std::vector<std::string>&) {}
    // From within the call that asked for the change.
    virtual void on_change_refused(const std::string&) {}
    // After a wish to step down and leave: this voter stands no more.
    virtual void on_retired() {}
    virtual void on_note(bool warning, const std::string& text) = 0;
  };
  using Addresses = cluster::Addresses;

  // All must outlive it. `seed` must differ between nodes and starts. REQUIRES that the voters' names have different
  // ids.
  ElectionDriver(runtime::Runtime& runtime, Kv& kv, PeerLinks& links, Switchboard& switchboard,
                 const Addresses& addresses, ElectionSettings settings, uint64_t seed, Listener& listener);
  ~ElectionDriver() override;
  ElectionDriver(const ElectionDriver&) = delete;
  ElectionDriver& operator=(const ElectionDriver&) = delete;

  // Takes part until cancelled; a term that runs then simply ends by its time.
  runtime::task<void> run(runtime::Cancellation* cancel);
  // What happened; before run() it is dropped.
  void tell(quorum::Event event);
  void work_stopped() { tell(quorum::WorkStopped{}); }
  // That there is a node of this name, which may be asked to vote.
  void learn(const std::string& name) { names_[member_id(name)] = name; }

  const quorum::QuorumElector& kernel() const { return kernel_; }
  // Empty for nobody, and for one whose name nobody here knows.
  std::string name_of(quorum::MemberId member) const;
  // Messages that were refused: not what they should be, or from somebody else than they say.
  uint64_t refused() const { return refused_; }

 private:
  runtime::task<quorum::Start> load();
  runtime::task<void> keep_time(runtime::Cancellation* cancel);
  void on_message(link::Connection& connection, const wire::Inbound& message) override;
  void step(const quorum::Event& event);
  void carry_out(quorum::Effect& effect);
  void send(const quorum::Send& send);
  std::string with_names(const std::string& text) const;
  static runtime::task<void> persist(ElectionDriver* self, quorum::Record record);

  runtime::Runtime& runtime_;
  Kv& kv_;
  PeerLinks& links_;
  Switchboard& switchboard_;
  const Addresses& addresses_;
  ElectionSettings settings_;
  Listener& listener_;
  quorum::QuorumElector kernel_;
  std::map<quorum::MemberId, std::string> names_;
  std::shared_ptr<election::TermEnd> term_end_;
  std::deque<quorum::Event> inbox_;
  bool busy_ = false;
  runtime::Cancellation* nap_ = nullptr;
  runtime::Scope* scope_ = nullptr;
  uint64_t refused_ = 0;
};

}  // namespace bellwether::cluster
