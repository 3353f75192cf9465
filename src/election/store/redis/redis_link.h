// One connection to a Redis server for many callers: it pipelines commands and matches answers by order. A call that
// times out gives up only its own answer. The link closes a connection that is silent for long while answers are due,
// and the next call opens another. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime/event.h"
#include "core/runtime/runtime.h"
#include "core/runtime/scope.h"
#include "core/runtime/tls.h"
#include "election/store/redis/redis_reply.h"
#include "election/store/store_url.h"

namespace bellwether::store {

struct RedisLogin {
  std::vector<HostPort> hosts;  // tried in turn, until one is a primary
  std::string user;
  std::string password;
  uint64_t database = 0;
  std::shared_ptr<runtime::TlsContext> tls;
  std::vector<std::string> scripts;  // made known to the server when a connection is opened
};

class RedisLink {
 public:
  RedisLink(runtime::Runtime& runtime, RedisLogin login);
  RedisLink(const RedisLink&) = delete;
  RedisLink& operator=(const RedisLink&) = delete;
  ~RedisLink();

  // Waits until a connection is open to a primary that can keep leases; opens one if needed.
  runtime::task<Status> ready(Instant deadline, runtime::Cancellation* cancel);
  // Sends a command over the open connection, without waiting for anything else; kReset: no connection. The reply may
  // be an error of Redis; after an error returned here, the command may have been executed.
  runtime::task<Result<RedisReply>> call(std::vector<std::string> command, Instant deadline,
                                         runtime::Cancellation* cancel);
  // A script by its number, with the words that follow its name: numkeys, keys, arguments. As call().
  runtime::task<Result<RedisReply>> run(std::size_t script, std::vector<std::string> words, Instant deadline,
                                        runtime::Cancellation* cancel);

  // Which life of which server the open connection leads to: changes when the server restarts, and when another one
  // takes its place. REQUIRES that ready() has just succeeded.
  const std::string& server() const { return server_; }
  // Closes the connection: waiting calls fail, the next ready() opens another one.
  void close(const Error& why);
  std::string where() const;
  // Unrequested replies of the server (messages of channels); null: an unrequested reply is an error.
  void on_push(void (*push)(void* context, const RedisReply& reply), void* context);
  // For a connection that only listens: writes the command and awaits no reply to it.
  Status tell(const std::vector<std::string>& command);
  bool is_open() const { return open_ != nullptr; }

 private:
  struct Waiting;
  struct Connection;
  class Call;

  static runtime::task<void> read(RedisLink* self, std::shared_ptr<Connection> connection);
  static runtime::task<void> write(std::shared_ptr<Connection> connection);
  static runtime::task<void> open(RedisLink* self);
  runtime::task<Status> greet(std::shared_ptr<Connection> connection, Instant deadline);
  runtime::task<Result<RedisReply>> call_on(std::shared_ptr<Connection> connection, std::vector<std::string> command,
                                            Instant deadline, runtime::Cancellation* cancel);
  Status examine(const std::string& info);
  void deliver(Connection& connection, RedisReply reply);
  void lose(Connection& connection, const Error& why);
  void watch_silence(Connection& connection);

  runtime::Runtime& runtime_;
  RedisLogin login_;
  std::size_t next_host_ = 0;
  std::shared_ptr<Connection> open_;
  bool opening_ = false;
  std::vector<std::shared_ptr<Waiting>> openers_;  // the callers that wait for a connection
  std::string server_;
  std::vector<std::string> script_names_;
  void (*push_)(void*, const RedisReply&) = nullptr;
  void* push_context_ = nullptr;
  runtime::Scope scope_;  // last: its coroutines use everything above
};

}  // namespace bellwether::store
