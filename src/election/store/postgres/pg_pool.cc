#include "election/store/postgres/pg_pool.h"

#include <algorithm>
#include <array>
#include <libpq-fe.h>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/freed.h"
#include "core/runtime/cancellation.h"
#include "core/runtime/event.h"
#include "election/store/postgres/postgres_store.h"

namespace bellwether::store {
namespace {

using runtime::task;

// A confirmed commit is on the disk; an abandoned statement ends.
constexpr const char* kSessionOptions = "-c synchronous_commit=on -c statement_timeout=10s -c lock_timeout=5s";

using Answer = std::unique_ptr<PGresult, Freed<PQclear>>;

struct StateMeaning {
  std::string_view state;  // the beginning of an SQLSTATE
  Errc code;
  std::string_view advice;
};

constexpr std::array kStateMeanings{
    StateMeaning{"42P01", Errc::kNotFound, "there is no such table"},
    StateMeaning{"3F000", Errc::kNotFound, "there is no such schema"},
    StateMeaning{"42501", Errc::kRefused, "the user has no right to do this"},
    StateMeaning{"25006", Errc::kRefused, "it is read-only, as a standby is: name its primary"},
    StateMeaning{"55000", Errc::kRefused, "it is a standby: name its primary"},
    StateMeaning{"28", Errc::kRefused, "it does not permit this user to connect"},
    StateMeaning{"53100", Errc::kNoSpace, "its disk is full"},
    StateMeaning{"53", Errc::kExhausted, "it lacks a resource"},
    StateMeaning{"57014", Errc::kTimeout, "the statement took too long"},
    StateMeaning{"55P03", Errc::kTimeout, "another statement blocks this one"},
    StateMeaning{"57P", Errc::kUnreachable, "it is starting, stopping, or ends this connection"},
    StateMeaning{"40", Errc::kUnreachable, "the statement conflicted with others"},
    StateMeaning{"58", Errc::kIo, "its disk fails"},
};

// The errors of libpq without a session, which have no codes.
constexpr std::array kWords{
    StateMeaning{"password", Errc::kRefused, "give the password with ?password_file=FILE, PGPASSFILE or PGPASSWORD"},
    StateMeaning{"authentication", Errc::kRefused, "it does not permit this user to connect"},
    StateMeaning{"pg_hba.conf", Errc::kRefused, "it does not permit this user to connect"},
    StateMeaning{"SSL", Errc::kTls, "TLS fails"},
    StateMeaning{"certificate", Errc::kTls, "TLS fails"},
    StateMeaning{"starting up", Errc::kUnreachable, "it is starting"},
    StateMeaning{"shutting down", Errc::kUnreachable, "it is stopping"},
    StateMeaning{"too many", Errc::kExhausted, "it has too many connections"},
    StateMeaning{"does not exist", Errc::kNotFound, "there is no such database or user"},
};

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool lost(const PGconn* connection) { return PQstatus(connection) != CONNECTION_OK; }

std::vector<PgRow> rows_of(const PGresult* result) {
  std::vector<PgRow> rows(static_cast<std::size_t>(PQntuples(result)));
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      auto& value = rows[static_cast<std::size_t>(row)].emplace_back();
      if (PQgetisnull(result, row, column) != 0) continue;
      value.emplace(PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column)));
    }
  }
  return rows;
}

constexpr Duration kAnswerWithin = Duration::seconds(5);
constexpr Duration kPingEvery = Duration::seconds(20);
constexpr Duration kNoticeWithin = Duration::seconds(2);  // that calls go to another server

void pass_on(PGconn* connection, PgWatch& watch) {
  while (const std::unique_ptr<PGnotify, Freed<PQfreemem>> notice{PQnotifies(connection)}) watch.hear(notice->extra);
}

}  // namespace

void PgPool::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }
PgPool::~PgPool() = default;

std::string PgPool::where() const { return to_string(login_.hosts[host_]); }

void PgPool::avoid() { turn_to((host_ + 1) % login_.hosts.size()); }

void PgPool::turn_to(std::size_t host) {
  if (std::exchange(host_, host) != host) idle_.clear();
}

