// What a node knows of its scored votes, as an answer to operators. Pure.
#pragma once

#include <string>
#include <vector>

#include "cluster/node/admin_messages.h"

namespace bellwether::node {

// Of the messages only the newest are told that fit: an answer is one frame.
inline constexpr std::size_t kVoteMessageBytes = 512 * 1024;

VotesAnswer votes_answer(cluster::VoteView view, std::vector<cluster::VoteMessageView> messages, std::string self);

}  // namespace bellwether::node
