#include "load/plan/compile/compile.h"

#include <algorithm>

#include "core/base/overloaded.h"
#include "load/plan/context.h"
#include "load/plan/metric.h"

namespace bellwether::plan {
namespace {

// The links between the workflows of a scenario: their order, and the ways of their values.

using scenario::in_quotes;

static_assert(scenario::kMaxProvides == kMaxProvided && scenario::kMaxLists == kMaxLists);

// The entry that provides this name for workflow `to`.
const scenario::Provide* find(const scenario::Workflow& maker, std::string_view to, std::string_view name) {
  const auto at = std::ranges::find_if(
      maker.provides, [&](const scenario::Provide& one) { return one.to.text == to && one.name.text == name; });
  return at == maker.provides.end() ? nullptr : &*at;
}
bool takes(const scenario::Workflow& user, std::string_view from, std::string_view name) {
  return std::ranges::any_of(user.uses,
                             [&](const scenario::Use& one) { return one.from.text == from && one.name.text == name; });
}

class Dependencies {
 public:
  Dependencies(const scenario::Scenario& source, const Dag& order, scenario::Reading& reading, Plan& plan)
      : source_(source), order_(order), reading_(reading), plan_(plan) {}

  void provides(std::size_t w) {
    const scenario::Workflow& workflow = source_.workflows[w];
    for (const scenario::Provide& one : workflow.provides) {
      Provide& made = plan_.workflows[w].provides.emplace_back();
      made.name = one.name.text;
      made.collect_all = one.collect_all;
      if (one.collect_all && ++lists_ == scenario::kMaxLists + 1) {
        reading_.diagnostics.add(
            one.name.mark,
            {.message = fmt::format("the scenario has more than {} values with 'collect: all'", scenario::kMaxLists)});
      }
      if (find(workflow, one.to.text, one.name.text) != &one) {
        reading_.diagnostics.add(
            one.name.mark,
            {.message = fmt::format("{} is provided for {} twice", in_quotes(one.name.text), in_quotes(one.to.text))});
      }
      const auto to = find_workflow(one.to, w, "provides a value for");
      if (!to) continue;
      made.to = *to;
      const scenario::Workflow& user = source_.workflows[*to];
      if (!user.is_sound || takes(user, workflow.name.text, one.name.text)) continue;
      reading_.diagnostics.add(
          one.name.mark,
          {.message = fmt::format("workflow {} does not use {}, which {} provides for it", in_quotes(user.name.text),
                                  in_quotes(one.name.text), in_quotes(workflow.name.text)),
           .hint = fmt::format("add to workflow {}: use: {{{}: [{}]}}", in_quotes(user.name.text), workflow.name.text,
                               one.name.text)});
    }
  }

  void uses(std::size_t w) {
    const scenario::Workflow& workflow = source_.workflows[w];
    for (const scenario::Use& one : workflow.uses) {
      check_name(workflow, one);
      Use& made = plan_.workflows[w].uses.emplace_back();
      made.name = one.name.text;
      made.fallback = one.fallback;
      made.is_list = true;  // a wrong maker already has its error, and needs no second one
      const auto from = find_workflow(one.from, w, "uses a value of");
      if (!from) continue;
      made.from = *from;
      const scenario::Workflow& maker = source_.workflows[*from];
      if (!order_.before(*from, w)) {
        reading_.diagnostics.add(
            one.from.mark,
            {.message = fmt::format("workflow {} uses a value of {}, which need not have ended when it begins",
                                    in_quotes(workflow.name.text), in_quotes(maker.name.text)),
             .hint = fmt::format("add to workflow {}: depends: [{}]", in_quotes(workflow.name.text), maker.name.text)});
      }
      const scenario::Provide* provided = find(maker, workflow.name.text, one.name.text);
      if (provided != nullptr) {
        made.provide = static_cast<uint16_t>(provided - maker.provides.data());
        made.is_list = provided->collect_all || !maker.is_sound;
      } else if (maker.is_sound) {
        reading_.diagnostics.add(
            one.name.mark, {.message = fmt::format("workflow {} does not provide {} for {}", in_quotes(maker.name.text),
                                                   in_quotes(one.name.text), in_quotes(workflow.name.text)),
                            .hint = fmt::format("add to workflow {}: provide: {{{}: {{{}: …}}}}",
                                                in_quotes(maker.name.text), workflow.name.text, one.name.text)});
      }
    }
  }

