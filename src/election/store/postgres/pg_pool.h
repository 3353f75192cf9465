// Connections to PostgreSQL, through libpq without its waits: a statement with its parameters, its rows, within a
// deadline. Several callers share a few connections and try several servers in turn. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/runtime.h"
#include "election/store/store_url.h"
#include "election/store/turns.h"

struct pg_conn;
struct pg_result;

namespace bellwether::store {

struct PgLogin {
  std::vector<HostPort> hosts;
  std::map<std::string, std::string> parameters;  // libpq's: user, dbname, password, sslmode …
};

// Rows of text; nothing where a value is null.
using PgRow = std::vector<std::optional<std::string>>;

class PgWatch;

class PgPool {
 public:
  static constexpr std::size_t kMaxConnections = 4;

  PgPool(runtime::Runtime& runtime, PgLogin login) : runtime_(runtime), login_(std::move(login)) {}
  PgPool(const PgPool&) = delete;
  PgPool& operator=(const PgPool&) = delete;
  ~PgPool();

  // After an error the statement was perhaps carried out. kNotFound: it names a table that is not there. Without
  // parameters, `statement` may be several, separated by semicolons; the rows are those of the last.
  runtime::task<Result<std::vector<PgRow>>> run(std::string statement, std::vector<std::string> parameters,
                                                Instant deadline, runtime::Cancellation* cancel);
  // Listens to a channel (a plain name), on a separate connection, until the connection breaks, dies silently, or calls
  // go to another server.
  runtime::task<Status> listen(std::string channel, PgWatch& watch);
  std::string where() const;
  // Makes the next connection to another server: this one is unusable.
  void avoid();

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  using Connection = std::unique_ptr<pg_conn, Finish>;

  // Calls go to this server from now on.
  void turn_to(std::size_t host);
  // To the current server of the calls, or else to the next reachable one, which becomes the current one.
  runtime::task<Result<Connection>> connect(Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Result<Connection>> connect_to(HostPort host, Instant deadline, runtime::Cancellation* cancel);
  runtime::task<Result<std::vector<PgRow>>> run_on(pg_conn* connection, const std::string& statement,
                                                   const std::vector<std::string>& parameters, Instant deadline,
                                                   runtime::Cancellation* cancel);
  runtime::task<Status> wait(pg_conn* connection, bool write, Instant deadline, runtime::Cancellation* cancel);
  Error error_of(const pg_result* result) const;
  static Error connect_error(const std::string& server, const std::string& message);

  runtime::Runtime& runtime_;
  PgLogin login_;
  std::size_t host_ = 0;
  std::vector<Connection> idle_;
  Turns turns_{kMaxConnections};
};

}  // namespace bellwether::store
