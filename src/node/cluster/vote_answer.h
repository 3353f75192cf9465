// What a node knows of its scored votes, as an answer to operators (proto/admin.proto). Pure.
#pragma once

#include <vector>

#include "cluster/vote_status.h"

namespace bellwether::wire {
class AdminAnswer;
}  // namespace bellwether::wire

namespace bellwether::node {

// Of the messages only the newest are told that fit: an answer is one frame.
inline constexpr std::size_t kVoteMessageBytes = 512 * 1024;

void put_vote_status(const cluster::VoteStatus& status, wire::AdminAnswer& answer);
void put_vote_messages(const std::vector<cluster::VoteMessageView>& messages, wire::AdminAnswer& answer);

}  // namespace bellwether::node
