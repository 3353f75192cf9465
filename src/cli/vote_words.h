// What `bellwether cluster votes` says beside the last ballot (ballot_words.h): heartbeats, promises, messages.
#pragma once

#include <string>

#include "node/cluster/admin_messages.h"

namespace bellwether::cli {

std::string vote_status_text(const node::VotesAnswer& votes);
// Nothing when no messages were asked for.
std::string vote_messages_text(const node::VotesAnswer& votes);

}  // namespace bellwether::cli
