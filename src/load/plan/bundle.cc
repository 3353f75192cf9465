#include "load/plan/bundle.h"

#include "core/base/check.h"
#include "core/signature/signature.h"
#include "load/plan/load.h"
#include "load/plan/quick.h"

namespace bellwether::plan {
namespace {

Result<Plan> plan_of_scenario(const scenario::RecordedScenario& record) {
  const scenario::ReplayingOutside outside(record);
  auto plan = load(scenario::sources_of(record, outside));
  if (plan) {
    if (Status vouched = check_signatures(*plan); !vouched) {
      return fail(Errc::kInvalid, record.file_name + ": " + vouched.error().message);
    }
    return std::move(*plan);
  }
  std::string text;
  for (const scenario::Diagnostic& diagnostic : plan.error()) {
    text += (text.empty() ? "" : "\n") + scenario::format(diagnostic);
  }
  return fail(Errc::kInvalid, std::move(text));
}

}  // namespace

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

}  // namespace bellwether::plan
