#include "node/cluster/vote_answer.h"

#include <algorithm>

#include "proto/admin.pb.h"

namespace bellwether::node {
namespace {

int64_t signed_milliseconds(Duration span) { return span.ns() / 1'000'000; }

void put_refused(std::string_view reason, uint64_t count, wire::AdminAnswer::Votes& out) {
  if (count == 0) return;
  auto& refused = *out.add_refused();
  refused.set_reason(std::string(reason));
  refused.set_count(count);
}

}  // namespace

void put_vote_status(const cluster::VoteStatus& status, wire::AdminAnswer& answer) {
  wire::AdminAnswer::Votes& out = *answer.mutable_votes();
  if (const auto& beat = status.heartbeat) {
    auto& heartbeat = *out.mutable_heartbeat();
    heartbeat.set_sent(beat->sent);
    heartbeat.set_age_ms(static_cast<uint64_t>(std::max<int64_t>(signed_milliseconds(beat->age), 0)));
    heartbeat.set_term(beat->term);
    heartbeat.set_round(beat->round);
    heartbeat.set_sequence(beat->sequence);
  }
  for (const auto& one : status.promises) {
    auto& promise = *out.add_promises();
    promise.set_by(one.by);
    promise.set_to(one.to);
    promise.set_ends_in_ms(signed_milliseconds(one.ends_in));
  }
  for (const auto& one : status.followers) {
    auto& follower = *out.add_followers();
    follower.set_name(one.node);
    follower.set_answered(one.beats.answered);
    follower.set_missed(one.beats.missed);
    follower.set_lately(one.beats.lately);
    follower.set_missed_lately(one.beats.missed_lately);
  }
  const cluster::VoteCounts& counts = status.counts;
  for (std::size_t i = 0; i < counts.unheard.size(); ++i) {
    put_refused(to_string(static_cast<cluster::Unheard>(i)), counts.unheard[i], out);
  }
  for (std::size_t i = 0; i < counts.refusals.size(); ++i) {
    put_refused(to_string(static_cast<vote::Refusal>(i)), counts.refusals[i], out);
  }
  for (const auto& [name, count] : counts.unsigned_of) out.add_unsigned_of(name);
  out.set_elections_last_hour(static_cast<uint32_t>(status.elections_last_hour));
  out.set_failed_last_hour(static_cast<uint32_t>(status.failed_last_hour));
  out.set_beats_heard(counts.beats_heard);
  out.set_beats_lost(counts.beats_lost);
}

void put_vote_messages(const std::vector<cluster::VoteMessageView>& messages, wire::AdminAnswer& answer) {
  wire::AdminAnswer::Votes& out = *answer.mutable_votes();
  auto first = messages.end();
  for (std::size_t room = kVoteMessageBytes; first != messages.begin();) {
    const std::size_t size = std::prev(first)->json.size() + 256;  // and the rest of it, at most
    if (size > room) break;
    room -= size;
    --first;
  }
  for (; first != messages.end(); ++first) {
    auto& message = *out.add_messages();
    message.set_at_ms(static_cast<uint64_t>(std::max<int64_t>(first->at.unix_ns / 1'000'000, 0)));
    message.set_sent(first->sent);
    message.set_peer(first->peer);
    message.set_kind(std::string(first->kind));
    message.set_term(first->term);
    message.set_sequence(first->sequence);
    message.set_refused(first->refused);
    message.set_json(first->json);
  }
}

}  // namespace bellwether::node
