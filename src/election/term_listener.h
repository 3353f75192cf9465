// What becomes of a term of office, from whatever decides it (a store, the votes of a group, or scores) to the work
// that only a leader may do.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "election/elector_events.h"
#include "election/term_of_office.h"

namespace bellwether::election {

// Calls come one after the other, never from within another; they must not wait, since renewals wait for them. They may
// call whatever decides.
class TermListener {
 public:
  virtual ~TermListener() = default;
  // The work may begin. `term` stays as it is; term.valid_for(now) is to be asked before each act.
  virtual void on_elected(const TermOfOffice& term) = 0;
  // Confirmed after `took`, counted from the sending of what was answered; zero when nothing was confirmed and only the
  // times have become shorter.
  virtual void on_renewed(Instant /*ends*/, Duration /*took*/) {}
  // Stop the work in good order, then say so; the term goes on meanwhile.
  virtual void on_drain(const std::string& cause) = 0;
  // The term is over. If `ended.work_runs`, its last act must come before `ended.stop_by` (boot clock), and it is to be
  // said when the work has stopped.
  virtual void on_term_ended(const TermEnded& ended) = 0;
};

// The terms of one who stands: hands each out, moves its end, and tells the listener. One thread, that of the kernel.
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
  // Nobody renews it any more, so that it must not be acted upon.
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
