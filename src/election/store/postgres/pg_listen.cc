#include <algorithm>
#include <libpq-fe.h>

#include "election/store/postgres/postgres_store.h"

namespace bellwether::store {
namespace {

using runtime::task;

constexpr Duration kAnswerWithin = Duration::seconds(5);
constexpr Duration kPingEvery = Duration::seconds(20);
constexpr Duration kNoticeWithin = Duration::seconds(2);  // that calls go to another server

struct Free {
  void operator()(PGnotify* notice) const { PQfreemem(notice); }
};

void pass_on(PGconn* connection, PgWatch& watch) {
  while (const std::unique_ptr<PGnotify, Free> notice{PQnotifies(connection)}) watch.hear(notice->extra);
}

}  // namespace

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
