// The output of `bellwether cluster`, `context` and `job`, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "bellwether/client.h"
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

// Of `bellwether job`: the parts of a history to show beside a status.
struct Detail {
  const client::History* history = nullptr;  // nullptr: nothing
  bool steps = false;
  bool series = false;
};
// The whole status, as JSON or as text.
std::string words_of(const client::Status& status, bool json, const Detail& detail = {});
std::string words_of(const client::JobList& list, bool json);
std::string words_of(const std::vector<client::Worker>& workers, bool json);
std::string words_of(const std::vector<client::Datacenter>& datacenters, bool json);
// One line for each window; before them {"anew": true} or {"skipped": N} if that applies, after them {"total": {…}}.
std::string json_lines_of(const client::LiveNews& news);

// The workers that run a workflow now: "w1 (2), w2 (1)"; empty: none.
std::string workers_of(const client::Status& status, std::size_t workflow);

}  // namespace bellwether::cli
