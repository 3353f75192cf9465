// What `bellwether cluster votes` says beside the last ballot (ballot_words.h): heartbeats, promises, messages.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "proto/admin.pb.h"

namespace bellwether::cli {

std::string vote_status_text(const wire::AdminAnswer::Votes& votes);
// Nothing when no messages were asked for.
std::string vote_messages_text(const wire::AdminAnswer::Votes& votes);
// Adds to the object of the ballot.
void put_vote_status(const wire::AdminAnswer::Votes& votes, nlohmann::ordered_json& out);

}  // namespace bellwether::cli
