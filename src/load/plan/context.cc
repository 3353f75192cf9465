#include "load/plan/context.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/overloaded.h"
#include "load/plan/compile/template.h"

namespace bellwether::plan {

namespace {

// The value of one use: a text, or a list, in the forms of the places that have asked for it.
struct GivenValue {
  std::optional<std::string> text;
  std::vector<std::string> list;
  std::map<Escape, std::shared_ptr<const GivenList>> forms;
};
using GivenValues = std::vector<GivenValue>;

const std::shared_ptr<const GivenList>& form(GivenValue& value, Escape escape) {
  std::shared_ptr<const GivenList>& made = value.forms[escape];
  if (made != nullptr) return made;
  std::string whole = "[";
  auto list = std::make_shared<GivenList>();
  for (const std::string& one : value.list) {
    if (whole.size() > 1) whole += ',';
    whole += fmt::format("\"{}\"", escape_json(one));
    list->elements.push_back(escaped(one, escape));
  }
  list->whole = *escaped(whole + "]", escape);  // every place accepts the characters of JSON text
  return made = std::move(list);
}

// Empty: the element does not exist, or does not fit the place.
std::optional<std::string> element(const GivenValue& value, int64_t index, Escape escape) {
  const auto size = static_cast<int64_t>(value.list.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return escaped(value.list[static_cast<std::size_t>(index)], escape);
}

// The text of the piece; empty when it has none. The piece may then have become one of a list.
std::optional<std::string> settle(Piece& piece, GivenValue& value) {
  if (value.text) return escaped(*value.text, piece.escape);
  if (value.list.empty()) return std::nullopt;
  if (piece.pick == Pick::kAt) return element(value, piece.low, piece.escape);
  piece.kind = Piece::Kind::kList;
  piece.list = form(value, piece.escape);
  return std::nullopt;
}

void put(Template& to, GivenValues& values) {
  const auto is_given = [](const Piece& piece) { return piece.kind == Piece::Kind::kGiven; };
  for (Piece& piece : to.pieces) {
    if (piece.kind != Piece::Kind::kDerived) continue;
    Derived own = *piece.derived;  // others share it
    put(own.key, values);
    put(own.value, values);
    piece.derived = std::make_shared<const Derived>(std::move(own));
  }
  if (std::ranges::none_of(to.pieces, is_given)) return;
  Template out;
  for (Piece& piece : to.pieces) {
    if (piece.kind == Piece::Kind::kLiteral) {
      append_literal(out, piece.literal);
      continue;
    }
    if (piece.kind == Piece::Kind::kQueryStart && out.constant()) {
      append_literal(out, query_start(out.text()));
      continue;
    }
    std::optional<std::string> text;
    if (is_given(piece)) text = settle(piece, values[piece.slot]);
    if (text && piece.escape == Escape::kLink) {
      std::string url(out.text());  // at most the base stands before a link
      if (append_link(*text, url)) {
        out = {};
        append_literal(out, url);
        continue;
      }
    } else if (text) {
      append_literal(out, *text);
      continue;
    }
    out.pieces.push_back(std::move(piece));
  }
  to = std::move(out);
}

void put(HttpCall& call, GivenValues& values) {
  put(call.url, values);
  for (Header& header : call.headers) put(header.value, values);
  if (call.body) put(*call.body, values);
  if (call.digest) {
    put(call.digest->user, values);
    put(call.digest->password, values);
  }
}

void put(Step& step, GivenValues& values) {
  for (Condition& condition : step.conditions) put(condition.value, values);
  for (Recording& recording : step.records) put(recording.value, values);
  std::visit(Overloaded{[&](HttpCall& call) { put(call, values); },
                        [&](CodeCall& code) {
                          put(code.base, values);
                          for (auto& argument : code.arguments) put(argument.value, values);
                        },
                        [&](SetAction& action) {
                          for (auto& assignment : action.assignments) put(assignment.value, values);
                        },
                        [](Block&) {}},
             step.work);
  for (Recording& record : step.records) put(record.value, values);
  for (Check& check : step.checks) {
    for (Literal& literal : check.any_of) {
      if (auto* const text = std::get_if<Template>(&literal)) put(*text, values);
    }
  }
}

}  // namespace

void merge(std::vector<Provided>& into, const Provided& one) {
  const auto at = std::ranges::find_if(into, [&](const Provided& other) { return other.provide == one.provide; });
  if (at == into.end()) {
    into.push_back(one);
  } else if (wins(one, *at)) {
    *at = one;
  }
}

void cut_to_size(std::vector<Provided>& values) {
  std::size_t sum = 0;
  for (Provided& one : values) {
    if (one.listed) continue;
    sum += one.text.size();
    if (sum <= kMaxContextText) continue;
    sum -= one.text.size();
    one.text.clear();
    one.too_large = true;
  }
}

Plan with_given(Plan plan, uint16_t workflow, const std::vector<Given>& given) {
  Workflow& to = plan.workflows[workflow];
  if (to.uses.empty()) return plan;
  GivenValues values;
  for (const Use& use : to.uses) {
    GivenValue& value = values.emplace_back();
    if (!use.is_list) value.text = use.fallback;
    if (use.is_list && use.fallback) value.list = {*use.fallback};
  }
  for (const Given& one : given) {
    if (one.use >= values.size()) continue;
    if (!to.uses[one.use].is_list)
      values[one.use].text = one.text;
    else if (!one.list.empty())
      values[one.use].list = one.list;
  }
  for (Step& step : to.steps) put(step, values);
  for (Provide& provide : to.provides) put(provide.value, values);
  return plan;
}

bool Collection::add(uint32_t vu, Duration at, std::string_view text, uint32_t by) {
  if (!takes(vu)) return false;
  if (text.size() > kMaxContextText) return cut_at(vu);
  const auto [place, is_new] = items_.try_emplace(vu);
  Item& item = place->second;
  if (!is_new) {
    if (at < item.at || (at == item.at && (by < item.by || (by == item.by && text == item.text)))) return false;
    bytes_ -= item.text.size();
  }
  item.at = at;
  item.by = by;
  item.text.assign(text);
  bytes_ += text.size();
  while (items_.size() > kMaxListValues || bytes_ > kMaxListText) cut_at(items_.rbegin()->first);
  return true;
}

bool Collection::add(const Provided& one, uint32_t by) {
  return one.too_large ? cut_at(one.vu) : add(one.vu, one.at, one.text, by);
}

bool Collection::cut_at(uint32_t vu) {
  if (!takes(vu)) return false;
  cut_ = vu;
  const auto first = items_.lower_bound(vu);
  for (auto at = first; at != items_.end(); ++at) bytes_ -= at->second.text.size();
  items_.erase(first, items_.end());
  return true;
}

std::vector<Provided> Collection::provided(uint16_t provide) const {
  std::vector<Provided> out;
  out.reserve(items_.size() + 1);
  for (const auto& [vu, item] : items_) out.push_back({provide, vu, item.at, item.text, false, true});
  if (cut_) out.push_back({provide, *cut_, {}, {}, true, true});
  return out;
}

std::optional<Given> Collection::given(uint16_t use) const {
  if (items_.empty()) return std::nullopt;
  Given out{use, {}, {}};
  out.list.reserve(items_.size());
  for (const auto& [vu, item] : items_) out.list.push_back(item.text);
  return out;
}

std::string cut_text(std::string_view name, std::string_view workflow, const Collection& list) {
  return fmt::format(
      "'{}' of workflow '{}' has the values of its first {} virtual users: from virtual user {} on they do not fit "
      "into {} values and {} KiB",
      name, workflow, list.items().size(), *list.cut(), kMaxListValues, kMaxListText >> 10);
}

}  // namespace bellwether::plan
