// From a scenario to a plan: names become indices, templates become pieces, files are read.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "load/plan/compile/dag.h"
#include "load/plan/compile/scope.h"
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

// Certificates in PEM form, for the checks of a plan.

// Whether the text has at least the beginning of a certificate in it. Its use shows whether it is valid.
bool holds_certificate(std::string_view pem);
// Whether the text has the beginning of a private key in it that no passphrase encrypts.
bool holds_plain_key(std::string_view pem);
// Whether the first certificate of a text and the key of another make a pair. kInvalid: why not.
Status check_pair(std::string_view certificate_pem, std::string_view key_pem);

// From the URL of a step to a complete, absolute URL.

// Puts `base` before a URL without scheme (with exactly one / between them), drops the fragment, adds the / of an empty
// path and percent-encodes forbidden characters. Error: no http:// or https://, no or an impossible host.
Status complete_url(Template& url, std::string_view base);

// Appends ?name=value or &name=value. REQUIRES a completed URL.
void append_query(Template& url, const Template& name, const Template& value);

// The value of the key `hosts`: IP or IP:PORT. Error: kInvalid.
Result<HostPlace> parse_host_place(std::string_view host, std::string_view place);

// The value of the key `local_ips`, added to `out`: IP, IP-IP or IP/BITS, several with commas. Error: kInvalid.
Status parse_local_ips(std::string_view text, std::vector<IpRange>& out);

}  // namespace bellwether::plan
