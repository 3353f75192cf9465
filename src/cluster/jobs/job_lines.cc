#include "cluster/jobs/job_lines.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/message_types.h"
#include "wire/identity.h"

namespace bellwether::jobs {
namespace {

// For a connection to be made. What is asked is asked again sooner.
constexpr Duration kPatience = Duration::seconds(1);

std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

bool may_own(wire::Role role) { return role == wire::Role::kManager || role == wire::Role::kGate; }

}  // namespace

JobLines::JobLines(cluster::PeerLinks& links, cluster::Switchboard& switchboard, const cluster::Addresses& addresses,
                   std::string self, std::vector<std::string> peers)
    : links_(links),
      switchboard_(switchboard),
      addresses_(addresses),
      self_(std::move(self)),
      self_id_(cluster::member_id(self_)),
      peers_(std::move(peers)) {
  std::sort(peers_.begin(), peers_.end());
  fingerprint_ = wire::node_hash(joined(peers_, " "));
  for (const std::string& name : peers_) names_[cluster::member_id(name)] = name;
  check(!peers_.empty() && peers_.size() <= quorum::kMostMembers && names_.size() == peers_.size(),
        "peers are validated before they are used");
  switchboard_.connect(cluster::message_type::kJobs, *this);
}

JobLines::~JobLines() { switchboard_.disconnect(cluster::message_type::kJobs); }

std::vector<MemberId> JobLines::peer_ids() const {
  std::vector<MemberId> ids;
  for (const auto& [id, name] : names_) ids.push_back(id);
  return ids;
}

bool JobLines::is_peer(MemberId member) const { return names_.contains(member); }

std::string JobLines::name_of(MemberId member) const {
  if (member == self_id_) return self_;
  const auto peer = names_.find(member);
  if (peer != names_.end()) return peer->second;
  const auto asker = askers_.find(member);
  return asker == askers_.end() ? std::string() : asker->second;
}

void JobLines::send(MemberId to, decltype(Message::body) body) {
  if (to == self_id_) return deliver(self_id_, body);
  const std::string name = name_of(to);
  const auto peer = name.empty() ? std::nullopt : addresses_.find(name);
  if (!peer) return;  // as if it had been lost
  links_.send(*peer, cluster::message_type::kJobs, wire::Priority::kControl,
              encode_message({fingerprint_, std::move(body)}), kPatience);
}

void JobLines::on_message(link::Connection& connection, const wire::Inbound& inbound) {
  const auto message = decode_message(as_text(inbound.body));
  const wire::Identity& sender = connection.peer().identity;
  const MemberId from = cluster::member_id(sender.node);
  if (!message) {
    ++refused_;
    return;
  }
  const auto* ask = std::get_if<dispatch::Ask>(&message->body);
  const bool alike = message->peers == fingerprint_ || std::holds_alternative<Unable>(message->body);
  if (ask != nullptr ? !may_own(sender.role) : !is_peer(from) || !alike) {
    ++refused_;
    return;
  }
  if (ask != nullptr && !is_peer(from) && !askers_.contains(from)) {
    if (askers_.size() >= kMostAskers) askers_.erase(askers_.begin());
    askers_[from] = sender.node;
  }
  if (!alike) {
    ++refused_;
    return send(from, Unable{ask->key, "it was told of other peers: " + joined(peers_, ", ")});
  }
  deliver(from, message->body);
}

void JobLines::deliver(MemberId from, const decltype(Message::body)& body) {
  if (const auto* ask = std::get_if<dispatch::Ask>(&body)) {
    if (keeper_ != nullptr) keeper_->on_ask(from, *ask);
  } else if (const auto* gone = std::get_if<Gone>(&body)) {
    if (keeper_ != nullptr) keeper_->on_gone(*gone);
  } else if (owners_ == nullptr) {
    return;
  } else if (const auto* answer = std::get_if<dispatch::Answer>(&body)) {
    owners_->on_answer(from, *answer);
  } else if (const auto* freed = std::get_if<Freed>(&body)) {
    owners_->on_freed(*freed);
  } else if (const auto* unable = std::get_if<Unable>(&body)) {
    owners_->on_unable(from, *unable);
  }
}

}  // namespace bellwether::jobs
