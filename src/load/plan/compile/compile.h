// From a scenario to a plan: names become indices, templates become pieces, files are read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "load/plan/compile/compile_data.h"
#include "load/plan/compile/dag.h"
#include "load/plan/compile/template.h"
#include "load/plan/plan.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

// The common state of compiling.
struct Compiling {
  const scenario::Scenario& source;
  const scenario::Sources& sources;
  scenario::Reading& reading;
  std::size_t plan_bytes = 0;  // constant text so far, bounded by kMaxPlanBytes
  // Certificates, and keys of them, by path from the scenario's folder; null: invalid and reported.
  std::map<std::string, std::shared_ptr<const std::string>> certificates = {};
  std::map<std::string, std::shared_ptr<const std::string>> keys = {};
  std::set<std::pair<std::shared_ptr<const std::string>, std::shared_ptr<const std::string>>> pairs = {};  // checked
  std::vector<DataSource> data = {};
  std::map<std::string, std::shared_ptr<const Proxies>> proxies =
      {};                             // by their text in the scenario; null: none, or wrong
  std::vector<HttpCall> tokens = {};  // Plan::tokens
};

HttpCall compile_http(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling);
// The begin of requests that a program completes: the defaults of the scenario.
HttpCall compile_base_call(TemplateMaker& templates, Compiling& compiling);
// `index`: of the step. Adds a new file to the programs of `plan`.
CodeCall compile_code(const scenario::Code& code, const Scope& scope, std::size_t index, TemplateMaker& templates,
                      Compiling& compiling, Plan& plan);

// The scenario's own metrics.
void compile_metrics(const scenario::Scenario& source, scenario::Reading& reading, Plan& plan);

// The content of a file, or nothing when that was reported.
std::optional<std::string> read_file(const scenario::Text& path, uint64_t bytes_max, Compiling& compiling);
// The credentials of the step, or of the defaults: a header, or its source.
void add_credentials(const scenario::Http& http, TemplateMaker& templates, Compiling& compiling, HttpCall& call);
bool has_header(const HttpCall& call, std::string_view name);
void add_body(const scenario::Body& body, TemplateMaker& templates, Compiling& compiling, HttpCall& call);
// The meaning of `proxy` in a scenario; null: none.
std::shared_ptr<const Proxies> proxies_of(const scenario::Text& proxy, Compiling& compiling);

// Checks of `step`, with templates of its begin (of checks of the status) and of its end. The ids go on from the end of
// `infos`, to which their names are added.
std::vector<Check> compile_checks(const scenario::Step& step, StepId id, TemplateMaker& before, TemplateMaker& after,
                                  std::vector<CheckInfo>& infos, scenario::Reading& reading);
// The records of `step` of the plan's metrics: its own values, and those that its program may record.
void compile_records(const scenario::Step& source, TemplateMaker& templates, Compiling& compiling, Plan& plan,
                     Step& out);
// The key `if` of `step`.
std::vector<Condition> compile_conditions(const scenario::Step& step, TemplateMaker& templates,
                                          scenario::Reading& reading);
// The time of the group that `step` belongs to, which is a metric of the plan already.
void compile_group(scenario::Mark mark, scenario::Reading& reading, Plan& plan, Workflow& workflow, Step& step);
// The orders of the steps of `out`, whose work is known.
void compile_flow(const scenario::Workflow& source, const Dag& dag, const Plan& plan, Workflow& out);
Extract compile_extract(const scenario::Extraction& extraction, SlotId slot, scenario::Reading& reading);

// The plan is of use only if `reading.diagnostics` has no report. Faulty workflows are compiled, too, for their
// independent errors.
Plan compile(const scenario::Scenario& source, const scenario::Sources& sources, scenario::Reading& reading);

}  // namespace bellwether::plan
