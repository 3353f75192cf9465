#include "load/plan/quick.h"

#include <cmath>

#include "core/base/bytes.h"
#include "load/plan/certificates.h"
#include "load/plan/template.h"
#include "load/plan/url.h"
#include "load/scenario/model.h"
#include "load/scenario/names.h"

namespace bellwether::plan {
namespace {

Result<HttpCall> make_call(const QuickRun& run) {
  HttpCall call;
  if (!scenario::is_http_token(run.method) || iequals(run.method, "connect")) {
    return fail(Errc::kInvalid, scenario::in_quotes(run.method) + " is no method that a request can have");
  }
  for (const char c : run.method) call.method += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  append_literal(call.url, run.url);
  if (const Status completed = complete_url(call.url, {}); !completed) {
    const bool has_scheme = run.url.find("://") != std::string::npos;
    return fail(completed.error().code, "wrong URL " + scenario::in_quotes(run.url) + ": " + completed.error().message +
                                            (has_scheme ? "" : "; did you mean http://" + run.url + "?"));
  }
  for (const auto& [name, value] : run.headers) {
    if (!scenario::is_http_token(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return fail(Errc::kInvalid,
                  "wrong header " + scenario::in_quotes(name) + "; write for example 'Accept: text/html'");
    }
    if (iequals(name, "transfer-encoding")) {
      return fail(Errc::kInvalid, "the header " + scenario::in_quotes(name) +
                                      " cannot be set: a body is always sent in one piece, with its Content-Length");
    }
    Header& header = call.headers.emplace_back();
    header.name = name;
    append_literal(header.value, value);
  }
  if (run.body) append_literal(call.body.emplace(), *run.body);
  call.tls_verify = !run.skip_tls_verify;
  if (!run.tls_ca.empty()) {
    if (!holds_certificate(run.tls_ca)) {
      return fail(Errc::kInvalid, "the file " + scenario::in_quotes(run.tls_ca_name) +
                                      " holds no certificate; expected: PEM, from -----BEGIN CERTIFICATE----- on");
    }
    call.tls_ca = std::make_shared<const std::string>(run.tls_ca);
    call.tls_ca_name = run.tls_ca_name;
  }
  return call;
}

}  // namespace

Result<Plan> make_plan(const QuickRun& run) {
  if (run.vus == 0 || run.vus > scenario::kVusMax) {
    return fail(Errc::kInvalid, "--vus must be from 1 to " + std::to_string(scenario::kVusMax));
  }
  if (run.duration <= Duration::zero()) return fail(Errc::kInvalid, "--duration must be longer than 0");
  if (run.rate_per_s && !(*run.rate_per_s > 0 && *run.rate_per_s <= scenario::kRateMax)) {
    return fail(Errc::kInvalid, "--rate must be above 0 and at most 10000000/s");
  }
  BW_TRY(auto call, make_call(run));
  Plan plan;
  plan.name = run.url;
  plan.timeout = run.timeout;
  Workflow& workflow = plan.workflows.emplace_back();
  workflow.name = "url";
  if (run.rate_per_s) {
    workflow.executor = ArrivalRate{{{*run.rate_per_s, *run.rate_per_s, run.duration}},
                                    {.preallocated = run.vus, .most = run.vus, .wait_max = {}}};
  } else {
    workflow.executor = ConstantVus{.vus = run.vus, .duration = run.duration, .pacing = std::nullopt};
  }
  Step& step = workflow.steps.emplace_back();
  for (const char c : call.method) step.name += ascii_lower(c);
  step.work = std::move(call);
  workflow.layers = {{0}};
  plan.steps.push_back({.workflow = 0,
                        .index = 0,
                        .name = workflow.name + "." + step.name,
                        .measured = true,
                        .open_model = run.rate_per_s.has_value()});
  return plan;
}

}  // namespace bellwether::plan
