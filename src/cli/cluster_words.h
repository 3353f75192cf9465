// What `bellwether cluster` prints, for people and as JSON.
#pragma once

#include <string>

#include "cluster/node/admin_messages.h"

namespace bellwether::cli {

// What `bellwether cluster votes` prints, for people and as JSON.
std::string ballot_text(const node::VotesAnswer& votes);
std::string ballot_json(const node::VotesAnswer& votes);

// People are told of whole milliseconds only.
int64_t whole_ms(Duration span);
std::string ms_text(Duration span);

std::string text_of(const node::AdminAnswer& answer);
std::string json_of(const node::AdminAnswer& answer);

}  // namespace bellwether::cli
