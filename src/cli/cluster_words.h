// What `bellwether cluster` prints, for people and as JSON.
#pragma once

#include <string>

#include "cluster/node/admin_messages.h"

namespace bellwether::cli {

std::string text_of(const node::AdminAnswer& answer);
std::string json_of(const node::AdminAnswer& answer);

}  // namespace bellwether::cli
