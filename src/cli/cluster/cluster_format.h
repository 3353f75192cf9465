// The output of `bellwether cluster` and `bellwether context`, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cluster/node/admin_messages.h"
#include "lead/context_driver/context_codec.h"

namespace bellwether::cli {

std::string text_of(const node::AdminAnswer& answer);
std::string json_of(const node::AdminAnswer& answer);

// The known state of the leadership of contexts. `others`: the answers of further nodes; only their fitness and manager
// are shown.
std::string context_text(const cluster::ContextView& view, const std::vector<cluster::ContextView>& others);
std::string context_json(const cluster::ContextView& view, const std::vector<cluster::ContextView>& others);

std::string outcome_text(const std::string& id, const cluster::OutcomeAnswer& outcome);
std::string outcome_json(const std::string& id, const cluster::OutcomeAnswer& outcome);

// The steps of a transfer or a take-over, a line each.
std::string failover_text(const cluster::ContextView::Failover& failover);

}  // namespace bellwether::cli
