#include "election/store/redis/redis_link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/bytes.h"
#include "core/runtime/cancellation.h"
#include "election/store/dial.h"

namespace bellwether::store {
namespace {

constexpr Duration kOpenWithin = Duration::seconds(5);
constexpr Duration kMaxSilentAt = Duration::seconds(3);
constexpr std::size_t kReadBytes = 16 * 1024;

using runtime::Io;
using runtime::task;

// The lines "name:value" of INFO.
std::map<std::string, std::string, std::less<>> parse_info(std::string_view text) {
  std::map<std::string, std::string, std::less<>> fields;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto colon = line.find(':');
    if (colon != std::string_view::npos) fields.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return fields;
}

}  // namespace

// A caller that waits for an answer or for a connection. The caller and the queue share it, because either may end
// first.
struct RedisLink::Waiting {
  runtime::Event done;
  std::optional<Result<RedisReply>> answer;
  Instant sent;
  void settle(Result<RedisReply> with) {
    if (answer) return;
    answer = std::move(with);
    done.set();
  }
};

// Kept alive by the coroutines that read and write it.
struct RedisLink::Connection {
  Connection(RedisLink& l, std::unique_ptr<runtime::Stream> s)
      : link(l), stream(std::move(s)), silence(&Connection::on_silence, this) {}
  static void on_silence(void* self) {
    auto& connection = *static_cast<Connection*>(self);
    connection.link.watch_silence(connection);
  }
  RedisLink& link;
  std::unique_ptr<runtime::Stream> stream;
  RedisDecoder decoder;
  std::string out;  // not yet written
  bool writing = false;
  bool lost = false;
  std::deque<std::shared_ptr<Waiting>> due;
  Instant heard;
  runtime::Timer silence;
};

// Ends a wait when its time is up or its caller cancels.
class RedisLink::Call {
 public:
  Call(runtime::Runtime& runtime, std::shared_ptr<Waiting> waiting, std::string where, Instant deadline,
       runtime::Cancellation* cancel)
      : waiting_(std::move(waiting)),
        where_(std::move(where)),
        timer_(&Call::late, this),
        on_cancel_(cancel, &Call::cancelled, this) {
    runtime.timers().arm(timer_, deadline);
  }
  Waiting& waiting() { return *waiting_; }

