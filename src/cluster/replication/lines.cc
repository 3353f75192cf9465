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

std::string names_of(const ReplicaSet& set, const char* between) {
  std::string text;
  for (const std::string& name : set.names) text += (text.empty() ? "" : between) + name;
  const char* before = ", then ";
  for (const std::string& name : set.next) text += std::exchange(before, between) + name;
  return text;
}

namespace {

using runtime::task;
using wire::ReplyStatus;

// For a connection to be made. Requests are repeated sooner.
constexpr Duration kPatience = Duration::seconds(1);

template <class Answer>
void respond(link::Connection& connection, wire::RequestId id, const Answer& answer) {
  const std::string body = message::encode(answer);
  connection.respond(id, ReplyStatus::kOk, as_bytes(body));
}

blobs::Answer other_set(const ReplicaSet& own) {
  blobs::Answer answer = blobs::answer(blobs::Verdict::kOtherSet);
  answer.set = own;
  return answer;
}

}  // namespace

Lines::Lines(cluster::PeerLinks& links, cluster::MessageRouter& router, cluster::Addresses addresses, std::string self,
             std::vector<std::string> replicas)
    : links_(links),
      router_(router),
      addresses_(addresses),
      self_(std::move(self)),
      self_id_(cluster::member_id(self_)) {
  std::sort(replicas.begin(), replicas.end());
  check(!replicas.empty() && replicas.size() <= kMaxReplicas, "replicas are validated before they are used");
  adopt({0, std::move(replicas), {}});
  check(names_.size() == set_.names.size(), "the ids of replicas differ");
  router_.connect(cluster::message_type::kJobs, *this);
  router_.connect(cluster::message_type::kBlobs, *this);
}

Lines::~Lines() {
  router_.disconnect(cluster::message_type::kJobs);
  router_.disconnect(cluster::message_type::kBlobs);
}

task<void> Lines::close() { co_await scope_.join(); }

std::string Lines::name_of(MemberId member) const {
  if (member == self_id_) return self_;
  const auto replica = names_.find(member);
  if (replica != names_.end()) return replica->second;
  const auto asker = askers_.find(member);
  return asker == askers_.end() ? std::string() : asker->second;
}

// --- the set of replicas ---------------------------------------------------------------------------------------------

ReplicaIds Lines::replica_ids() const {
  ReplicaIds ids;
  for (const std::string& name : set_.names) ids.old.push_back(cluster::member_id(name));
  for (const std::string& name : set_.next) ids.next.push_back(cluster::member_id(name));
  return ids;
}

void Lines::hear(const ReplicaSet& set) {
  if (set.number <= std::max(set_.number, heard_.number)) return;
  heard_ = set;
  if (!std::exchange(taking_over_, true)) scope_.spawn(take_over(this));
}

// No replica of this node answers under a set that its disk may forget.
task<void> Lines::take_over(Lines* self) {
  while (self->heard_.number > self->set_.number) {
    const ReplicaSet set = self->heard_;
    Status kept;
    if (self->replica_ != nullptr) kept = co_await self->replica_->disk().keep(set);
    if (kept && self->blob_replica_ != nullptr) kept = co_await self->blob_replica_->disk().keep(set);
    if (kept) {
      self->adopt(set);
    } else {
      self->heard_ = self->set_;  // until it is heard of again
    }
  }
  self->taking_over_ = false;
  self->set_changed_.changed();
}

void Lines::adopt(const ReplicaSet& set) {
  set_ = set;
  names_.clear();
  for (const std::string& name : set_.all()) names_[cluster::member_id(name)] = name;
  fingerprint_ = wire::node_hash(names_of(set_, " "));
  if (owners_ != nullptr) owners_->on_replicas();
  set_changed_.changed();
}

std::string Lines::unable() const {
  int serving = 0;
  for (const ReplicaDisk* disk : {replica_ == nullptr ? nullptr : &replica_->disk(),
                                  blob_replica_ == nullptr ? nullptr : &blob_replica_->disk()}) {
    if (disk == nullptr) continue;
    if (!disk->unable().empty()) return disk->unable();
    ++serving;
  }
  return serving < expected_ ? "this node stores nothing of jobs now" : "";
}

uint64_t Lines::read() const {
  const uint64_t registers = replica_ == nullptr ? set_.number : replica_->disk().read();
  return blob_replica_ == nullptr ? registers : std::min(registers, blob_replica_->disk().read());
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
  const auto* news = std::get_if<SetIs>(&message->body);
  if (!names_.contains(from) && !askers_.contains(from)) {
    if (askers_.size() >= kMaxAskers) askers_.erase(askers_.begin());
    askers_[from] = sender;
  }
  if (news != nullptr) {
    hear(news->set);
    if (news->set.number < set_.number) send(from, SetIs{set_});
    return;
  }
  if (message->set != set_.number) {
    send(from, SetIs{set_});
    // A request waits until both know one set; it is repeated.
    if (ask == nullptr) deliver(from, message->body);
    return;
  }
  if (ask == nullptr && !names_.contains(from)) {
    return router_.refuse(connection, wire::Refusal::kSender,
                          "it stores no job registers, but sends messages of a replica");
  }
  if (same_set(message->set, message->names) || std::holds_alternative<Unable>(message->body)) {
    deliver(from, message->body);
  } else if (ask != nullptr) {
    send(from, Unable{ask->key, "its settings name other replicas: " + names_of(set_, ", ")});
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
                 [](const SetIs&) {},  // hear() did
             },
             body);
}

