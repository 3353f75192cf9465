#include "cluster/copies/copy_lines.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/copies/copy_codec.h"
#include "cluster/message_types.h"
#include "wire/identity.h"

namespace bellwether::copies {
namespace {

using runtime::task;
using wire::ReplyStatus;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

bool may_ask(wire::Role role) { return role == wire::Role::kManager || role == wire::Role::kGate; }

void respond(link::Connection& connection, wire::RequestId id, const Answer& answer) {
  const std::string body = encode_answer(answer);
  connection.respond(id, ReplyStatus::kOk, as_bytes(body));
}

}  // namespace

CopyLines::CopyLines(runtime::Runtime& runtime, cluster::PeerLinks& links, cluster::Switchboard& switchboard,
                     const cluster::Addresses& addresses, std::string self, std::vector<std::string> voters)
    : runtime_(runtime),
      links_(links),
      switchboard_(switchboard),
      addresses_(addresses),
      self_(std::move(self)),
      voters_(std::move(voters)) {
  std::sort(voters_.begin(), voters_.end());
  fingerprint_ = wire::node_hash(joined(voters_));
  check(!voters_.empty() && voters_.size() <= quorum::kMostMembers, "voters are validated before they are used");
  switchboard_.connect(cluster::message_type::kCopies, *this);
}

CopyLines::~CopyLines() { switchboard_.disconnect(cluster::message_type::kCopies); }

task<void> CopyLines::close() { co_await scope_.join(); }

task<Result<Answer>> CopyLines::ask(std::string voter, Question question, Duration timeout,
                                    runtime::Cancellation* cancel) {
  if (voter == self_) {
    if (keeper_ == nullptr) co_return fail(Errc::kUnreachable, "this node keeps no copies yet, or any more");
    auto answered = co_await keeper_->answer(std::move(question));
    co_return answered;
  }
  const auto place = addresses_.find(voter);
  if (!place) co_return fail(Errc::kUnreachable, "nobody knows where '" + voter + "' is");
  cluster::PeerAddress address = *place;
  std::string body = encode_question({fingerprint_, std::move(question)});
  auto reply = co_await links_.request(std::move(address), cluster::message_type::kCopies, wire::Priority::kBulk,
                                       std::move(body), timeout, cancel);
  if (!reply) co_return tl::unexpected(reply.error());
  auto answered = decode_answer(*reply);
  co_return answered;
}

void CopyLines::on_request(link::Connection& connection, const wire::Inbound& request) {
  const wire::Identity& sender = connection.peer().identity;
  if (!may_ask(sender.role)) {
    ++refused_;
    connection.respond(request.id, ReplyStatus::kNotPermitted, {});
    return;
  }
  auto asked = decode_question(as_text(request.body));
  if (!asked) {
    ++refused_;
    connection.respond(request.id, ReplyStatus::kFailed, as_bytes(asked.error().message));
    return;
  }
  if (asked->peers != fingerprint_) {
    ++refused_;
    return respond(connection, request.id, unable("it was told of other voters: " + joined(voters_)));
  }
  if (keeper_ == nullptr) return respond(connection, request.id, unable("it keeps no copies yet, or any more"));
  if (serving_ >= kMostServed || serving_bytes_ >= kMostServedBytes) {
    return respond(connection, request.id, answer(Verdict::kBusy));
  }
  served_[++number_] = {&connection, request.id};
  ++serving_;
  serving_bytes_ += request.body.size();
  scope_.spawn(serve_one(this, number_, std::move(asked->question), request.body.size()));
}

task<void> CopyLines::serve_one(CopyLines* self, uint64_t number, Question question, std::size_t bytes) {
  const Answer answered = co_await self->keeper_->answer(std::move(question));
  --self->serving_;
  self->serving_bytes_ -= bytes;
  const auto served = self->served_.find(number);
  if (served == self->served_.end()) co_return;
  const Served whom = served->second;
  self->served_.erase(served);
  if (whom.connection->open()) respond(*whom.connection, whom.id, answered);
}

void CopyLines::on_closed(link::Connection& connection) {
  std::erase_if(served_, [&](const auto& one) { return one.second.connection == &connection; });
}

}  // namespace bellwether::copies
