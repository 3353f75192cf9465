// Waits for changes that a server tells over a response that does not end. One connection, which is made when somebody
// waits for the first time, stays between two waits so that nothing is lost, is replaced from time to time, since one
// that died says nothing, and is opened again after any error, later and later. Only hints: whoever waits also looks
// from time to time, and while there is no connection that is all there is. One thread.
#pragma once

#include <string>
#include <string_view>

#include "core/runtime/event.h"
#include "core/runtime/runtime.h"

namespace bellwether::store {

class WebWatch {
 public:
  // The longest life of a connection, and how long the beginning of its response may take.
  static constexpr Duration kLife = Duration::seconds(60);
  static constexpr Duration kBeginWithin = Duration::seconds(5);

  enum class Word : uint8_t {
    kNothing,  // not about the key, or known already
    kChanged,  // something happened, or may have
    kEnd,      // nothing more will come of this connection
  };
  // What is asked of the server and what its lines mean. Outlives the watch.
  class Source {
   public:
    virtual ~Source() = default;
    // Asks, and hands lines to the watch until the end, which `times` limit as in WebClient::stream().
    virtual runtime::task<Status> listen(WebWatch& watch, Instant begin_by, Instant deadline) = 0;
    virtual Word hear(std::string_view line) = 0;
  };

  WebWatch(runtime::Runtime& runtime, Source& source) : runtime_(runtime), source_(source) {}
  WebWatch(const WebWatch&) = delete;
  WebWatch& operator=(const WebWatch&) = delete;

  // One line of what the server tells; false ends the call.
  bool on_line(std::string_view line);

  // As StoreKey::changed(). Being cancelled closes the connection.
  runtime::task<bool> changed(runtime::Cancellation* cancel);
  // As StoreKey::watch_refused().
  const std::string& refused() const { return refused_; }

 private:
  static runtime::task<void> keep(WebWatch* self);

  runtime::Runtime& runtime_;
  Source& source_;
  bool may_have_ = false;  // something changed, or perhaps did, since this was told
  std::string refused_;
  runtime::Event woken_;
  runtime::task<void> keeping_;  // last: it uses everything above
};

}  // namespace bellwether::store
