// The implementation of bellwether::leadership::Leadership: a thread that leads (runtime, store, candidate) and one
// that calls the listener.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "bellwether/leadership.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "election/store/candidate.h"
#include "lead/leader_gate.h"

namespace bellwether::leadership::detail {

// A term as its holders see it.
struct TermCell {
  uint64_t epoch = 0;
  std::shared_ptr<const election::TermEnd> end;
};

class LeaderSession final : public lead::CandidateListener {
 public:
  LeaderSession(Options options, Listener* listener);
  ~LeaderSession() override;
  // Opens the store and begins; empty when all is well.
  std::string start();

  Term term() const;
  Leader leader() const;
  bool permits(std::string_view surface);
  std::vector<SurfaceCounts> surfaces() const;
  void progress();
  void hand_over(const std::string& heir);
  uint64_t failed_callbacks() const { return failed_callbacks_.load(); }

 private:
  struct Won {
    Term term;
  };
  struct Over {
    uint64_t epoch;
    std::string reason;
  };
  using Call = std::variant<Won, Over, Leader>;

  // On the leading thread.
  void on_elected(const election::TermOfOffice& term) override;
  void on_renewed(Instant ends, Duration took) override;
  void on_drain(const std::string& cause) override;
  void on_term_ended(const election::TermEnded& ended) override;
  void on_leader_changed(const election::LeaseRecord& record, const std::string& evidence) override;
  void on_fail_open(bool open, const std::string& why) override;
  void lead();
  runtime::task<std::string> open_store();
  runtime::task<void> campaign();
  void depose(uint64_t epoch, const std::string& reason);
  void attend();

  // On the calling thread.
  void deliver();
  void call(const Call& one);
  void queue(Call one);

  // The wishes of other threads for the leading one. At most one message is on its way to it, so that no flood of calls
  // can push out the one that matters.
  struct Wishes {
    bool progress = false;
    bool work_stopped = false;
    std::optional<election::Resign> resign;
  };
  template <class Add>
  void wish(Add add);

  Options options_;
  Listener* listener_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::unique_ptr<store::LeaseStore> store_;
  std::unique_ptr<store::StoreKey> key_;
  std::unique_ptr<lead::Candidate> candidate_;
  std::thread leading_;
  bool told_deposed_ = true;
  uint64_t epoch_ = 0;

  mutable std::mutex mutex_;
  Term term_;
  Leader leader_;
  lead::LeaderGate gate_;
  Wishes wishes_;
  bool attention_called_ = false;

  std::thread calling_;
  std::condition_variable more_;
  std::deque<Call> calls_;
  bool ending_ = false;
  std::atomic<uint64_t> failed_callbacks_{0};
};

}  // namespace bellwether::leadership::detail
