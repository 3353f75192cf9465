#include "plan/context.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/template.h"

namespace bellwether::plan {
namespace {

using Values = std::vector<std::optional<std::string>>;

std::optional<std::string> escaped(const std::string& text, Escape escape) {
  switch (escape) {
    case Escape::kNone: return text;
    case Escape::kJson: return escape_json(text);
    case Escape::kUrl: return escape_url(text);
    case Escape::kHeader:
      if (text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) return std::nullopt;
      return text;
  }
  return std::nullopt;
}

void put(Template& to, const Values& values) {
  const auto is_given = [](const Piece& piece) { return piece.kind == Piece::Kind::kGiven; };
  if (std::none_of(to.pieces.begin(), to.pieces.end(), is_given)) return;
  Template out;
  for (Piece& piece : to.pieces) {
    if (piece.kind == Piece::Kind::kLiteral) {
      append_literal(out, piece.literal);
      continue;
    }
    std::optional<std::string> text;
    if (is_given(piece) && values[piece.slot]) text = escaped(*values[piece.slot], piece.escape);
    if (text) {
      append_literal(out, *text);
    } else {
      out.pieces.push_back(std::move(piece));
    }
  }
  to = std::move(out);
}

void put(Step& step, const Values& values) {
  if (auto* call = std::get_if<HttpCall>(&step.work)) {
    put(call->url, values);
    for (Header& header : call->headers) put(header.value, values);
    if (call->body) put(*call->body, values);
  } else {
    for (auto& assignment : std::get<SetAction>(step.work).assignments) put(assignment.value, values);
  }
}

}  // namespace

void merge(std::vector<Provided>& into, const Provided& one) {
  const auto at =
      std::find_if(into.begin(), into.end(), [&](const Provided& other) { return other.provide == one.provide; });
  if (at == into.end()) {
    into.push_back(one);
  } else if (wins(one, *at)) {
    *at = one;
  }
}

void cut_to_size(std::vector<Provided>& values) {
  std::size_t sum = 0;
  for (Provided& one : values) {
    sum += one.text.size();
    if (sum <= kMostContextText) continue;
    sum -= one.text.size();
    one.text.clear();
    one.too_large = true;
  }
}

Plan with_given(Plan plan, uint16_t workflow, const std::vector<Given>& given) {
  Workflow& to = plan.workflows[workflow];
  if (to.uses.empty()) return plan;
  Values values;
  for (const Use& use : to.uses) values.push_back(use.fallback);
  for (const Given& one : given) {
    if (one.use < values.size()) values[one.use] = one.text;
  }
  for (Step& step : to.steps) put(step, values);
  for (Provide& provide : to.provides) put(provide.value, values);
  return plan;
}

}  // namespace bellwether::plan
