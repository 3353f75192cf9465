// Converts the answers of the cluster to the types of the client library (bellwether/client.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "bellwether/client.h"
#include "core/yaml/node.h"
#include "jobs/dispatch/messages.h"
#include "load/aggregate/totals.h"
#include "load/report/run_report.h"

namespace bellwether::client::detail {

Error error_of(const bellwether::Error& error);
Error error_of(Code code, std::string message, const std::vector<yaml::Diagnostic>& diagnostics);

Span span_of(Duration duration);
// A span that does not fit becomes the longest that does.
Duration duration_of(Span span);

// `plan`: for the names of workflows; nullptr: none are known.
Status status_of(const dispatch::Watched& watched, const plan::Plan* plan);
Status status_of(const dispatch::JobRecord& record, uint32_t position, const std::string& owner,
                 const plan::Plan* plan);
std::vector<Loss> losses_of(const std::vector<plan::Loss>& losses);

// REQUIRES a window of the plan's shape.
Figures figures_of(const plan::Plan& plan, const metrics::Window& window, Duration covered);
Figures figures_of(const aggregate::Totals& totals);
History history_of(const aggregate::Totals& totals);
// Of a workflow that has ended: whether the totals reach beyond the last reported second of its assignments.
bool all_counted(const dispatch::JobRecord& record, uint16_t workflow, const aggregate::Totals& totals);
WorkflowResult workflow_result_of(const aggregate::Totals& totals, const dispatch::JobRecord& record,
                                  uint16_t workflow);
Result result_of(const report::RunReport& report, const dispatch::JobRecord& record, Status status);

}  // namespace bellwether::client::detail