 private:
  std::optional<uint16_t> find_workflow(const scenario::Text& name, std::size_t self, std::string_view what) {
    std::vector<std::string_view> others;
    for (std::size_t i = 0; i < source_.workflows.size(); ++i) {
      if (i == self) continue;
      if (source_.workflows[i].name.text == name.text) return static_cast<uint16_t>(i);
      others.push_back(source_.workflows[i].name.text);
    }
    reading_.diagnostics.add(
        name.mark, {.message = fmt::format("workflow {} {} {}, which is no other workflow of this scenario",
                                           in_quotes(source_.workflows[self].name.text), what, in_quotes(name.text)),
                    .found = in_quotes(name.text),
                    .expected = scenario::one_of(others),
                    .complete = [&](scenario::Diagnostics::Problem& problem) {
                      problem.hint = scenario::did_you_mean(name.text, others);
                    }});
    return std::nullopt;
  }

  void check_name(const scenario::Workflow& workflow, const scenario::Use& use) {
    if (!scenario::is_value_name(use.name.text) ||
        std::find(scenario::kBuiltinNames.begin(), scenario::kBuiltinNames.end(), use.name.text) !=
            scenario::kBuiltinNames.end()) {
      reading_.diagnostics.add(
          use.name.mark, {.message = in_quotes(use.name.text) + " cannot be the name of a value",
                          .expected = "letters, digits and _, and none of " + scenario::join(scenario::kBuiltinNames)});
    } else if (reading_.environment.declares(use.name.text)) {
      reading_.diagnostics.add(use.name.mark,
                               {.message = in_quotes(use.name.text) + " is already the name of a value in 'env'",
                                .hint = "choose another name"});
    }
    const auto first = std::ranges::find_if(
        workflow.uses, [&](const scenario::Use& other) { return other.name.text == use.name.text; });
    if (&*first == &use) return;
    reading_.diagnostics.add(
        use.name.mark,
        {.message = fmt::format("{} is already used from {}", in_quotes(use.name.text), in_quotes(first->from.text)),
         .hint = "give one of the two another name"});
  }

