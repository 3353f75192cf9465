// What `bellwether cluster` prints, for people and as JSON.
#pragma once

#include <string>

namespace bellwether::wire {
class AdminAnswer;
}

namespace bellwether::cli {

std::string text_of(const wire::AdminAnswer& answer);
std::string json_of(const wire::AdminAnswer& answer);

}  // namespace bellwether::cli
