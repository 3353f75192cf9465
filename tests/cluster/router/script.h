// The language in which a test tells the router what to do, a line a command:
//
//   node NAME NETNS ADDRESS…        a node with its IPv4 and IPv6 addresses, reached by a TUN device in that namespace
//   set FROM > TO SETTING VALUE …   faults of the links from each of FROM to each of TO; the others stay as they are
//   cut FROM > TO                   nothing passes any more; `heal FROM > TO` ends that
//   clear FROM > TO                 perfect links again, healed too
//   show                            a line for each link that was used, with its counters
//
// FROM and TO are names, several with commas between them, or `*`. `<>` in place of `>` means both ways. Settings:
// delay, jitter, reorder_by (durations: 20ms), loss, duplicate, reorder (10% or 0.1), rate (bytes per second: 1MiB, or
// none), queue (packets).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "router/links.h"

namespace bellwether::router {

struct NewNode {
  std::string name;
  std::string network_namespace;
  std::vector<std::string> addresses;
};

// The names of the nodes of a world and what a script makes of the links between them.
class Script {
 public:
  explicit Script(Links& links) : links_(links) {}

  // `node …`, taken apart. Nothing is changed.
  static Result<NewNode> parse_node(std::string_view line);
  // REQUIRES that no node has this name. Its number is that of the links.
  std::size_t add_node(std::string name);
  bool knows(std::string_view name) const;

  // Any other command. Gives what there is to show, in whole lines. An error changes nothing.
  Result<std::string> run(std::string_view line);

 private:
  struct Direction {
    std::size_t from;
    std::size_t to;
  };
  Result<std::vector<Direction>> directions(std::string_view from, std::string_view arrow, std::string_view to) const;
  Result<std::vector<std::size_t>> numbers(std::string_view names) const;
  Status set(const std::vector<Direction>& directions, const std::vector<std::string_view>& words);
  std::string show();

  Links& links_;
  std::vector<std::string> names_;
};

}  // namespace bellwether::router
