// Tells the owners of jobs what their shares are doing at the moment, up to twenty times a second, for screens. It is
// never in the way: what finds the way taken is not said, because something newer follows. One thread, that of its
// runtime.
#pragma once

#include <map>
#include <string>

#include "cluster/net/peer_links.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::node {

class LiveRound {
 public:
  static constexpr Duration kApart = Duration::millis(50);

  class Host {
   public:
    virtual ~Host() = default;
    struct Letter {
      cluster::PeerAddress to;
      dispatch::LiveLetter letter;
      Duration apart;  // from the last one to this manager, at least
    };
    // What is to be said now, to each owner that is known.
    virtual std::vector<Letter> live() const = 0;
  };
  // All must outlive it.
  LiveRound(runtime::Runtime& runtime, cluster::PeerLinks& links, const Host& host)
      : runtime_(runtime), links_(links), host_(host) {}
  LiveRound(const LiveRound&) = delete;
  LiveRound& operator=(const LiveRound&) = delete;

  // Until cancelled.
  runtime::task<void> run(runtime::Cancellation* cancel);
  void changed();
  // Something has ended: what there is is said now, unless the manager wants to hear less.
  void at_once();

 private:
  void say(bool at_once);
  bool is_clear(const std::string& manager) const;

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  const Host& host_;
  bool changed_ = false;
  bool at_once_ = false;
  uint64_t number_ = 0;
  std::map<std::string, Instant> said_;     // to managers, last
  runtime::Cancellation* nap_ = nullptr;    // until something changes
  runtime::Cancellation* pause_ = nullptr;  // after something was said
};

}  // namespace bellwether::node
