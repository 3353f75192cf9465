// Messages of a scored vote in words, for people. On the wire they are protobuf (vote_codec.h).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "election/vote/vote_messages.h"

namespace bellwether::cluster {

// "discovery_request", "discovery_response", "election_started", "candidacy", "vote", "winner", "heartbeat",
// "heartbeat_answer".
std::string_view kind_of(const vote::Body& body);

// What it is about; of requests, the highest that the sender knows.
vote::Term term_of(const vote::Message& message);

// All of a message as one JSON object: nodes by their names, spans in seconds. A stranger, who has none in `names`,
// is said by the number of its id.
std::string json_of(const vote::Message& message, const std::map<vote::NodeId, std::string>& names);

}  // namespace bellwether::cluster
