// The result of winning an election, by any mechanism: the holder, the key, the epoch, and the remaining time. No code
// keeps a boolean "I lead": a paused process would wake up with it. A holder asks valid_for(now) before each guarded
// act.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/time.h"
#include "election/elector_events.h"
#include "election/epoch.h"

namespace bellwether::election {

// The end of one term: renewals extend it, and a loss cuts it short. The renewing thread writes it, any thread reads
// it. Times are of the boot clock, which continues while the machine sleeps.
class TermEnd {
 public:
  // How long from `now`; zero or less: over. One load.
  Duration valid_for(Instant now) const { return Duration::nanos(ends_ns_.load(std::memory_order_acquire) - now.ns()); }
  Instant ends_at() const { return Instant::from_ns(ends_ns_.load(std::memory_order_acquire)); }
  void move_to(Instant end) { ends_ns_.store(end.ns(), std::memory_order_release); }

 private:
  std::atomic<int64_t> ends_ns_{0};
};

struct TermOfOffice {
  std::string key;
  std::string holder;
  Epoch epoch;  // the fencing token: hand it on with every act
  Instant since;
  std::shared_ptr<const TermEnd> end;

  Duration valid_for(Instant now) const { return end ? end->valid_for(now) : Duration::zero(); }
};

// Carries the changes of a term of office from the elector (a store, the votes of a group, or scores) to the work that
// only a leader may do.
//
// Calls come one after the other, never from within another. They must not wait, because renewals wait for them. They
// may call the elector.
class TermListener {
 public:
  virtual ~TermListener() = default;
  // The work may begin. `term` stays as it is; term.valid_for(now) is to be asked before each act.
  virtual void on_elected(const TermOfOffice& term) = 0;
  // Confirmed after `took`, counted from the sending of the confirmed renewal; zero when the times only became shorter,
  // without a confirmation.
  virtual void on_renewed(Instant /*ends*/, Duration /*took*/) {}
  // Stop the work in order, then report it; the term continues meanwhile.
  virtual void on_drain(const std::string& cause) = 0;
  // The term is over. If `ended.work_runs`, its last act must come before `ended.stop_by` (boot clock), and the
  // listener reports when the work has stopped.
  virtual void on_term_ended(const TermEnded& ended) = 0;
};

// The terms of one candidate: hands each out, moves its end, and notifies the listener. One thread, that of the kernel.
class OwnTerms {
 public:
  // `listener` must outlive it.
  OwnTerms(std::string key, std::string holder, TermListener& listener)
      : key_(std::move(key)), holder_(std::move(holder)), listener_(listener) {}

  TermOfOffice elected(const Elected& won) {
    end_ = std::make_shared<TermEnd>();
    end_->move_to(won.ends);
    TermOfOffice term{key_, holder_, won.epoch, won.since, end_};
    listener_.on_elected(term);
    return term;
  }
  void renewed(const Renewed& renewed) {
    end_->move_to(renewed.ends);
    listener_.on_renewed(renewed.ends, renewed.took);
  }
  void ended(const TermEnded& ended) {
    end_->move_to(Instant());
    listener_.on_term_ended(ended);
  }
  // No renewal follows, so the holder must not act on it.
  void drop() {
    if (end_ != nullptr) end_->move_to(Instant());
  }

 private:
  std::string key_;
  std::string holder_;
  TermListener& listener_;
  std::shared_ptr<TermEnd> end_;
};

}  // namespace bellwether::election