 private:
  static void late(void* self) {
    auto* call = static_cast<Call*>(self);
    call->waiting_->settle(fail(Errc::kTimeout, call->where_ + ": no answer in time"));
  }
  static void cancelled(void* self) {
    auto* call = static_cast<Call*>(self);
    call->waiting_->settle(fail(Errc::kCancelled, call->where_ + ": cancelled"));
  }
  std::shared_ptr<Waiting> waiting_;
  std::string where_;
  runtime::Timer timer_;
  runtime::CancelCallback on_cancel_;
};

RedisLink::RedisLink(runtime::Runtime& runtime, RedisLogin login) : runtime_(runtime), login_(std::move(login)) {}
RedisLink::~RedisLink() = default;

std::string RedisLink::where() const { return to_string(login_.hosts[next_host_ % login_.hosts.size()]); }

void RedisLink::on_push(void (*push)(void* context, const RedisReply& reply), void* context) {
  push_ = push;
  push_context_ = context;
}

task<Status> RedisLink::ready(Instant deadline, runtime::Cancellation* cancel) {
  if (open_ != nullptr) co_return Status();
  auto waiting = std::make_shared<Waiting>();
  openers_.push_back(waiting);
  if (!std::exchange(opening_, true)) scope_.spawn(open(this));
  Call call(runtime_, waiting, where(), deadline, cancel);
  co_await waiting->done.wait();
  if (!*waiting->answer) co_return tl::unexpected(waiting->answer->error());
  co_return Status();
}

task<void> RedisLink::open(RedisLink* self) {
  const Instant deadline = self->runtime_.read_clock() + kOpenWithin;
  Status outcome;
  for (std::size_t tries = 0; tries < self->login_.hosts.size(); ++tries) {
    if (tries > 0) ++self->next_host_;
    HostPort host = self->login_.hosts[self->next_host_ % self->login_.hosts.size()];
    auto stream = co_await dial(self->runtime_, std::move(host), self->login_.tls, deadline, nullptr);
    if (!stream) {
      outcome = tl::unexpected(stream.error());
      continue;
    }
    auto connection = std::make_shared<Connection>(*self, std::move(*stream));
    self->scope_.spawn(read(self, connection));
    outcome = co_await self->greet(connection, deadline);
    if (outcome && !connection->lost) {
      self->open_ = std::move(connection);
      break;
    }
    if (outcome) outcome = fail(Errc::kReset, self->where() + ": closed the connection at once");
    self->lose(*connection, outcome.error());
  }
  self->opening_ = false;
  if (!outcome) ++self->next_host_;
  for (const auto& waiting : std::exchange(self->openers_, {})) {
    waiting->settle(outcome ? Result<RedisReply>(RedisReply()) : tl::unexpected(outcome.error()));
  }
}

// All of it in one round trip. The first thing that is refused is the reason.
task<Status> RedisLink::greet(std::shared_ptr<Connection> connection, Instant deadline) {
  std::vector<task<Result<RedisReply>>> calls;
  const auto send = [&](std::vector<std::string> command) {
    calls.push_back(call_on(connection, std::move(command), deadline, nullptr));
  };
  if (!login_.password.empty()) {
    send(login_.user.empty() ? std::vector<std::string>{"AUTH", login_.password}
                             : std::vector<std::string>{"AUTH", login_.user, login_.password});
  }
  if (login_.database != 0) send({"SELECT", std::to_string(login_.database)});
  send({"INFO"});
  for (const std::string& script : login_.scripts) send({"SCRIPT", "LOAD", script});

  std::vector<RedisReply> replies;
  for (auto& call : calls) {
    BW_CO_TRY(auto reply, co_await std::move(call));
    if (reply.type == RedisReply::Type::kError) co_return tl::unexpected(error_of(reply, where()));
    replies.push_back(std::move(reply));
  }
  const std::size_t scripts_at = replies.size() - login_.scripts.size();
  script_names_.clear();
  for (std::size_t i = scripts_at; i < replies.size(); ++i) script_names_.push_back(replies[i].text);
  co_return examine(replies[scripts_at - 1].text);
}

// Whether this server can keep leases at all.
Status RedisLink::examine(const std::string& info) {
  const auto fields = parse_info(info);
  const auto get = [&](std::string_view name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  if (get("cluster_enabled") == "1") {
    return fail(Errc::kUnsupported, where() + ": this is a Redis Cluster, which cannot store leases");
  }
  if (get("role") != "master") {
    return fail(Errc::kRefused, "{}: this is a replica of {}:{}: name its primary", where(), get("master_host"),
                get("master_port"));
  }
  if (get("loading") == "1") return fail(Errc::kUnreachable, where() + ": it is loading its data: wait");
  if (get("maxmemory") != "0" && get("maxmemory_policy").starts_with("allkeys")) {
    return fail(Errc::kRefused,
                "{}: with the maxmemory-policy {} it may evict leases: set noeviction, or a policy volatile-…", where(),
                get("maxmemory_policy"));
  }
  server_ = fmt::format("{}.{}", get("run_id").substr(0, 16), get("master_replid").substr(0, 16));
  return {};
}

task<Result<RedisReply>> RedisLink::call(std::vector<std::string> command, Instant deadline,
                                         runtime::Cancellation* cancel) {
  auto connection = open_;
  auto reply = co_await call_on(std::move(connection), std::move(command), deadline, cancel);
  co_return reply;
}

task<Result<RedisReply>> RedisLink::run(std::size_t script, std::vector<std::string> words, Instant deadline,
                                        runtime::Cancellation* cancel) {
  auto connection = open_;
  if (connection == nullptr) co_return fail(Errc::kReset, where() + ": the connection was lost");
  std::vector<std::string> command{"EVALSHA", script_names_[script]};
  command.insert(command.end(), words.begin(), words.end());
  auto reply = co_await call_on(connection, command, deadline, cancel);
  if (!reply || !reply->is_error("NOSCRIPT")) co_return reply;
  // The server's scripts were flushed; EVAL loads this one again.
  command[0] = "EVAL";
  command[1] = login_.scripts[script];
  reply = co_await call_on(connection, std::move(command), deadline, cancel);
  co_return reply;
}

task<Result<RedisReply>> RedisLink::call_on(std::shared_ptr<Connection> connection, std::vector<std::string> command,
                                            Instant deadline, runtime::Cancellation* cancel) {
  if (connection == nullptr || connection->lost) co_return fail(Errc::kReset, where() + ": the connection was lost");
  if (cancel != nullptr && cancel->cancelled()) co_return fail(Errc::kCancelled, where() + ": cancelled");
  auto waiting = std::make_shared<Waiting>();
  waiting->sent = runtime_.read_clock();
  connection->due.push_back(waiting);
  if (!connection->silence.armed()) runtime_.timers().arm(connection->silence, waiting->sent + kMaxSilentAt);
  connection->out += encode_command(command);
  if (!connection->writing) scope_.spawn(write(connection));
  Call call(runtime_, waiting, where(), deadline, cancel);
  co_await waiting->done.wait();
  co_return std::move(*waiting->answer);
}

Status RedisLink::tell(const std::vector<std::string>& command) {
  if (open_ == nullptr) return fail(Errc::kReset, where() + ": the connection was lost");
  open_->out += encode_command(command);
  if (!open_->writing) scope_.spawn(write(open_));
  return {};
}

task<void> RedisLink::write(std::shared_ptr<Connection> connection) {
  connection->writing = true;
  while (!connection->lost && !connection->out.empty()) {
    const Io io = connection->stream->try_write(as_bytes(connection->out));
    if (io.kind == Io::Kind::kDone) {
      connection->out.erase(0, io.count);
    } else if (io.kind == Io::Kind::kWouldBlock) {
      if (co_await connection->stream->writable() != Errc::kOk) break;
    } else {
      break;  // the reader notices, and knows why
    }
  }
  connection->writing = false;
}

task<void> RedisLink::read(RedisLink* self, std::shared_ptr<Connection> connection) {
  std::vector<std::byte> buffer(kReadBytes);
  while (!connection->lost) {
    const Errc waited = co_await connection->stream->readable();
    if (waited != Errc::kOk) break;
    const Io io = connection->stream->try_read(buffer);
    if (io.kind == Io::Kind::kWouldBlock) continue;
    if (io.kind != Io::Kind::kDone) {
      self->lose(*connection, {Errc::kReset, self->where() + ": the server closed the connection"});
      break;
    }
    connection->heard = self->runtime_.now();
    auto fed = connection->decoder.feed(as_text(Bytes(buffer).first(io.count)));
    while (fed && !connection->lost) {
      auto reply = connection->decoder.next();
      if (!reply) fed = tl::unexpected(reply.error());
      if (!reply || !*reply) break;
      self->deliver(*connection, std::move(**reply));
    }
    if (!fed) self->lose(*connection, {fed.error().code, fmt::format("{}: {}", self->where(), fed.error().message)});
  }
}

void RedisLink::deliver(Connection& connection, RedisReply reply) {
  if (connection.due.empty()) {
    if (push_ != nullptr) {
      push_(push_context_, reply);
    } else {
      lose(connection,
           {Errc::kProtocol, fmt::format("{}: its answer does not match the request: {}", where(), reply.text)});
    }
    return;
  }
  const auto waiting = std::move(connection.due.front());
  connection.due.pop_front();
  if (connection.due.empty()) connection.silence.disarm();
  waiting->settle(std::move(reply));
}

void RedisLink::watch_silence(Connection& connection) {
  if (connection.due.empty()) return;
  const Instant since = std::max(connection.heard, connection.due.front()->sent);
  if (runtime_.now() - since >= kMaxSilentAt) {
    lose(connection, {Errc::kTimeout, where() + ": no message for too long; the connection is closed"});
  } else {
    runtime_.timers().arm(connection.silence, since + kMaxSilentAt);
  }
}

void RedisLink::close(const Error& why) {
  if (open_ == nullptr) return;
  const auto connection = open_;
  lose(*connection, why);
}

void RedisLink::lose(Connection& connection, const Error& why) {
  if (std::exchange(connection.lost, true)) return;
  connection.silence.disarm();
  connection.stream->interrupt(Errc::kReset);
  for (const auto& waiting : std::exchange(connection.due, {})) waiting->settle(tl::unexpected(why));
  if (open_.get() == &connection) {
    open_ = nullptr;  // the reader keeps it until it has noticed
    if (push_ != nullptr) push_(push_context_, RedisReply());
  }
}

}  // namespace bellwether::store
