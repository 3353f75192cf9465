// What one virtual user keeps between requests: its idle connections and its cookies. Nothing of it is shared with
// other virtual users, as with a browser profile. Costs a few bytes until it is used.
#pragma once

#include <memory>

#include "base/time.h"
#include "protocol/http1/client_origin.h"
#include "protocol/http1/cookies.h"
#include "protocol/http1/digest.h"
#include "runtime/stream.h"

namespace bellwether::http1 {

struct Connection {
  std::unique_ptr<runtime::Stream> stream;
  const Origin* origin = nullptr;
  std::unique_ptr<Connection> next;  // in the session's list of idle connections
  bool used = false;                 // has carried an exchange: the server may have closed it since
};

// The challenge of a server that is being answered, and how often it was.
struct DigestMemory {
  const Origin* origin = nullptr;
  DigestChallenge challenge;
  uint32_t count = 0;
};

class Session {
 public:
  // An idle connection to this origin, the one used last, or nothing. A connection the server has closed meanwhile is
  // dropped on the way.
  std::unique_ptr<Connection> take_idle(const Origin& origin) {
    std::unique_ptr<Connection>* link = &idle_;
    while (*link != nullptr) {
      std::unique_ptr<Connection> connection = std::move(*link);
      *link = std::move(connection->next);
      if (!connection->stream->idle_and_open()) continue;
      if (connection->origin == &origin) return connection;
      connection->next = std::move(*link);
      *link = std::move(connection);
      link = &(*link)->next;
    }
    return nullptr;
  }
  void put_idle(std::unique_ptr<Connection> connection) {
    connection->next = std::move(idle_);
    idle_ = std::move(connection);
  }
  void close_idle() {
    while (idle_ != nullptr) idle_ = std::move(idle_->next);
  }
  ~Session() { close_idle(); }
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  CookieJar cookies;
  std::unique_ptr<DigestMemory> digest;

 private:
  std::unique_ptr<Connection> idle_;
};

}  // namespace bellwether::http1
