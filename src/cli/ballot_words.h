// What `bellwether cluster votes` prints, for people and as JSON.
#pragma once

#include <string>

namespace bellwether::wire {
class AdminAnswer;
}

namespace bellwether::cli {

// REQUIRES an answer that has votes.
std::string ballot_text(const wire::AdminAnswer& answer);
std::string ballot_json(const wire::AdminAnswer& answer);

}  // namespace bellwether::cli
