// The membership worlds as a command runs them: text in, text out, nothing printed here.
//
//   membership        chaos worlds, one seed or many, with a mistake or without
//   membership-grid   the anomaly grid: a table of plain SWIM, Lifeguard as published and the profile `lan`
//   membership-crash  how soon crashes are seen in groups of 3 to 10,000, and what an idle group of 1,000 costs
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bellwether::sim {

struct MembershipCommand {
  std::string world;
  std::optional<uint64_t> seed;  // one run, told in full
  uint64_t from = 1;
  uint64_t seeds = 1000;
  std::string mistake = "none";
};
struct MembershipReport {
  bool known = true;  // whether there is such a world and such a mistake
  bool held = true;
  std::string text;
};

bool is_membership_world(std::string_view world);
// The worlds and the mistakes, a line each.
std::string membership_worlds();
// For the grid `seeds` says which share of it is run: 1000 and more the whole, less a part spread over it.
MembershipReport run_membership(const MembershipCommand& command);

}  // namespace bellwether::sim
