#include "load/plan/plan.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/units.h"

namespace bellwether::plan {
namespace {

constexpr std::string_view kTimeoutOf = "its timeout of ";

}  // namespace

std::string timeout_text(Duration timeout) { return fmt::format("{}{} is over", kTimeoutOf, format_duration(timeout)); }
bool is_timeout_text(std::string_view why) { return why.starts_with(kTimeoutOf); }

std::optional<std::string> derive(const Derived& from, std::string_view key, std::string_view value) {
  return from.how == Transform::kHmac ? hex(hmac_of(from.hash, key, value)) : transformed(from.how, value);
}

bool has_due_times(const Plan& plan, const StepInfo& step) {
  const Executor& executor = plan.workflows[step.workflow].executor;
  if (facts_of(executor).open_model) return true;
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.pacing; }) return one.pacing.has_value();
        return false;
      },
      executor);
}

std::string origin_of(const Template& url) {
  if (url.pieces.empty() || url.pieces[0].kind != Piece::Kind::kLiteral) return {};
  const std::string& text = url.pieces[0].literal;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string::npos) return {};
  const std::size_t end = text.find_first_of("/?#", scheme + 3);
  if (end == std::string::npos && url.pieces.size() > 1) return {};  // the host continues with a value
  return text.substr(0, end);
}

std::vector<std::string> targets_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const Workflow& workflow : plan.workflows) {
    for (const Step& step : workflow.steps) {
      const HttpCall* call = std::get_if<HttpCall>(&step.work);
      if (const auto* code = std::get_if<CodeCall>(&step.work)) call = &code->base;
      std::string origin = call != nullptr ? origin_of(call->url) : "";
      if (!origin.empty() && std::find(out.begin(), out.end(), origin) == out.end()) out.push_back(std::move(origin));
    }
  }
  return out;
}

}  // namespace bellwether::plan
