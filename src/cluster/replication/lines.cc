#include "cluster/replication/lines.h"

#include <algorithm>
#include <utility>

#include "cluster/net/message_classes.h"
#include "cluster/replication/blob_replica.h"
#include "cluster/replication/quorum_job_store.h"
#include "cluster/replication/register_replica.h"
#include "cluster/wire/identity.h"
#include "core/base/check.h"
#include "core/base/overloaded.h"

namespace bellwether::registers {
namespace {

using runtime::task;
using wire::ReplyStatus;

// For a connection to be made. Requests are repeated sooner.
constexpr Duration kPatience = Duration::seconds(1);

void respond(link::Connection& connection, wire::RequestId id, const blobs::Answer& answer) {
  const std::string body = message::encode(answer);
  connection.respond(id, ReplyStatus::kOk, as_bytes(body));
}

}  // namespace

Lines::Lines(cluster::PeerLinks& links, cluster::MessageRouter& router, cluster::Addresses addresses, std::string self,
             std::vector<std::string> replicas)
    : links_(links),
      router_(router),
      addresses_(addresses),
      self_(std::move(self)),
      self_id_(cluster::member_id(self_)),
      set_{0, std::move(replicas), {}} {
  std::sort(set_.names.begin(), set_.names.end());
  fingerprint_ = wire::node_hash(replica_names(" "));
  for (const std::string& name : set_.names) names_[cluster::member_id(name)] = name;
  check(!set_.names.empty() && set_.names.size() <= quorum::kMaxMembers && names_.size() == set_.names.size(),
        "replicas are validated before they are used");
  router_.connect(cluster::message_type::kJobs, *this);
  router_.connect(cluster::message_type::kBlobs, *this);
}

Lines::~Lines() {
  router_.disconnect(cluster::message_type::kJobs);
  router_.disconnect(cluster::message_type::kBlobs);
}

task<void> Lines::close() { co_await scope_.join(); }

std::string Lines::replica_names(const char* between) const {
  std::string text;
  for (const std::string& name : set_.names) text += (text.empty() ? "" : between) + name;
  return text;
}

std::vector<MemberId> Lines::replica_ids() const {
  std::vector<MemberId> ids;
  for (const auto& [id, name] : names_) ids.push_back(id);
  return ids;
}

std::string Lines::name_of(MemberId member) const {
  if (member == self_id_) return self_;
  const auto replica = names_.find(member);
  if (replica != names_.end()) return replica->second;
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
              message::encode(Message{set_.number, fingerprint_, std::move(body)}), kPatience);
}

void Lines::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  const auto message = message::decode<Message>(as_text(inbound.body));
  if (inbound.type != cluster::message_type::kJobs || !message) return;
  const std::string& sender = connection.peer().identity.node;
  const MemberId from = cluster::member_id(sender);
  const auto* ask = std::get_if<Ask>(&message->body);
  const bool is_replica = names_.contains(from);
  if (ask == nullptr && !is_replica) {
    return router_.refuse(connection, wire::Refusal::kSender,
                          "it stores no job registers, but sends messages of a replica");
  }
  if (ask != nullptr && !is_replica && !askers_.contains(from)) {
    if (askers_.size() >= kMaxAskers) askers_.erase(askers_.begin());
    askers_[from] = sender;
  }
  if (message->names == fingerprint_ || std::holds_alternative<Unable>(message->body)) {
    deliver(from, message->body);
  } else if (ask != nullptr) {
    send(from, Unable{ask->key, "its settings name other replicas: " + replica_names(", ")});
  }
}

void Lines::deliver(MemberId from, const decltype(Message::body)& body) {
  std::visit(Overloaded{
                 [&](const Ask& ask) {
                   if (replica_ != nullptr) replica_->on_ask(from, ask);
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
                 [](const SetIs&) {},
             },
             body);
}

// --- large values ----------------------------------------------------------------------------------------------------

task<Result<blobs::Answer>> Lines::ask(std::string replica, blobs::Question question, Duration timeout,
                                       runtime::Cancellation* cancel) {
  if (replica == self_) {
    if (blob_replica_ == nullptr) co_return fail(Errc::kUnreachable, "this node does not store blobs now");
    auto answered = co_await blob_replica_->answer(std::move(question));
    co_return answered;
  }
  const auto place = addresses_(replica);
  if (!place) co_return fail(Errc::kUnreachable, "the address of '{}' is unknown", replica);
  cluster::PeerAddress address = *place;
  std::string body = message::encode(blobs::Asked{set_.number, fingerprint_, std::move(question)});
  BW_CO_TRY(auto reply, co_await links_.request(std::move(address), cluster::message_type::kBlobs,
                                                wire::Priority::kBulk, std::move(body), timeout, cancel));
  auto answered = message::decode<blobs::Answer>(reply);
  co_return answered;
}

void Lines::on_request(link::Connection& connection, const wire::Inbound& request) {
  if (request.type != cluster::message_type::kBlobs) return Service::on_request(connection, request);
  auto asked = message::decode<blobs::Asked>(as_text(request.body));
  if (!asked) {
    connection.respond(request.id, ReplyStatus::kFailed, as_bytes(asked.error().message));
    return;
  }
  if (asked->names != fingerprint_) {
    return respond(connection, request.id, blobs::unable("its settings name other replicas: " + replica_names(" ")));
  }
  if (blob_replica_ == nullptr) {
    return respond(connection, request.id, blobs::unable("it does not store blobs now"));
  }
  if (serving_ >= kMaxServed || serving_bytes_ >= kMaxServedBytes) {
    return respond(connection, request.id, blobs::answer(blobs::Verdict::kBusy));
  }
  served_[++number_] = {&connection, request.id};
  ++serving_;
  serving_bytes_ += request.body.size();
  scope_.spawn(serve_one(this, number_, std::move(asked->question), request.body.size()));
}

task<void> Lines::serve_one(Lines* self, uint64_t number, blobs::Question question, std::size_t bytes) {
  const blobs::Answer answered = co_await self->blob_replica_->answer(std::move(question));
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