Error PgPool::error_of(const pg_result* result) const {
  const char* field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string state = field == nullptr ? "" : field;
  const std::string message = one_line(PQresultErrorMessage(result));
  for (const StateMeaning& meaning : kStateMeanings) {
    if (state.starts_with(meaning.state)) {
      return {meaning.code, fmt::format("{}: {} ({})", where(), meaning.advice, message)};
    }
  }
  return {Errc::kProtocol, fmt::format("{}: PostgreSQL answered: {}", where(), message)};
}

Error PgPool::connect_error(const std::string& server, const std::string& message) {
  for (const StateMeaning& meaning : kWords) {
    if (message.find(meaning.state) != std::string::npos) {
      return {meaning.code, fmt::format("{}: {} ({})", server, meaning.advice, message)};
    }
  }
  // The library names the server once more: "connection to server at …, port … failed: WHY".
  constexpr std::string_view kFailed = " failed: ";
  const std::size_t failed = message.starts_with("connection to ") ? message.find(kFailed) : std::string::npos;
  const std::string why = failed == std::string::npos ? message : message.substr(failed + kFailed.size());
  return {Errc::kRefused, fmt::format("{}: {}", server, why)};
}

task<Status> PgPool::wait(pg_conn* connection, bool write, Instant deadline, runtime::Cancellation* cancel) {
  const int fd = PQsocket(connection);
  const auto ready = co_await runtime_.wait_descriptor(fd, true, write, deadline, cancel);
  if (ready) co_return Status();
  const Errc code = ready.error().code;
  if (code == Errc::kTimeout) co_return fail(code, where() + ": no answer in time");
  co_return fail(code, "{}: {}", where(), ready.error().message);
}

task<Result<PgPool::Connection>> PgPool::connect_to(HostPort host, Instant deadline, runtime::Cancellation* cancel) {
  runtime::Until until(runtime_, deadline, cancel);
  const auto addresses = co_await runtime_.resolve(host.host, until.cancellation());
  if (until.over()) co_return fail(until.why(), to_string(host) + ": resolving its name timed out");
  if (!addresses || addresses->empty()) {
    co_return fail(Errc::kDns, fmt::format("{}: {}", to_string(host),
                                           addresses ? "the name has no address" : addresses.error().message));
  }
  std::map<std::string, std::string> parameters = login_.parameters;
  parameters["host"] = host.host;
  parameters["hostaddr"] = addresses->front().to_string();
  parameters["port"] = std::to_string(host.port);
  parameters["options"] = kSessionOptions;
  parameters["application_name"] = "bellwether";
  parameters["client_encoding"] = "UTF8";
  parameters["gssencmode"] = "disable";
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  Connection connection(PQconnectStartParams(names.data(), values.data(), 0));
  if (connection == nullptr) co_return fail(Errc::kExhausted, "out of memory for a connection");
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  if (PQstatus(connection.get()) == CONNECTION_BAD) state = PGRES_POLLING_FAILED;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED) {
      co_return tl::unexpected(connect_error(to_string(host), one_line(PQerrorMessage(connection.get()))));
    }
    const bool write = state == PGRES_POLLING_WRITING;
    const auto ready = co_await runtime_.wait_descriptor(PQsocket(connection.get()), !write, write, deadline, cancel);
    if (!ready) co_return fail(ready.error().code, to_string(host) + ": connecting timed out");
    state = PQconnectPoll(connection.get());
  }
  PQsetnonblocking(connection.get(), 1);
  co_return connection;
}

// A silent server must leave time for the others.
task<Result<PgPool::Connection>> PgPool::connect(Instant deadline, runtime::Cancellation* cancel) {
  Error last;
  std::size_t tried = host_;
  for (std::size_t left = login_.hosts.size(); left > 0; --left) {
    const Instant now = runtime_.read_clock();
    const Instant until = now + (deadline - now) / static_cast<int64_t>(left);
    HostPort host = login_.hosts[tried];
    auto connection = co_await connect_to(std::move(host), until, cancel);
    if (connection) {
      turn_to(tried);
      co_return connection;
    }
    last = connection.error();
    tried = (tried + 1) % login_.hosts.size();
    if (last.code == Errc::kCancelled) break;
  }
  co_return tl::unexpected(last);
}