// --- between replicas ------------------------------------------------------------------------------------------------

task<Result<Response>> Lines::ask(std::string replica, decltype(Request::body) body, Duration timeout,
                                  runtime::Cancellation* cancel) {
  const auto place = addresses_(replica);
  if (!place) co_return fail(Errc::kUnreachable, "the address of '{}' is unknown", replica);
  cluster::PeerAddress address = *place;
  links_.send(address, cluster::message_type::kJobs, wire::Priority::kControl,
              message::encode(Message{set_.number, fingerprint_, SetIs{set_}}), kPatience);
  std::string bytes = message::encode(Request{set_.number, fingerprint_, std::move(body)});
  BW_CO_TRY(auto reply, co_await links_.request(std::move(address), cluster::message_type::kJobs, wire::Priority::kBulk,
                                                std::move(bytes), timeout, cancel));
  auto answered = message::decode<Response>(reply);
  if (answered) {
    if (const auto* state = std::get_if<SetState>(&answered->body)) hear(state->set);
    if (const auto* news = std::get_if<SetIs>(&answered->body)) hear(news->set);
  }
  co_return answered;
}

// The state of this node is durable when it is said. Records are for a node that knows the same set.
void Lines::answer_replica(link::Connection& connection, const wire::Inbound& inbound) {
  const auto request = message::decode<Request>(as_text(inbound.body));
  const std::string why = request ? unable() : request.error().message;
  if (!why.empty()) {
    connection.respond(inbound.id, ReplyStatus::kFailed, as_bytes(why));
    return;
  }
  Response response{set_.number, SetIs{set_}};
  const auto* records = std::get_if<ReadRecords>(&request->body);
  if (records == nullptr) {
    response.body = SetState{set_, read()};
  } else if (same_set(request->set, request->names) && replica_ != nullptr) {
    response.body = replica_->page(records->after);
  }
  respond(connection, inbound.id, response);
}

// --- large values ----------------------------------------------------------------------------------------------------

task<Result<blobs::Answer>> Lines::ask(std::string replica, uint64_t number, blobs::Question question, Duration timeout,
                                       runtime::Cancellation* cancel) {
  if (number != set_.number) co_return other_set(set_);
  if (replica == self_) {
    if (blob_replica_ == nullptr) co_return fail(Errc::kUnreachable, "this node does not store blobs now");
    auto answered = co_await blob_replica_->answer(std::move(question));
    if (number != set_.number) co_return other_set(set_);
    co_return answered;
  }
  const auto place = addresses_(replica);
  if (!place) co_return fail(Errc::kUnreachable, "the address of '{}' is unknown", replica);
  cluster::PeerAddress address = *place;
  std::string body = message::encode(blobs::Asked{number, fingerprint_, std::move(question)});
  BW_CO_TRY(auto reply, co_await links_.request(std::move(address), cluster::message_type::kBlobs,
                                                wire::Priority::kBulk, std::move(body), timeout, cancel));
  auto answered = message::decode<blobs::Answer>(reply);
  if (answered && answered->set) hear(*answered->set);
  co_return answered;
}

void Lines::on_request(link::Connection& connection, const wire::Inbound& request) {
  if (request.type == cluster::message_type::kJobs) return answer_replica(connection, request);
  if (request.type != cluster::message_type::kBlobs) return Service::on_request(connection, request);
  auto asked = message::decode<blobs::Asked>(as_text(request.body));
  if (!asked) {
    connection.respond(request.id, ReplyStatus::kFailed, as_bytes(asked.error().message));
    return;
  }
  if (asked->set < set_.number) return respond(connection, request.id, other_set(set_));
  if (asked->set > set_.number) {
    // The answer to this news is the newer set.
    const std::string& sender = connection.peer().identity.node;
    if (const auto peer = addresses_(sender)) {
      links_.send(*peer, cluster::message_type::kJobs, wire::Priority::kControl,
                  message::encode(Message{set_.number, fingerprint_, SetIs{set_}}), kPatience);
    }
    return respond(connection, request.id, blobs::answer(blobs::Verdict::kBusy));
  }
  if (asked->names != fingerprint_) {
    return respond(connection, request.id, blobs::unable("its settings name other replicas: " + names_of(set_, " ")));
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

// What another replica has read from this one in between, for a newer set, may have nothing of this question.
task<void> Lines::serve_one(Lines* self, uint64_t number, blobs::Question question, std::size_t bytes) {
  const uint64_t under = self->set_.number;
  blobs::Answer answered = co_await self->blob_replica_->answer(std::move(question));
  if (under != self->set_.number) answered = other_set(self->set_);
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
