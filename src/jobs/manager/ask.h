// Letters to other nodes, and their answers (jobs/dispatch/letters.h).
#pragma once

#include <string>

#include "cluster/net/peer_links.h"
#include "cluster/net/switchboard.h"
#include "jobs/dispatch/letters.h"

namespace bellwether::node {

// One try. Errors are those of PeerLinks::request(), and kProtocol for an answer that is none.
runtime::task<Result<dispatch::Response>> ask(cluster::PeerLinks& links, cluster::PeerAddress to,
                                              dispatch::Letter letter, Duration timeout, runtime::Cancellation* cancel);

// What an answer says that is not the one that was hoped for, in words.
std::string words_of(const Result<dispatch::Response>& answer);

void respond(cluster::Switchboard& switchboard, link::Connection& connection, wire::RequestId id,
             const dispatch::Response& response);

}  // namespace bellwether::node
