#include "load/plan/load.h"

#include <algorithm>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/base/encoding.h"
#include "core/signature/signature.h"
#include "load/plan/compile/compile.h"
#include "load/plan/compile/template.h"
#include "load/scenario/model.h"
#include "load/scenario/parse.h"
#include "load/scenario/section.h"

namespace bellwether::plan {
namespace {

// "load/shop.yaml" is called "shop".
std::string stem(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::size_t dot = file.rfind('.');
  return dot == 0 ? file : file.substr(0, dot);
}

const scenario::Node* env_of(const scenario::Node& root) {
  for (const scenario::Node& item : root.items) {
    if (root.is_map() && item.key == "env") return &item;
  }
  return nullptr;
}

// A --set without a use is a typing error: the run would not be the intended one.
void check_sets(const scenario::Sources& sources, const std::vector<std::string>& texts,
                const scenario::Environment& environment, scenario::Diagnostics& diagnostics) {
  const auto mentioned = [&texts](const std::string& name) {
    return std::ranges::any_of(
        texts, [&](const std::string& text) { return text.find(fmt::format("${{{}}}", name)) != std::string::npos; });
  };
  for (const auto& [name, value] : sources.sets) {
    if (!scenario::is_value_name(name)) {
      diagnostics.add({}, {.message = fmt::format("--set {} cannot be the name of a value", scenario::in_quotes(name)),
                           .expected = "NAME=VALUE, the name of letters, digits and _"});
    } else if (!environment.declares(name) && !mentioned(name)) {
      diagnostics.add(
          {}, {.message = fmt::format("--set {}: the scenario mentions no such name", scenario::in_quotes(name)),
               .complete = [&](scenario::Diagnostics::Problem& problem) {
                 problem.hint = scenario::did_you_mean(name, environment.declared());
               }});
    }
  }
}

// A program, a library or an archive of them. Only running it could show its scenario.
bool is_compiled(std::string_view text) { return text.starts_with("\x7f\x45LF") || text.starts_with("!<arch>\n"); }

Result<Plan> plan_of_scenario(const scenario::RecordedScenario& record) {
  const scenario::ReplayingOutside outside(record);
  auto plan = load(scenario::sources_of(record, outside));
  if (plan) {
    if (Status vouched = check_signatures(*plan); !vouched) {
      return fail(Errc::kInvalid, "{}: {}", record.file_name, vouched.error().message);
    }
    return std::move(*plan);
  }
  std::string text;
  for (const scenario::Diagnostic& diagnostic : plan.error()) {
    text += (text.empty() ? "" : "\n") + scenario::format(diagnostic);
  }
  return fail(Errc::kInvalid, std::move(text));
}

Result<HttpCall> make_call(const QuickRun& run) {
  HttpCall call;
  if (!scenario::is_http_token(run.method) || iequals(run.method, "connect")) {
    return fail(Errc::kInvalid, scenario::in_quotes(run.method) + " is no method that a request can have");
  }
  for (const char c : run.method) call.method += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  append_literal(call.url, run.url);
  if (const Status completed = complete_url(call.url, {}); !completed) {
    const bool has_scheme = run.url.find("://") != std::string::npos;
    return fail(completed.error().code, "wrong URL {}: {}{}", scenario::in_quotes(run.url), completed.error().message,
                has_scheme ? "" : fmt::format("; did you mean http://{}?", run.url));
  }
  for (const auto& [name, value] : run.headers) {
    if (!scenario::is_http_token(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
      return fail(Errc::kInvalid,
                  fmt::format("wrong header {}; write for example 'Accept: text/html'", scenario::in_quotes(name)));
    }
    if (iequals(name, "transfer-encoding")) {
      return fail(Errc::kInvalid,
                  "the header {} cannot be set: a body is always sent in one piece, with its Content-Length",
                  scenario::in_quotes(name));
    }
    Header& header = call.headers.emplace_back();
    header.name = name;
    append_literal(header.value, value);
  }
  if (run.body) append_literal(call.body.emplace(), *run.body);
  call.tls.verify = !run.skip_tls_verify;
  if (!run.tls_ca.empty()) {
    if (!holds_certificate(run.tls_ca)) {
      return fail(Errc::kInvalid,
                  "the file {} holds no certificate; expected: PEM, from -----BEGIN CERTIFICATE----- on",
                  scenario::in_quotes(run.tls_ca_name));
    }
    call.tls.ca = {std::make_shared<const std::string>(run.tls_ca), run.tls_ca_name};
  }
  return call;
}

}  // namespace

tl::expected<Plan, std::vector<scenario::Diagnostic>> load(const scenario::Sources& sources) {
  check(sources.outside != nullptr, "the scenario may ask for a file or a variable");
  scenario::Diagnostics diagnostics(sources.file_name);
  if (is_compiled(sources.text)) {
    diagnostics.add({1, 1},
                    {.message = "this is a compiled program",
                     .expected = "a scenario as text (YAML)",
                     .hint = "only text is read here, and nothing is executed: `bellwether run` and `bellwether job "
                             "submit` ask a program what its scenario is"});
    return tl::unexpected(diagnostics.take());
  }
  const auto whole = scenario::read_with_includes(sources, diagnostics);
  if (!whole) return tl::unexpected(diagnostics.take());
  const auto environment = scenario::Environment::resolve(env_of(whole->root), sources, diagnostics);
  check_sets(sources, whole->texts, environment, diagnostics);
  scenario::Reading reading{diagnostics, environment, whole->folders};
  if (const scenario::Node* env = env_of(whole->root); env != nullptr && !diagnostics.empty()) {
    note_unread(*env, reading);
  }
  scenario::Scenario scenario = scenario::parse_scenario(whole->root, stem(sources.file_name), reading);
  if (diagnostics.empty()) scenario::apply_overrides(sources.overrides, scenario, diagnostics);
  Plan plan = compile(scenario, sources, reading);
  if (!diagnostics.empty()) return tl::unexpected(diagnostics.take());
  return plan;
}

Status check_signatures(const Plan& plan) {
  for (const Program& program : plan.programs) {
    if (program.language != Program::Language::kNative) continue;
    BW_RETURN_IF_ERROR(signature::read(*program.text, program.name));
  }
  return {};
}

tl::expected<Bundled, std::vector<scenario::Diagnostic>> bundle_scenario(scenario::Sources sources) {
  check(sources.outside != nullptr, "the scenario may ask for a file or a variable");
  scenario::RecordedScenario record;
  const scenario::RecordingOutside outside(*sources.outside, record);
  sources.outside = &outside;
  BW_TRY(auto plan, load(sources));
  record.file_name = std::move(sources.file_name);
  record.text = std::move(sources.text);
  record.sets = std::move(sources.sets);
  record.overrides = sources.overrides;
  return Bundled{std::move(record), std::move(plan)};
}

Result<Bundled> bundle_url(scenario::QuickRun run) {
  BW_TRY(auto plan, make_plan(run));
  return Bundled{std::move(run), std::move(plan)};
}

Result<Plan> plan_of(const scenario::Bundle& bundle) {
  if (const auto* record = std::get_if<scenario::RecordedScenario>(&bundle)) return plan_of_scenario(*record);
  return make_plan(std::get<scenario::QuickRun>(bundle));
}

Result<Plan> make_plan(const QuickRun& run) {
  if (run.vus == 0 || run.vus > scenario::kMaxVus) {
    return fail(Errc::kInvalid, "--vus must be from 1 to {}", scenario::kMaxVus);
  }
  if (run.duration <= Duration::zero()) return fail(Errc::kInvalid, "--duration must be longer than 0");
  if (run.rate_per_s && !(*run.rate_per_s > 0 && *run.rate_per_s <= scenario::kMaxRate)) {
    return fail(Errc::kInvalid, "--rate must be above 0 and at most 10000000/s");
  }
  BW_TRY(auto call, make_call(run));
  Plan plan;
  plan.name = run.url;
  plan.timeout = run.timeout;
  Workflow& workflow = plan.workflows.emplace_back();
  workflow.name = "url";
  if (run.load.of_rates && !run.load.stages.empty()) {
    ArrivalRate rising{{}, {.preallocated = run.vus, .most = run.vus, .wait_max = {}}};
    double rate = run.rate_per_s.value_or(0);
    for (const scenario::NewLoad::Stage& stage : run.load.stages) {
      rising.stages.push_back({rate, stage.target, stage.duration});
      rate = stage.target;
    }
    workflow.executor = std::move(rising);
  } else if (!run.load.stages.empty()) {
    RampingVus course{.start_vus = run.vus, .stages = {}, .pacing = {}};
    for (const scenario::NewLoad::Stage& stage : run.load.stages) {
      course.stages.push_back(
          {stage.duration, static_cast<uint32_t>(std::min<double>(stage.target, scenario::kMaxVus))});
    }
    workflow.executor = std::move(course);
  } else if (run.load.iterations) {
    const uint64_t count = *run.load.iterations;
    workflow.executor = Iterations{.vus = static_cast<uint32_t>(std::min<uint64_t>(run.vus, count)),
                                   .iterations = count,
                                   .shared = true,
                                   .max_duration = run.duration};
  } else if (run.rate_per_s) {
    workflow.executor = ArrivalRate{{{*run.rate_per_s, *run.rate_per_s, run.duration}},
                                    {.preallocated = run.vus, .most = run.vus, .wait_max = {}}};
  } else {
    workflow.executor = ConstantVus{.vus = run.vus, .duration = run.duration, .pacing = std::nullopt};
  }
  Step& step = workflow.steps.emplace_back();
  step.name = lower_case(call.method);
  step.work = std::move(call);
  workflow.order = {.steps = {0}, .is_chain = true, .first = {0}, .width = 1};
  if (!run.local_ips.empty()) BW_RETURN_IF_ERROR(parse_local_ips(run.local_ips, plan.local_ips));
  for (const auto& [host, place] : run.hosts) {
    BW_TRY(auto one, parse_host_place(host, place));
    plan.hosts.push_back(std::move(one));
  }
  for (const auto& [key, value] : run.tags) plan.tags.push_back({key, value});
  plan.steps.push_back({.workflow = 0,
                        .index = 0,
                        .name = fmt::format("{}.{}", workflow.name, step.name),
                        .measured = true,
                        .tags = plan.tags});
  return plan;
}

std::vector<std::string> host_warnings(const Plan& plan) {
  std::vector<std::string> hosts;
  bool knows_all = true;
  const auto add = [&](const HttpCall& call) {
    const std::string origin = origin_of(call.url);
    knows_all = knows_all && !origin.empty();
    const std::size_t begin = origin.find("://") + 3;
    if (origin.empty()) return;
    const bool is_v6 = origin[begin] == '[';
    const std::size_t end = origin.find(is_v6 ? ']' : ':', begin);
    hosts.push_back(origin.substr(begin + (is_v6 ? 1 : 0), end - begin - (is_v6 ? 1 : 0)));
  };
  for (const HttpCall& token : plan.tokens) add(token);
  for (const Workflow& workflow : plan.workflows) {
    for (const Step& step : workflow.steps) {
      if (const auto* call = std::get_if<HttpCall>(&step.work)) add(*call);
      knows_all = knows_all && !std::holds_alternative<CodeCall>(step.work);
    }
  }
  std::vector<std::string> out;
  for (const HostPlace& place : plan.hosts) {
    const auto is_it = [&](const std::string& host) { return iequals(host, place.host); };
    if (!knows_all || std::ranges::any_of(hosts, is_it)) continue;
    const std::vector<std::string_view> names(hosts.begin(), hosts.end());
    const std::string hint = scenario::did_you_mean(place.host, names);
    out.push_back(fmt::format("no URL has the host {} of 'hosts' or --resolve{}", scenario::in_quotes(place.host),
                              hint.empty() ? ": only a redirect could lead to it" : fmt::format(" ({})", hint)));
  }
  return out;
}

}  // namespace bellwether::plan
