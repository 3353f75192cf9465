// What `bellwether cluster votes` says beside the last ballot (ballot_words.h): heartbeats, promises, messages.
#pragma once

#include <string>

namespace bellwether::wire {
class AdminAnswer;
}  // namespace bellwether::wire

namespace bellwether::cli {

// REQUIRES answers that have votes.
std::string vote_status_text(const wire::AdminAnswer& answer);
// Nothing when no messages were asked for.
std::string vote_messages_text(const wire::AdminAnswer& answer);

}  // namespace bellwether::cli
