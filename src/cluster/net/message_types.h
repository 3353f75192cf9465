// The types of messages between nodes (cluster/wire/session.h), a hundred for each concern. A number that was used is
// never used for something else.
#pragma once

#include <cstdint>

namespace bellwether::cluster {

namespace message_type {
inline constexpr uint16_t kMembershipStream = 100;  // request: a view, or a part of it; its answer likewise
inline constexpr uint16_t kLeadership = 200;        // one-way: between those who vote
inline constexpr uint16_t kVote = 201;              // one-way: of a scored vote (cluster/vote/vote_codec.h)
inline constexpr uint16_t kKeyShare = 202;          // one-way: of the key of an admin (vote/key_share_codec.h)
inline constexpr uint16_t kAdmin = 300;             // request of an operator (cluster/node/admin_messages.h)
inline constexpr uint16_t kJobs = 400;              // one-way: about registers of jobs (cluster/register/small.h)
inline constexpr uint16_t kDispatch = 500;     // requests and one-way: letters about jobs (jobs/dispatch/letters.h)
inline constexpr uint16_t kParcelPiece = 700;  // request: a piece of a larger one (cluster/net/parcels.h)
inline constexpr uint16_t kParcelFetch = 701;  // request: a piece of an answer
inline constexpr uint16_t kContext = 800;      // requests and one-way: of context leadership
inline constexpr uint16_t kCopies = 600;       // request: about big values of jobs (cluster/register/large.h)
}  // namespace message_type

}  // namespace bellwether::cluster
