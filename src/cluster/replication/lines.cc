#include "cluster/replication/lines.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/replication/copy_keeper.h"
#include "cluster/replication/job_keeper.h"
#include "cluster/replication/quorum_job_store.h"
#include "cluster/wire/identity.h"
#include "core/base/check.h"
#include "core/base/overloaded.h"

namespace bellwether::registers {
namespace {

using runtime::task;
using wire::ReplyStatus;

// For a connection to be made. Requests are repeated sooner.
constexpr Duration kPatience = Duration::seconds(1);

void respond(link::Connection& connection, wire::RequestId id, const copies::Answer& answer) {
  const std::string body = message::encode(answer);
  connection.respond(id, ReplyStatus::kOk, as_bytes(body));
}

}  // namespace

Lines::Lines(cluster::PeerLinks& links, cluster::Switchboard& switchboard, cluster::Addresses addresses,
             std::string self, std::vector<std::string> keepers)
    : links_(links),
      switchboard_(switchboard),
      addresses_(addresses),
      self_(std::move(self)),
      self_id_(cluster::member_id(self_)),
      keepers_(std::move(keepers)) {
  std::sort(keepers_.begin(), keepers_.end());
  fingerprint_ = wire::node_hash(keeper_names(" "));
  for (const std::string& name : keepers_) names_[cluster::member_id(name)] = name;
  check(!keepers_.empty() && keepers_.size() <= quorum::kMostMembers && names_.size() == keepers_.size(),
        "keepers are validated before they are used");
  switchboard_.connect(cluster::message_type::kJobs, *this);
  switchboard_.connect(cluster::message_type::kCopies, *this);
}

Lines::~Lines() {
  switchboard_.disconnect(cluster::message_type::kJobs);
  switchboard_.disconnect(cluster::message_type::kCopies);
}

task<void> Lines::close() { co_await scope_.join(); }

std::string Lines::keeper_names(const char* between) const {
  std::string text;
  for (const std::string& name : keepers_) text += (text.empty() ? "" : between) + name;
  return text;
}

std::vector<MemberId> Lines::keeper_ids() const {
  std::vector<MemberId> ids;
  for (const auto& [id, name] : names_) ids.push_back(id);
  return ids;
}

std::string Lines::name_of(MemberId member) const {
  if (member == self_id_) return self_;
  const auto keeper = names_.find(member);
  if (keeper != names_.end()) return keeper->second;
  const auto asker = askers_.find(member);
  return asker == askers_.end() ? std::string() : asker->second;
}

// --- small values ----------------------------------------------------------------------------------------------------

void Lines::send(MemberId to, decltype(Message::body) body) {
  if (to == self_id_) return deliver(self_id_, body);
  const std::string name = name_of(to);
  const auto peer = name.empty() ? std::nullopt : addresses_(name);
  if (!peer) return;  // as if it had been lost
  links_.send(*peer, cluster::message_type::kJobs, wire::Priority::kControl,
              message::encode(Message{fingerprint_, std::move(body)}), kPatience);
}

void Lines::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  const auto message = message::decode<Message>(as_text(inbound.body));
  if (inbound.type != cluster::message_type::kJobs || !message) return;
  const std::string& sender = connection.peer().identity.node;
  const MemberId from = cluster::member_id(sender);
  const auto* ask = std::get_if<Ask>(&message->body);
  const bool is_keeper = names_.contains(from);
  if (ask == nullptr && !is_keeper) {
    return switchboard_.refuse(connection, wire::Refusal::kSender,
                               "it keeps no registers of jobs, and speaks as one that does");
  }
  if (ask != nullptr && !is_keeper && !askers_.contains(from)) {
    if (askers_.size() >= kMostAskers) askers_.erase(askers_.begin());
    askers_[from] = sender;
  }
  if (message->peers == fingerprint_ || std::holds_alternative<Unable>(message->body)) {
    deliver(from, message->body);
  } else if (ask != nullptr) {
    send(from, Unable{ask->key, "it was told of other peers: " + keeper_names(", ")});
  }
}

void Lines::deliver(MemberId from, const decltype(Message::body)& body) {
  std::visit(Overloaded{
                 [&](const Ask& ask) {
                   if (keeper_ != nullptr) keeper_->on_ask(from, ask);
                 },
                 [&](const Answer& answer) {
                   if (owners_ != nullptr) owners_->on_answer(from, answer);
                 },
                 [&](const Freed& freed) {
                   if (owners_ != nullptr) owners_->on_freed(freed);
                 },
                 [&](const Unable& unable) {
                   if (owners_ != nullptr) owners_->on_unable(from, unable);
                 },
             },
             body);
}

// --- large values ----------------------------------------------------------------------------------------------------

task<Result<copies::Answer>> Lines::ask(std::string keeper, copies::Question question, Duration timeout,
                                        runtime::Cancellation* cancel) {
  if (keeper == self_) {
    if (copy_keeper_ == nullptr) co_return fail(Errc::kUnreachable, "this node keeps no copies yet, or any more");
    auto answered = co_await copy_keeper_->answer(std::move(question));
    co_return answered;
  }
  const auto place = addresses_(keeper);
  if (!place) co_return fail(Errc::kUnreachable, "nobody knows where '{}' is", keeper);
  cluster::PeerAddress address = *place;
  std::string body = message::encode(copies::Asked{fingerprint_, std::move(question)});
  BW_CO_TRY(auto reply, co_await links_.request(std::move(address), cluster::message_type::kCopies,
                                                wire::Priority::kBulk, std::move(body), timeout, cancel));
  auto answered = message::decode<copies::Answer>(reply);
  co_return answered;
}

void Lines::on_request(link::Connection& connection, const wire::Inbound& request) {
  if (request.type != cluster::message_type::kCopies) return Service::on_request(connection, request);
  auto asked = message::decode<copies::Asked>(as_text(request.body));
  if (!asked) {
    connection.respond(request.id, ReplyStatus::kFailed, as_bytes(asked.error().message));
    return;
  }
  if (asked->peers != fingerprint_) {
    return respond(connection, request.id, copies::unable("it was told of other voters: " + keeper_names(" ")));
  }
  if (copy_keeper_ == nullptr) {
    return respond(connection, request.id, copies::unable("it keeps no copies yet, or any more"));
  }
  if (serving_ >= kMostServed || serving_bytes_ >= kMostServedBytes) {
    return respond(connection, request.id, copies::answer(copies::Verdict::kBusy));
  }
  served_[++number_] = {&connection, request.id};
  ++serving_;
  serving_bytes_ += request.body.size();
  scope_.spawn(serve_one(this, number_, std::move(asked->question), request.body.size()));
}

task<void> Lines::serve_one(Lines* self, uint64_t number, copies::Question question, std::size_t bytes) {
  const copies::Answer answered = co_await self->copy_keeper_->answer(std::move(question));
  --self->serving_;
  self->serving_bytes_ -= bytes;
  const auto served = self->served_.find(number);
  if (served == self->served_.end()) co_return;
  const Served whom = served->second;
  self->served_.erase(served);
  if (whom.connection->open()) respond(*whom.connection, whom.id, answered);
}

void Lines::on_closed(link::Connection& connection) {
  std::erase_if(served_, [&](const auto& one) { return one.second.connection == &connection; });
}

}  // namespace bellwether::registers
