// What `bellwether job` prints of jobs and workers, for people and as JSON.
#pragma once

#include <string>

#include "bellwether/client.h"

namespace bellwether::cli {

// What of a history is wanted beside a status.
struct Detail {
  const client::History* history = nullptr;  // nullptr: nothing
  bool steps = false;
  bool series = false;
};
std::string text_of(const client::Status& status, const Detail& detail = {});
std::string json_of(const client::Status& status, const Detail& detail = {});
// One line for each window; before them {"anew": true} or {"skipped": N} where that is so, after them {"total": {…}}.
std::string json_lines_of(const client::LiveNews& news);
std::string text_of(const client::JobList& list);
std::string json_of(const client::JobList& list);
std::string text_of(const std::vector<client::Worker>& workers);
std::string json_of(const std::vector<client::Worker>& workers);
std::string text_of(const std::vector<client::Datacenter>& datacenters);
std::string json_of(const std::vector<client::Datacenter>& datacenters);
// {"job": "…"} and, of one that was cancelled, {"job": "…", "cancelled": true}.
std::string json_of_job(const std::string& job, bool cancelled);

// Who runs a workflow now: "w1 (2), w2 (1)"; empty: nobody.
std::string workers_of(const client::Status& status, std::size_t workflow);

}  // namespace bellwether::cli
