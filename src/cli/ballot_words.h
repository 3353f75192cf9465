// What `bellwether cluster votes` prints, for people and as JSON.
#pragma once

#include <string>

#include "node/cluster/admin_messages.h"

namespace bellwether::cli {

std::string ballot_text(const node::VotesAnswer& votes);
std::string ballot_json(const node::VotesAnswer& votes);

}  // namespace bellwether::cli
