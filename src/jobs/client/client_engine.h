// The engine of bellwether::client::Client: one thread with a runtime, which talks to the managers for all other
// threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>

#include "bellwether/client.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/runtime/event.h"
#include "core/runtime/scope.h"
#include "jobs/client/client_following.h"
#include "jobs/client/job_follower.h"

namespace bellwether::client::detail {

class Engine final : public std::enable_shared_from_this<Engine> {
 public:
  // The Options, made fit for use.
  struct Settings {
    cluster::NodeConfig config;
    wire::Keyring keyring;
    std::vector<HostPort> managers;
    std::string by;
    Duration patience;
    Duration quorum_wait;
  };
  static bellwether::Result<std::shared_ptr<Engine>> start(Settings settings);
  // REQUIRES close() before.
  ~Engine() = default;

  // All of these from any thread.
  // Ends the thread; in a callback: after it.
  void close();
  // Waits for the answer. kCancelled: the engine was closed. REQUIRES !on_own_thread().
  bellwether::Result<dispatch::Response> ask(dispatch::JobMessage message, Duration patience);
  // Does not wait; calls not_cancelled() of `told` if no manager has recorded it.
  void ask_later(dispatch::JobMessage message, std::shared_ptr<Following> told);
  // Once for each.
  void follow(const std::shared_ptr<Following>& following);
  // After its return the listeners get no further call, except the callback that called it.
  void let_go(const std::shared_ptr<Following>& following);
  bool on_own_thread() const { return std::this_thread::get_id() == own_; }

  Duration patience() const { return settings_.patience; }
  const std::string& by() const { return settings_.by; }
  const std::string& cluster() const { return settings_.config.cluster; }
  uint64_t draw();
  std::string answered_by() const;

 private:
  struct Question {
    dispatch::JobMessage message;
    Duration patience;
    std::shared_ptr<Following> told;  // nullptr: a caller waits for the answer
    std::optional<bellwether::Result<dispatch::Response>> answer;
  };
  struct Begin {
    std::shared_ptr<Following> following;
  };
  struct End {
    std::shared_ptr<Following> following;
  };
  using Wish = std::variant<std::shared_ptr<Question>, Begin, End>;

  Engine(Settings settings, std::unique_ptr<runtime::EpollRuntime> runtime);
  // False: the thread accepts no more requests.
  bool push(Wish wish);
  void call_attention();

  // On the own thread.
  void live();
  runtime::task<void> serve();
  void attend();
  void carry_out(const Wish& wish);
  void turn_down(const Wish& wish);
  void stop_all() {
    for (const std::shared_ptr<Following>& one : followings_) one->stop();
  }
  static runtime::task<void> answer(Engine* self, std::shared_ptr<Question> question);
  static runtime::task<void> keep_following(Engine* self, std::shared_ptr<Following> following);

  Settings settings_;
  std::unique_ptr<runtime::EpollRuntime> runtime_;
  std::thread thread_;
  std::thread::id own_;

  // Of the own thread.
  std::unique_ptr<node::JobClient> client_;
  std::optional<runtime::Scope> scope_;
  runtime::Event ends_;
  std::set<std::shared_ptr<Following>> followings_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bellwether::Status> made_;  // whether the thread has all that it needs
  std::deque<Wish> wishes_;
  bool attention_called_ = false;
  bool closing_ = false;
  bool over_ = false;  // it takes no more wishes
  std::string answered_by_;
  Prng prng_;
};

// How a client reaches its cluster: from its options, the environment, and a file of settings.

Outcome<Engine::Settings> settings_of(const Options& options);

}  // namespace bellwether::client::detail
