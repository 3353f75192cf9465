// Leadership of a key from C++: one holder at a time among all processes that name the same key in the same store. A
// term has a fencing token, and a validity that the program asks for at each use.
//
//   bellwether::leadership::Options options;
//   options.store = "redis://10.0.0.5";
//   options.key = "orders";
//   std::string error;
//   auto leadership = bellwether::leadership::Leadership::join(options, &listener, error);
//   ...
//   const auto term = leadership->term();
//   if (term.valid_for() > 50ms) act(term.epoch());   // and let the resource refuse lower epochs
//
// Needs only the standard library; link the library bw_lead.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bellwether::leadership {

enum class FailPolicy : unsigned char {
  kClosed,  // no proof of leadership: no act
  kOpen,    // acts without proof as well, while no other process is seen to hold the key
};

struct Options {
  std::string store;  // its URL, as in `bellwether lead --via`
  std::string key;    // any bytes
  std::string id;     // our name; empty: HOST:PID
  std::chrono::milliseconds lease{15'000};
  bool campaign = true;  // else only observe
  FailPolicy fail_policy = FailPolicy::kClosed;
  std::chrono::milliseconds progress_within{0};  // the longest time between two calls of progress(); 0: not needed
  std::string region;
  std::chrono::milliseconds cross_region_wait{0};
  bool trust_empty = false;  // a store without any record of us is new, not emptied
};

namespace detail {
struct TermCell;
class LeaderSession;
}  // namespace detail

// One term of office: ours, or an empty one. Cheap to copy. A copy stays as it is when the term ends; then it is not
// valid. From any thread.
class Term {
 public:
  Term() = default;
  // How long the term goes on unless it is renewed; zero or less: over. One atomic load, then the clock: ask
  // before each act, for no shorter time than the act takes.
  std::chrono::nanoseconds valid_for() const;
  explicit operator bool() const { return valid_for() > std::chrono::nanoseconds::zero(); }
  // The fencing token: grows with each holder of the key, and is never given out twice. 0: no term.
  uint64_t epoch() const;

 private:
  friend class detail::LeaderSession;
  explicit Term(std::shared_ptr<const detail::TermCell> cell) : cell_(std::move(cell)) {}
  std::shared_ptr<const detail::TermCell> cell_;
};

struct Leader {
  std::string holder;  // empty: no holder
  uint64_t epoch = 0;
};

// Called in order, one call at a time, on a separate thread: a slow callback, or one that throws, delays no renewal.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_elected(const Term& /*term*/) {}
  // Exactly once for each on_elected(), and before the next. When it returns, nothing of the work may run any more:
  // only then is the key given up.
  virtual void on_deposed(uint64_t /*epoch*/, const std::string& /*reason*/) {}
  virtual void on_leader_changed(const Leader& /*leader*/) {}
};

struct SurfaceCounts {
  std::string name;
  uint64_t permitted = 0;
  uint64_t suppressed = 0;
  uint64_t without_proof = 0;  // of the permitted ones
};

class Leadership {
 public:
  // Joins the candidates, or the observers, of a key, on separate threads. nullptr with `error` when the options are
  // wrong. A store that does not answer is not an error: the library tries again. `listener` may be nullptr, and must
  // outlive this.
  static std::unique_ptr<Leadership> join(const Options& options, Listener* listener, std::string& error);
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;
  // Gives the key up in good order: on_deposed() is called and awaited, then the key is released.
  ~Leadership();

  // All of these from any thread.
  Term term() const;
  Leader leader() const;
  // May this surface act now? Counted for each name (LeaderGate): a process that does not lead receives and renders as
  // before, and is silent.
  bool permits(std::string_view surface);
  std::vector<SurfaceCounts> surfaces() const;
  // The work gets on (Options::progress_within).
  void progress();
  // Hands over: to `heir`, or to any candidate. We stand again after a lease.
  void hand_over(const std::string& heir);
  // How many callbacks have thrown.
  uint64_t failed_callbacks() const;

 private:
  explicit Leadership(std::unique_ptr<detail::LeaderSession> session);
  std::unique_ptr<detail::LeaderSession> session_;
};

// The memory of a guarded resource: the highest epoch it has seen, in a file, written before the act may happen. One
// thread at a time.
class DurableFence {
 public:
  // nullptr with `error` when the file cannot be used, or holds other data.
  static std::unique_ptr<DurableFence> open(const std::string& path, std::string& error);
  ~DurableFence();
  DurableFence(const DurableFence&) = delete;
  DurableFence& operator=(const DurableFence&) = delete;
  // False: a newer holder has acted, or the file could not be written: do not act.
  bool admit(uint64_t epoch);
  uint64_t highest() const { return highest_; }

 private:
  DurableFence(int folder, std::string name, uint64_t highest);
  int folder_;
  std::string name_;
  uint64_t highest_;
};

}  // namespace bellwether::leadership