task<Result<std::vector<PgRow>>> PgPool::run(std::string statement, std::vector<std::string> parameters,
                                             Instant deadline, runtime::Cancellation* cancel) {
  runtime::Until until(runtime_, deadline, cancel);
  Turn turn(turns_, until.cancellation());
  co_await turn.woken().wait();
  if (!turn.granted() || until.over()) co_return fail(until.why(), where() + ": no answer in time");

  Connection connection;
  while (!idle_.empty() && connection == nullptr) {
    connection = std::move(idle_.back());
    idle_.pop_back();
    // The server may have closed it meanwhile: read all pending data without waiting.
    if (PQconsumeInput(connection.get()) == 0 || lost(connection.get())) connection = nullptr;
  }
  if (connection == nullptr) {
    BW_CO_TRY(connection, co_await connect(deadline, cancel));
  }
  const std::size_t host = host_;
  auto rows = co_await run_on(connection.get(), statement, parameters, deadline, cancel);
  // Of a connection on which an answer is still due nothing more can be asked.
  const bool usable = !lost(connection.get()) && PQtransactionStatus(connection.get()) == PQTRANS_IDLE;
  if (usable && host == host_) idle_.push_back(std::move(connection));
  co_return rows;
}

task<Result<std::vector<PgRow>>> PgPool::run_on(pg_conn* connection, const std::string& statement,
                                                const std::vector<std::string>& parameters, Instant deadline,
                                                runtime::Cancellation* cancel) {
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  const int sent = values.empty() ? PQsendQuery(connection, statement.c_str())
                                  : PQsendQueryParams(connection, statement.c_str(), static_cast<int>(values.size()),
                                                      nullptr, values.data(), nullptr, nullptr, 0);
  const auto broken = [&] {
    return fail(Errc::kReset, "{}: the connection broke: {}", where(), one_line(PQerrorMessage(connection)));
  };
  if (sent == 0) co_return broken();
  int flushed = PQflush(connection);
  while (flushed == 1) {
    BW_CO_RETURN_IF_ERROR(co_await wait(connection, true, deadline, cancel));
    if (PQconsumeInput(connection) == 0) co_return broken();
    flushed = PQflush(connection);
  }
  if (flushed < 0) co_return broken();
  Result<std::vector<PgRow>> rows;
  while (true) {
    while (PQisBusy(connection) != 0) {
      BW_CO_RETURN_IF_ERROR(co_await wait(connection, false, deadline, cancel));
      if (PQconsumeInput(connection) == 0) co_return broken();
    }
    const Answer answer(PQgetResult(connection));
    if (answer == nullptr) break;
    const ExecStatusType status = PQresultStatus(answer.get());
    if (!rows) continue;
    if (status == PGRES_TUPLES_OK) {
      rows = rows_of(answer.get());
    } else if (status != PGRES_COMMAND_OK) {
      rows = tl::unexpected(lost(connection) ? broken().value() : error_of(answer.get()));
    }
  }
  co_return rows;
}

task<Status> PgPool::listen(std::string channel, PgWatch& watch) {
  // Only to the server that calls go to: where they go is not for a watch to decide.
  const std::size_t host = host_;
  HostPort server = login_.hosts[host];
  BW_CO_TRY(auto connection, co_await connect_to(std::move(server), runtime_.read_clock() + kAnswerWithin, nullptr));
  PGconn* const pg = connection.get();
  const std::string statement = "listen " + channel;
  bool begun = false;
  while (host == host_) {
    // Listening once more changes nothing and is a sign of life.
    BW_CO_RETURN_IF_ERROR(co_await run_on(pg, statement, {}, runtime_.read_clock() + kAnswerWithin, nullptr));
    if (!std::exchange(begun, true)) watch.begin();
    pass_on(pg, watch);
    const Instant next = runtime_.read_clock() + kPingEvery;
    while (host == host_ && runtime_.now() < next) {
      const Status ready = co_await wait(pg, false, std::min(next, runtime_.now() + kNoticeWithin), nullptr);
      if (!ready && ready.error().code == Errc::kTimeout) continue;
      if (!ready) co_return ready;
      if (PQconsumeInput(pg) == 0) co_return fail(Errc::kReset, where() + ": the connection broke");
      pass_on(pg, watch);
    }
  }
  co_return Status();
}

}  // namespace bellwether::store
