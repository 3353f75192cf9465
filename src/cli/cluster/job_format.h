// The output of `bellwether job` about jobs and workers, for people and as JSON.
#pragma once

#include <string>

#include "bellwether/client.h"

namespace bellwether::cli {

// The parts of a history to show beside a status.
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