  const scenario::Scenario& source_;
  const Dag& order_;
  scenario::Reading& reading_;
  Plan& plan_;
  std::size_t lists_ = 0;
};

// Fills in depends, priority, uses and the names of provides of the plan's workflows, which have names already. Values
// flow only where both sides say so: one without the other is reported.
void compile_dependencies(const scenario::Scenario& source, const Dag& order, scenario::Reading& reading, Plan& plan) {
  Dependencies dependencies(source, order, reading, plan);
  for (std::size_t w = 0; w < source.workflows.size(); ++w) {
    plan.workflows[w].depends = order.after(w);
    plan.workflows[w].priority = source.workflows[w].priority;
    dependencies.provides(w);
    dependencies.uses(w);
  }
}

struct ExecutorOf {
  template <class Same>
  Executor operator()(const Same& one) const {
    return one;
  }
  Executor operator()(const scenario::Iterations& one) const {
    Iterations out{.vus = one.vus, .iterations = one.iterations, .shared = one.shared};
    out.max_duration = one.max_duration.value_or(out.max_duration);
    return out;
  }
  Executor operator()(const scenario::ConstantArrivalRate& one) const {
    return ArrivalRate{{{one.rate_per_s, one.rate_per_s, one.duration}}, one.users};
  }
  Executor operator()(const scenario::RampingArrivalRate& one) const {
    ArrivalRate out{{}, one.users};
    double rate = one.start_per_s;
    for (const scenario::RateStage& stage : one.stages) {
      out.stages.push_back({rate, stage.target_per_s, stage.duration});
      rate = stage.target_per_s;
    }
    return out;
  }
};

void compile_executor(const scenario::Workflow& source, Workflow& out) {
  out.executor = std::visit(ExecutorOf{}, source.executor);
  out.start_time = source.start_time;
  out.graceful_stop = source.graceful_stop.value_or(out.graceful_stop);
  out.timeout = source.timeout;
  out.on_overtime = source.on_overtime;
}

// The step's own win over those of the steps that hold it, these over those of the workflow, and these over those of
// the run.
std::vector<Tag> tags_of(const std::vector<Tag>& of_run, const scenario::Workflow& workflow,
                         const scenario::Step& step) {
  std::vector<Tag> out;
  const auto add = [&out](const Tag& tag) {
    const bool known = std::ranges::any_of(out, [&](const Tag& one) { return one.key == tag.key; });
    if (!known) out.push_back(tag);
  };
  const auto take = [&](const std::vector<scenario::Pair>& tags) {
    for (const scenario::Pair& tag : tags) add({tag.name.text, tag.value.text});
  };
  take(step.tags);
  for (auto holder = step.holder; holder; holder = workflow.steps[*holder].holder) {
    take(workflow.steps[*holder].tags);
  }
  take(workflow.tags);
  for (const Tag& tag : of_run) add(tag);
  return out;
}

// Of a measured step. An own tag `name` replaces that of the step.
std::vector<Tag> facts_of(const scenario::Step& step, const std::string& name) {
  if (!scenario::is_test_step(step)) return {};
  std::vector<Tag> out{{"name", name}};
  if (const auto* http = std::get_if<scenario::Http>(&step.work)) {
    out.push_back({"method", http->method});
    out.push_back({"url", http->url.text});
  }
  return out;
}

// The groups of a step that does work itself get a metric each.
void name_groups(const scenario::Step& step, const std::vector<Tag>& tags, std::size_t own,
                 scenario::Diagnostics& diagnostics, Plan& plan) {
  if (std::holds_alternative<scenario::Block>(step.work)) return;
  for (const Tag& tag : tags) {
    if (tag.key != "group" || find_metric(plan, group_metric(tag.value))) continue;
    if (plan.metrics.size() == own + scenario::kMaxGroups) {
      diagnostics.add(step.name.mark, {.message = "the scenario has too many groups",
                                       .expected = fmt::format("at most {} different ones", scenario::kMaxGroups),
                                       .hint = "use 'tags' for the others"});
      continue;
    }
    plan.metrics.push_back({group_metric(tag.value), MetricKind::kTrend, "ms"});
  }
}

// Names and ids of the steps, before any of them is compiled: templates and thresholds refer to them. Each name of a
// program's requests has figures like a step of its own.
void name_steps(const scenario::Workflow& source, uint16_t workflow, std::size_t own_metrics,
                scenario::Diagnostics& diagnostics, Plan& plan) {
  Workflow& out = plan.workflows.emplace_back();
  out.name = source.name.text;
  std::vector<std::string_view> names;
  for (const scenario::Step& step : source.steps) names.push_back(step.name.text);
  for (const scenario::Step& step : source.steps) {
    Step& made = out.steps.emplace_back();
    made.id = static_cast<StepId>(plan.steps.size());
    made.name = step.name.text;
    const auto add = [&](const std::string& name) {
      plan.steps.push_back({.workflow = workflow,
                            .index = static_cast<uint16_t>(out.steps.size() - 1),
                            .name = fmt::format("{}.{}", source.name.text, name),
                            .measured = scenario::is_test_step(step),
                            .tags = tags_of(plan.tags, source, step),
                            .facts = facts_of(step, name)});
      StepInfo& info = plan.steps.back();
      const auto is_name = [](const Tag& tag) { return tag.key == "name"; };
      if (std::ranges::any_of(info.tags, is_name)) std::erase_if(info.facts, is_name);
    };
    add(step.name.text);
    name_groups(step, plan.steps.back().tags, own_metrics, diagnostics, plan);
    const auto* code = std::get_if<scenario::Code>(&step.work);
    if (code == nullptr) continue;
    for (const scenario::Text& name : code->requests) {
      if (!scenario::is_step_name(name.text)) {
        diagnostics.add(name.mark, {.message = in_quotes(name.text) + " cannot be the name of a request",
                                    .expected = "1 to 100 letters, digits, _ and -"});
      }
      if (std::find(names.begin(), names.end(), name.text) != names.end()) {
        diagnostics.add(name.mark,
                        {.message = fmt::format("workflow {} has the name {} twice: its steps and their requests "
                                                "have figures by name",
                                                in_quotes(source.name.text), in_quotes(name.text)),
                         .hint = "give the request another name"});
      }
      names.push_back(name.text);
      add(name.text);
    }
  }
}

// Windows of all steps, also in stored runs, are read with the tags of each step. Most are those of its workflow and of
// the run, so a short scenario may have very many.
void check_tags(const scenario::Scenario& source, const Plan& plan, scenario::Diagnostics& diagnostics) {
  constexpr std::size_t kMaxBytes = std::size_t{2} << 20;
  std::size_t bytes = 0;
  std::optional<scenario::Mark> over;
  for (const StepInfo& step : plan.steps) {
    for (const Tag& tag : step.tags) bytes += tag.key.size() + tag.value.size();
    if (!over && bytes > kMaxBytes) over = source.workflows[step.workflow].steps[step.index].name.mark;
  }
  if (!over) return;
  diagnostics.add(*over, {.message = fmt::format("the tags of {} steps have {} bytes", plan.steps.size(), bytes),
                          .expected = fmt::format("at most {} bytes, over all steps; up to here it is more", kMaxBytes),
                          .hint = "give each step fewer or shorter tags: those of its workflow, of the steps that hold "
                                  "it and of the run are also its own"});
}

void compile_step(const scenario::Step& source, Scope& scope, std::size_t index, Compiling& compiling, Plan& plan,
                  Workflow& workflow) {
  Step& out = workflow.steps[index];
  TemplateMaker templates(scope, {index}, compiling.reading, compiling.plan_bytes);
  out.conditions = compile_conditions(source, templates, compiling.reading);  // before the first of its rounds
  if (source.repeat) out.repeat = Repeat{static_cast<uint32_t>(*source.repeat), std::nullopt};
  std::visit(Overloaded{[&](const scenario::Http& http) { out.work = compile_http(http, templates, compiling); },
                        [&](const std::vector<scenario::Pair>& pairs) {
                          SetAction action;
                          for (const scenario::Pair& pair : pairs) {
                            action.assignments.push_back(
                                {scope.slot_of(index, pair.name.text), templates.make(pair.value, Place::kText)});
                          }
                          out.work = std::move(action);
                        },
                        [&](const scenario::Code& code) {
                          out.work = compile_code(code, scope, index, templates, compiling, plan);
                        },
                        [&](const scenario::Block&) { out.work = Block{}; }, [](std::monostate) {}},  // was reported
             source.work);
  if (const auto* call = std::get_if<HttpCall>(&out.work); call != nullptr && call->url.constant()) {
    StepInfo& info = plan.steps[out.id];
    if (info.measured) info.facts.push_back({"url", std::string(call->url.text())});
  }
  TemplateMaker afterwards(scope, {index, true}, compiling.reading, compiling.plan_bytes);
  out.checks = compile_checks(source, out.id, templates, afterwards, plan.checks, compiling.reading);
  for (const scenario::Extraction& extraction : source.extracts) {
    const SlotId slot = scope.slot_of(index, extraction.name.text);
    out.extracts.push_back(compile_extract(extraction, slot, compiling.reading));
  }
  compile_records(source, afterwards, compiling, plan, out);
  compile_group(source.name.mark, compiling.reading, plan, workflow, out);
  out.think = source.think;
  out.on_error = source.on_error;
}

void compile_workflow(const scenario::Workflow& source, Compiling& compiling, Plan& plan, Workflow& out) {
  compile_executor(source, out);
  const Dag dag = Dag::of_steps(source, compiling.reading);
  out.keeps_cookies = source.keeps_cookies;
  out.keeps_connections = source.keeps_connections;
  if (!source.keeps_connections && plan.shared_connections) {
    compiling.reading.diagnostics.add(
        source.name.mark,
        {.message =
             fmt::format("'keep_connections: false' of {} contradicts 'connections' of the defaults, which lets users "
                         "share them",
                         in_quotes(source.name.text)),
         .hint = "remove one of them; 'keep_alive: false' of a step opens a connection for each request"});
  }
  out.is_teardown = source.is_teardown;
  Scope scope(source, dag, compiling.data, compiling.reading, out);
  for (std::size_t i = 0; i < source.steps.size(); ++i) {
    if (compiling.reading.diagnostics.full()) return;
    compile_step(source.steps[i], scope, i, compiling, plan, out);
  }
  compile_flow(source, dag, plan, out);
  TemplateMaker templates(scope, {source.steps.size()}, compiling.reading, compiling.plan_bytes);
  for (std::size_t i = 0; i < source.provides.size(); ++i) {
    out.provides[i].value = templates.make(source.provides[i].value, Place::kText);
  }
}

// Reports a wrong base once, and not for every step that uses it.
bool check_base(const scenario::Scenario& source, scenario::Reading& reading) {
  if (!source.http.base) return true;
  Template base;
  append_literal(base, source.http.base->text);
  const Status completed = complete_url(base, {});
  if (completed) return true;
  reading.diagnostics.add(source.http.base->mark, {.message = "wrong 'base': " + completed.error().message,
                                                   .found = scenario::in_quotes(source.http.base->text),
                                                   .expected = "http://HOST or https://HOST, with or without a path"});
  return false;
}

}  // namespace

Plan compile(const scenario::Scenario& source, const scenario::Sources& sources, scenario::Reading& reading) {
  Compiling compiling{.source = source, .sources = sources, .reading = reading};
  Plan plan;
  plan.name = source.name;
  plan.on_loss = source.on_loss;
  plan.timeout = source.timeout;
  for (const auto& [key, value] : source.tags) plan.tags.push_back({key, value});
  for (const scenario::Pair& pair : source.http.hosts) {
    auto place = parse_host_place(pair.name.text, pair.value.text);
    if (place) plan.hosts.push_back(std::move(*place));
    if (!place) reading.diagnostics.add(pair.value.mark, {.message = place.error().message});
  }
  for (const scenario::Text& text : source.http.local_ips) {
    const Status parsed = parse_local_ips(text.text, plan.local_ips);
    if (!parsed) reading.diagnostics.add(text.mark, {.message = parsed.error().message});
  }
  if (source.http.connections) plan.shared_connections = static_cast<uint32_t>(*source.http.connections);
  compile_metrics(source, reading, plan);
  compiling.data = compile_data(source, sources, reading);
  for (std::size_t i = 0; i < source.workflows.size(); ++i) {
    name_steps(source.workflows[i], static_cast<uint16_t>(i), source.metrics.size(), reading.diagnostics, plan);
  }
  check_tags(source, plan, reading.diagnostics);
  compile_dependencies(source, Dag::of_workflows(source.workflows, reading), reading, plan);
  const bool shared_is_sound = source.is_sound && check_base(source, reading);
  reading.is_shared_sound = shared_is_sound;
  bool all_sound = shared_is_sound;
  for (std::size_t i = 0; i < source.workflows.size(); ++i) {
    const scenario::Workflow& workflow = source.workflows[i];
    // Of the names in a faulty workflow, those are reported that no other fault explains.
    reading.diagnostics.take_independent_only(!shared_is_sound || !workflow.is_sound);
    compile_workflow(workflow, compiling, plan, plan.workflows[i]);
    reading.diagnostics.take_independent_only(false);
    if (reading.diagnostics.full()) return plan;  // of no use
    all_sound = all_sound && workflow.is_sound;
  }
  plan.tokens = std::move(compiling.tokens);
  plan.thresholds = compile_thresholds(source, plan, all_sound, reading);
  compile_watches(source, reading, plan);
  return plan;
}

}  // namespace bellwether::plan
