// The figures of a node that votes by scores, for its page of metrics. Pure.
#pragma once

#include <vector>

#include "cluster/vote_view.h"
#include "node/cluster/node_page.h"

namespace bellwether::node {

std::vector<Figure> figures_of_vote(const cluster::VoteView& view);

}  // namespace bellwether::node
