#include "load/vuser/json_query.h"

#include <algorithm>
#include <re2/re2.h>
#include <simdjson.h>
#include <span>
#include <variant>

#include "core/base/overloaded.h"

namespace bellwether::vuser {
namespace {

namespace dom = simdjson::dom;
using plan::JsonExpression;
using plan::JsonSegment;
using plan::JsonSelector;
using Kind = plan::JsonExpression::Kind;
using Step = JsonQueries::Step;
using Segments = std::span<const JsonSegment>;

// The most values that one search looks at.
constexpr uint64_t kMaxSearchWork = 20'000'000;
// How deep it goes at once: a document has at most 1024 levels, and filters within filters begin again at its root.
constexpr int kMaxSearchDepth = 1'200;

struct Nothing {};
struct Null {};
struct Compound {
  dom::element element;
};
// What an operand of a comparison gives.
using Value = std::variant<Nothing, std::string_view, double, bool, Null, Compound>;

Value value_of(dom::element element) {
  switch (element.type()) {
    case dom::element_type::STRING: return element.get_string().value_unsafe();
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE: return element.get_double().value_unsafe();
    case dom::element_type::BOOL: return element.get_bool().value_unsafe();
    case dom::element_type::NULL_VALUE: return Null{};
    default: return Compound{element};
  }
}

bool is_integer(dom::element element) {
  return element.type() == dom::element_type::INT64 || element.type() == dom::element_type::UINT64;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// One search in one document.
class Search {
 public:
  Search(dom::element root, std::vector<Step>& way) : root_(root), way_(way) {}

  bool find(const plan::JsonQuery& query, std::size_t number) {
    const bool found = walk(root_, query, [&number](dom::element) { return number-- == 0; });
    return found && left_ > 0;
  }

  // False when that takes too long.
  template <class Visit>
  bool each(const plan::JsonQuery& query, const Visit& visit) {
    walk(root_, query, [&visit](dom::element element) { return !visit(element); });
    return left_ > 0;
  }

 private:
  // Visits the values of the rest of a query from here on, in their order, until `visit` returns true; then `way_` ends
  // with the way from here to that value. Returns whether it was stopped, also by the limit on its work.
  template <class Visit>
  bool walk(dom::element from, Segments rest, const Visit& visit) {
    if (!spend()) return true;
    if (rest.empty()) return visit(from);
    const JsonSegment& segment = rest.front();
    return segment.of_descendants ? descend(from, segment, rest.subspan(1), visit)
                                  : select(from, segment, rest.subspan(1), visit);
  }

  template <class Visit>
  bool descend(dom::element from, const JsonSegment& segment, Segments rest, const Visit& visit) {
    if (!spend() || select(from, segment, rest, visit)) return true;
    if (depth_ == kMaxSearchDepth) {
      left_ = 0;
      return true;
    }
    ++depth_;
    const bool stopped = each_child(from, [&](dom::element child, const Step& step) {
      return along(step, [&] { return descend(child, segment, rest, visit); });
    });
    --depth_;
    return stopped;
  }

  template <class Visit>
  bool select(dom::element from, const JsonSegment& segment, Segments rest, const Visit& visit) {
    const auto go_on = [&](dom::element child, const Step& step) {
      return along(step, [&] { return walk(child, rest, visit); });
    };
    return std::ranges::any_of(segment.selectors, [&](const JsonSelector& selector) {
      switch (selector.kind) {
        case JsonSelector::Kind::kName: {
          dom::element child;
          return from.is_object() && from.at_key(selector.name).get(child) == simdjson::SUCCESS &&
                 go_on(child, {.key = selector.name});
        }
        case JsonSelector::Kind::kIndex: return from.is_array() && at_index(from, selector.index, go_on);
        case JsonSelector::Kind::kSlice: return from.is_array() && in_slice(from, selector, go_on);
        case JsonSelector::Kind::kWildcard: return each_child(from, go_on);
        case JsonSelector::Kind::kFilter:
          return each_child(from, [&](dom::element child, const Step& step) {
            return (holds(*selector.filter, child) || left_ == 0) && go_on(child, step);
          });
      }
      return false;
    });
  }

  template <class Next>
  bool along(const Step& step, const Next& next) {
    way_.push_back(step);
    if (next()) return true;
    way_.pop_back();
    return false;
  }

  template <class Visit>
  bool each_child(dom::element from, const Visit& visit) {
    dom::array array;
    if (from.get_array().get(array) == simdjson::SUCCESS) {
      int64_t index = 0;
      for (const dom::element child : array) {
        if (visit(child, Step{.index = index++, .is_index = true})) return true;
      }
    }
    dom::object object;
    if (from.get_object().get(object) == simdjson::SUCCESS) {
      for (const dom::key_value_pair member : object) {
        if (visit(member.value, Step{.key = member.key})) return true;
      }
    }
    return false;
  }

  std::vector<dom::element> elements_of(dom::element from) {
    std::vector<dom::element> elements;
    const dom::array array = from.get_array().value_unsafe();
    for (const dom::element child : array) elements.push_back(child);
    left_ -= std::min<uint64_t>(left_, elements.size());
    return elements;
  }

  template <class Visit>
  bool at_index(dom::element from, int64_t index, const Visit& visit) {
    const std::vector<dom::element> elements = elements_of(from);
    const auto size = static_cast<int64_t>(elements.size());
    if (index < 0) index += size;
    if (index < 0 || index >= size) return false;
    return visit(elements[static_cast<std::size_t>(index)], Step{.index = index, .is_index = true});
  }

  // RFC 9535, section 2.3.4.2.2.
  template <class Visit>
  bool in_slice(dom::element from, const JsonSelector& slice, const Visit& visit) {
    if (slice.step == 0) return false;
    const std::vector<dom::element> elements = elements_of(from);
    const auto size = static_cast<int64_t>(elements.size());
    const bool up = slice.step > 0;
    const auto bound = [size, up](int64_t place) {
      return std::clamp<int64_t>(place < 0 ? place + size : place, up ? 0 : -1, up ? size : size - 1);
    };
    const int64_t end = slice.end ? bound(*slice.end) : (up ? size : -1);
    int64_t at = slice.start ? bound(*slice.start) : (up ? 0 : size - 1);
    for (; up ? at < end : at > end; at += slice.step) {
      if (visit(elements[static_cast<std::size_t>(at)], Step{.index = at, .is_index = true})) return true;
    }
    return false;
  }

  // Visits the values of a query within a filter, without a trace in the way.
  template <class Visit>
  void each_of(const JsonExpression& expression, dom::element here, const Visit& visit) {
    const std::size_t before = way_.size();
    walk(expression.from_root ? root_ : here, expression.query, visit);
    way_.resize(before);
  }

  // Whether a condition holds for the child that is looked at.
  bool holds(const JsonExpression& condition, dom::element here) {
    const auto part_holds = [&](const JsonExpression& part) { return holds(part, here); };
    switch (condition.kind) {
      case Kind::kOr: return std::ranges::any_of(condition.parts, part_holds);
      case Kind::kAnd: return std::ranges::all_of(condition.parts, part_holds);
      case Kind::kNot: return !holds(condition.parts.front(), here);
      case Kind::kExists: {
        bool exists = false;
        each_of(condition, here, [&exists](dom::element) { return exists = true; });
        return exists;
      }
      case Kind::kMatch:
      case Kind::kSearch: return matches(condition, here);
      default: return compares(condition.kind, value(condition.parts[0], here), value(condition.parts[1], here));
    }
  }

  bool matches(const JsonExpression& condition, dom::element here) {
    const Value text = value(condition.parts[0], here);
    const auto* subject = std::get_if<std::string_view>(&text);
    if (subject == nullptr || !spend()) return false;
    std::shared_ptr<const re2::RE2> pattern = condition.pattern;
    if (pattern == nullptr) {
      const Value given = value(condition.parts[1], here);
      const auto* words = std::get_if<std::string_view>(&given);
      if (words != nullptr) pattern = plan::compile_json_pattern(*words);
    }
    if (pattern == nullptr) return false;
    const re2::StringPiece piece(subject->data(), subject->size());
    return condition.kind == Kind::kMatch ? re2::RE2::FullMatch(piece, *pattern)
                                          : re2::RE2::PartialMatch(piece, *pattern);
  }

  Value value(const JsonExpression& expression, dom::element here) {
    switch (expression.kind) {
      case Kind::kText: return std::string_view(expression.text);
      case Kind::kNumber: return expression.number;
      case Kind::kTrue: return true;
      case Kind::kFalse: return false;
      case Kind::kNull: return Null{};
      case Kind::kLength: return length(value(expression.parts.front(), here));
      case Kind::kCount: {
        double count = 0;
        each_of(expression, here, [&count](dom::element) {
          ++count;
          return false;
        });
        return count;
      }
      default: {
        Value found = Nothing{};
        bool several = false;
        each_of(expression, here, [&](dom::element element) {
          several = !std::holds_alternative<Nothing>(found);
          found = value_of(element);
          return several;
        });
        return several ? Value(Nothing{}) : found;
      }
    }
  }

  Value length(const Value& of) {
    if (const auto* text = std::get_if<std::string_view>(&of)) return static_cast<double>(characters(*text));
    const auto* compound = std::get_if<Compound>(&of);
    if (compound == nullptr) return Nothing{};
    double count = 0;
    each_child(compound->element, [&](dom::element, const Step&) {
      ++count;
      return !spend();
    });
    return count;
  }

  // RFC 9535, section 2.3.5.2.2.
  bool compares(Kind op, const Value& left, const Value& right) {
    switch (op) {
      case Kind::kEqual: return equal(left, right);
      case Kind::kNotEqual: return !equal(left, right);
      case Kind::kLess: return less(left, right);
      case Kind::kLessEqual: return less(left, right) || equal(left, right);
      case Kind::kGreater: return less(right, left);
      default: return less(right, left) || equal(left, right);
    }
  }

  static bool less(const Value& left, const Value& right) {
    const auto* text = std::get_if<std::string_view>(&left);
    const auto* other_text = std::get_if<std::string_view>(&right);
    if (text != nullptr && other_text != nullptr) return *text < *other_text;
    const auto* number = std::get_if<double>(&left);
    const auto* other_number = std::get_if<double>(&right);
    return number != nullptr && other_number != nullptr && *number < *other_number;
  }

  bool equal(const Value& left, const Value& right) {
    return std::visit(Overloaded{[](std::string_view a, std::string_view b) { return a == b; },
                                 [](double a, double b) { return a == b; }, [](bool a, bool b) { return a == b; },
                                 [](Nothing, Nothing) { return true; }, [](Null, Null) { return true; },
                                 [this](const Compound& a, const Compound& b) { return same(a.element, b.element); },
                                 [](const auto&, const auto&) { return false; }},
                      left, right);
  }

  bool same(dom::element left, dom::element right) {
    if (!spend()) return false;
    if (is_integer(left) && left.type() == right.type()) {
      return left.type() == dom::element_type::INT64
                 ? left.get_int64().value_unsafe() == right.get_int64().value_unsafe()
                 : left.get_uint64().value_unsafe() == right.get_uint64().value_unsafe();
    }
    if (left.is_array() && right.is_array()) {
      const dom::array a = left.get_array().value_unsafe();
      const dom::array b = right.get_array().value_unsafe();
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [this](dom::element one, dom::element other) { return same(one, other); });
    }
    if (!left.is_object() || !right.is_object()) {
      const Value a = value_of(left);
      const Value b = value_of(right);
      return !std::holds_alternative<Compound>(a) && !std::holds_alternative<Compound>(b) && equal(a, b);
    }
    const dom::object a = left.get_object().value_unsafe();
    const dom::object b = right.get_object().value_unsafe();
    if (a.size() != b.size()) return false;
    for (const dom::key_value_pair member : a) {
      dom::element other;
      if (b.at_key(member.key).get(other) != simdjson::SUCCESS || !same(member.value, other)) return false;
    }
    return true;
  }

  // One value's worth of work. False: there is none left.
  bool spend() {
    if (left_ > 0) --left_;
    return left_ > 0;
  }

  dom::element root_;
  std::vector<Step>& way_;
  uint64_t left_ = kMaxSearchWork;
  int depth_ = 0;
};

}  // namespace

struct JsonQueries::State {
  dom::parser parser;
  dom::element root;
  std::vector<Step> way;
};

JsonQueries::JsonQueries() : state_(std::make_unique<State>()) {}
JsonQueries::~JsonQueries() = default;

bool JsonQueries::open(std::string_view text) {
  return state_->parser.parse(text.data(), text.size(), false).get(state_->root) == simdjson::SUCCESS;
}

const std::vector<JsonQueries::Step>& JsonQueries::way_to(const plan::JsonQuery& query, std::size_t number) {
  state_->way.clear();
  if (!Search(state_->root, state_->way).find(query, number)) state_->way.clear();
  return state_->way;
}

std::optional<std::size_t> JsonQueries::count(const plan::JsonQuery& query) {
  std::size_t values = 0;
  const bool all = Search(state_->root, state_->way).each(query, [&values](dom::element) { return ++values > 0; });
  return all ? std::optional(values) : std::nullopt;
}

bool JsonQueries::list(const plan::JsonQuery& query, std::string& out) {
  out = "[";
  const bool all = Search(state_->root, state_->way).each(query, [&out](dom::element element) {
    if (out.size() > 1) out += ',';
    out += simdjson::to_string(element);
    return out.size() < kMaxListBytes;
  });
  out += ']';
  return all && out.size() <= kMaxListBytes;
}

}  // namespace bellwether::vuser
