// What others send and does not decode is refused, counted and told by us, within limits. libprotobuf would write a
// line of its own to standard error for each of it, as often as a peer likes.
#pragma once

namespace bellwether::node {

// For the whole process.
void quiet_protobuf();

}  // namespace bellwether::node
