#include "load/plan/compile/scope.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "load/plan/compile/template.h"
#include "load/plan/json_path.h"

namespace bellwether::plan {

using Problem = scenario::Diagnostics::Problem;

namespace {

using scenario::in_quotes;

constexpr std::size_t kMaxValues = 10'000;  // of each kind, in one workflow

constexpr std::string_view kRepeatIndex = "repeat.index";
constexpr int kMaxNestedTransforms = 8;
constexpr std::size_t kMaxTransformText = 1u << 20;  // bytes

// Words that follow the name of a step: ${login.status}.
constexpr std::array<std::string_view, 4> kParts{"json", "header", "body", "status"};

bool contains(scenario::Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Piece slot_piece(SlotId slot) {
  Piece piece;
  piece.kind = Piece::Kind::kSlot;
  piece.slot = slot;
  return piece;
}

// The meaning of the expression depends on no other part of the file.
tl::unexpected<Problem> independent(Problem problem) {
  problem.is_independent = true;
  return tl::unexpected(std::move(problem));
}

// A name near to this one, before any other hint.
void suggest(std::string_view name, scenario::Names names, Problem& problem) {
  std::string hint = scenario::did_you_mean(name, names);
  if (!hint.empty()) problem.hint = std::move(hint);
}

Piece literal_piece(std::string text) {
  Piece piece;
  piece.literal = std::move(text);
  return piece;
}

}  // namespace

Scope::Scope(const scenario::Workflow& source, const Dag& dag, std::span<const DataSource> data,
             scenario::Reading& reading, Workflow& out)
    : source_(source), dag_(dag), data_(data), reading_(reading), out_(out) {
  for (std::size_t i = 0; i < source.steps.size(); ++i) {
    const scenario::Step& step = source.steps[i];
    for (const scenario::Extraction& extraction : step.extracts) declare(extraction.name, i);
    if (const auto* set = std::get_if<std::vector<scenario::Pair>>(&step.work)) {
      for (const scenario::Pair& pair : *set) declare(pair.name, i);
    }
    if (const auto* code = std::get_if<scenario::Code>(&step.work)) {
      for (const scenario::Text& name : code->sets) declare(name, i);
    }
  }
}

void Scope::declare(const scenario::Text& name, std::size_t step) {
  scenario::Diagnostics& diagnostics = reading_.diagnostics;
  if (!scenario::is_value_name(name.text) || contains(scenario::kBuiltinNames, name.text) ||
      contains(kParts, name.text)) {
    diagnostics.add(name.mark,
                    {.message = in_quotes(name.text) + " cannot be the name of a value",
                     .expected = fmt::format("letters, digits and _, and none of {}, {}", scenario::join(kParts),
                                             scenario::join(scenario::kBuiltinNames)),
                     .is_independent = true});
  } else if (reading_.environment.declares(name.text)) {
    diagnostics.add(name.mark, {.message = in_quotes(name.text) + " is already the name of a value in 'env'",
                                .hint = "choose another name",
                                .is_independent = true});
  } else if (find_use(name.text) != nullptr) {
    diagnostics.add(name.mark, {.message = in_quotes(name.text) + " is already the name of a value under 'use'",
                                .hint = "choose another name",
                                .is_independent = true});
  }
  if (variables_.size() == kMaxValues) {
    diagnostics.add(name.mark, {.message = fmt::format("workflow {} makes more than {} values",
                                                       in_quotes(source_.name.text), kMaxValues)});
    return;
  }
  variables_.emplace(name.text,
                     Variable{step, new_slot(fmt::format("{}.{}", source_.steps[step].name.text, name.text))});
}

const Use* Scope::find_use(std::string_view name) const {
  const auto at = std::ranges::find_if(out_.uses, [&](const Use& use) { return use.name == name; });
  return at == out_.uses.end() ? nullptr : &*at;
}

SlotId Scope::new_slot(std::string name) {
  check(out_.slot_names.size() < UINT16_MAX, "the limits on a scenario keep the slots countable");
  out_.slot_names.push_back(std::move(name));
  out_.slot_count = static_cast<uint16_t>(out_.slot_names.size());
  return static_cast<SlotId>(out_.slot_count - 1);
}

const Scope::Variable* Scope::find(std::size_t step, std::string_view name) const {
  const auto [begin, end] = variables_.equal_range(name);
  for (auto at = begin; at != end; ++at) {
    if (at->second.step == step) return &at->second;
  }
  return nullptr;
}

SlotId Scope::slot_of(std::size_t step, std::string_view name) const {
  const Variable* variable = find(step, name);
  return variable == nullptr ? SlotId{0} : variable->slot;  // beyond kMaxValues, and reported
}

// A name of another workflow may have another meaning.
std::string Scope::subject_of(std::string_view kind, std::string_view name) const {
  return fmt::format("{} {} {}", source_.name.text, kind, name);
}

Scope::Resolved Scope::resolve(std::string_view expression, Moment at) {
  if (auto call = parse_transform(expression)) {
    if (!*call) return independent(std::move(call->error()));
    ++nested_;
    auto made = resolve_transform(**call, at);
    --nested_;
    return made;
  }
  if (auto builtin = parse_builtin(expression)) {
    if (!*builtin) return independent(std::move(builtin->error()));
    return std::move(*builtin);
  }
  if (expression == kRepeatIndex) return resolve_repeat(at);
  const std::size_t dot = expression.find('.');
  const std::size_t bracket = expression.find('[');
  const std::string_view head = expression.substr(0, std::min(dot, bracket));
  for (std::size_t i = 0; i < data_.size(); ++i) {
    if (data_[i].source->name.text != head) continue;
    return resolve_field(i, expression.substr(std::min(head.size() + (dot < bracket ? 1 : 0), expression.size())));
  }
  if (bracket < dot && expression.ends_with(']')) {
    return resolve_element(head, expression.substr(bracket + 1, expression.size() - bracket - 2));
  }
  if (dot == std::string_view::npos) return resolve_name(expression, at);
  const std::string_view before_dot = expression.substr(0, dot);
  for (std::size_t i = 0; i < source_.steps.size(); ++i) {
    if (source_.steps[i].name.text == before_dot) return resolve_part(i, expression.substr(dot + 1), at);
  }
  return unknown_head(before_dot, at);
}

// The round of the innermost step that repeats, the step itself included.
Scope::Resolved Scope::resolve_repeat(Moment at) {
  std::optional<uint16_t> step;
  if (at.step < source_.steps.size()) step = static_cast<uint16_t>(at.step);
  while (step && !out_.steps[*step].repeat) step = source_.steps[*step].holder;
  if (!step) {
    return tl::unexpected(Problem{.message = fmt::format("${{{}}} is known only in a step with 'repeat'", kRepeatIndex),
                                  .hint = "give the step, or one that holds it, a key such as repeat: 3"});
  }
  std::optional<SlotId>& index = out_.steps[*step].repeat->index;
  if (!index) index = new_slot(fmt::format("{}.{}", source_.steps[*step].name.text, kRepeatIndex));
  return slot_piece(*index);
}

Scope::Resolved Scope::unknown_head(std::string_view head, Moment at) const {
  const auto complete = [this, head = std::string(head), at](Problem& problem) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < source_.steps.size(); ++i) {
      if (i != at.step || at.ended) names.push_back(source_.steps[i].name.text);
    }
    for (const DataSource& data : data_) names.push_back(data.source->name.text);
    problem.expected = scenario::one_of(names);
    names.push_back(scenario::kFakePrefix);
    suggest(head, names, problem);
  };
  return tl::unexpected(Problem{
      .message = fmt::format("unknown {} {} in a template", data_.empty() ? "step" : "step or data", in_quotes(head)),
      .subject = subject_of("step", head),
      .is_independent = is_surely_unknown(head),
      .complete = complete});
}

// The text after the name of the data: a column of CSV, or the path of a member. Empty: the row as a whole, which is no
// value.
Scope::Resolved Scope::resolve_field(std::size_t data, std::string_view part) {
  const DataSource& from = data_[data];
  if (part.empty()) {
    const std::string& name = from.source->name.text;
    const std::string example =
        from.rows == nullptr || from.rows->names().empty() ? "NAME" : from.rows->names().front();
    return tl::unexpected(Problem{.message = in_quotes(name) + " is data, and a template mentions one field of it",
                                  .hint = fmt::format("write ${{{}.{}}}", name, example),
                                  .is_independent = true});
  }
  const auto known = fields_.find({data, std::string(part)});
  if (known != fields_.end()) return slot_piece(known->second);
  auto read = field_of(from, part);
  if (!read) {
    read.error().is_independent = reading_.is_shared_sound;
    return tl::unexpected(std::move(read.error()));
  }
  RowField& field = *read;
  if (fields_.size() == kMaxValues) {
    return tl::unexpected(
        Problem{.message = fmt::format("more than {} different fields of data are mentioned", kMaxValues)});
  }
  field.slot = new_slot(fmt::format("{}.{}", from.source->name.text, part));
  fields_[{data, std::string(part)}] = field.slot;
  const Piece piece = slot_piece(field.slot);
  if (from.rows == nullptr && !from.elsewhere) return piece;  // was reported
  const auto [feed, is_new] = feeds_.emplace(data, out_.feeds.size());
  if (is_new) out_.feeds.push_back({from.rows, from.source->pick, from.source->ends, {}});
  out_.feeds[feed->second].fields.push_back(std::move(field));
  if (is_new) {
    auto problem = too_few_rows(from, source_.name.text, facts_of(out_.executor).vus_most);
    if (problem) return tl::unexpected(std::move(*problem));
  }
  return piece;
}

// Its values are joined. Of constants it is one itself.
Scope::Resolved Scope::resolve_transform(const TransformCall& call, Moment at) {
  const scenario::TransformEntry& entry = *call.entry;
  const bool has_key = entry.id == Transform::kHmac;
  const auto wrong = [&entry](std::string message) {
    return tl::unexpected(Problem{.message = std::move(message), .expected = fmt::format("${{{}}}", entry.written)});
  };
  if (nested_ > kMaxNestedTransforms) return wrong(fmt::format("more than {} functions in each other", nested_ - 1));
  if (call.arguments.size() < (has_key ? 3 : 1)) return wrong(in_quotes(entry.name) + " needs more values");
  Derived out{.how = entry.id};
  if (has_key) {
    const auto* const name =
        std::find(std::begin(scenario::kHashNames), std::end(scenario::kHashNames), call.arguments.front().text);
    if (name == std::end(scenario::kHashNames)) {
      return tl::unexpected(Problem{.message = fmt::format("the first value of {} names the digest", entry.name),
                                    .found = in_quotes(call.arguments.front().text),
                                    .expected = scenario::one_of(scenario::kHashNames)});
    }
    out.hash = static_cast<HashKind>(name - std::begin(scenario::kHashNames));
  }
  std::size_t bytes = 0;
  for (std::size_t i = has_key ? 1 : 0; i < call.arguments.size(); ++i) {
    Template& to = has_key && i == 1 ? out.key : out.value;
    Piece piece = literal_piece(call.arguments[i].text);
    if (!call.arguments[i].is_text) {
      auto resolved = resolve(call.arguments[i].text, at);
      if (!resolved) {
        if (resolved.error().hint.empty()) resolved.error().hint = "put a text into quotes: 'text'";
        return resolved;
      }
      piece = std::move(*resolved);
    }
    bytes += piece.literal.size();
    append_piece(to, std::move(piece), Place::kText);
    if (bytes > kMaxTransformText) return wrong("the constant values of a function are too long");
  }
  if (out.key.constant() && out.value.constant()) {
    auto text = derive(out, out.key.text(), out.value.text());
    return text ? Resolved(literal_piece(std::move(*text)))
                : wrong(in_quotes(entry.name) + " takes pairs of hexadecimal digits");
  }
  Piece piece;
  piece.kind = Piece::Kind::kDerived;
  piece.derived = std::make_shared<const Derived>(std::move(out));
  return piece;
}

Scope::Resolved Scope::resolve_name(std::string_view name, Moment moment) const {
  if (const std::string* constant = reading_.environment.find(name)) return literal_piece(*constant);
  if (const Use* use = find_use(name)) {
    Piece piece;
    piece.kind = Piece::Kind::kGiven;
    piece.slot = static_cast<SlotId>(use - out_.uses.data());
    return piece;
  }
  const Variable* any = nullptr;
  const Variable* visible = nullptr;
  const auto [begin, end] = variables_.equal_range(name);
  for (auto at = begin; at != end; ++at) {
    const Variable& variable = at->second;
    any = &variable;
    if (!before(variable.step, moment)) continue;
    if (visible != nullptr) {
      // One of the two need not be before it.
      if (moment.step < source_.steps.size() && !dag_.is_clear(moment.step)) break;
      const std::string& first = source_.steps[visible->step].name.text;
      const std::string& second = source_.steps[variable.step].name.text;
      return tl::unexpected(Problem{.message = fmt::format("{} is made by step {} and by step {}", in_quotes(name),
                                                           in_quotes(first), in_quotes(second)),
                                    .hint = fmt::format("write ${{{}.{}}} or ${{{}.{}}}", first, name, second, name)});
    }
    visible = &variable;
  }
  if (visible != nullptr) return slot_piece(visible->slot);
  if (any != nullptr) return not_before(any->step, name, moment.step);
  return unknown(name);
}

// The text in the brackets of ${tokens[vu]}.
Scope::Resolved Scope::resolve_element(std::string_view name, std::string_view which) const {
  const Use* use = find_use(name);
  if (use == nullptr) {
    const auto complete = [this, name = std::string(name)](Problem& problem) {
      std::vector<std::string_view> lists;
      for (const Use& one : out_.uses) {
        if (one.is_list) lists.push_back(one.name);
      }
      if (!lists.empty()) problem.expected = scenario::one_of(lists);
      suggest(name, lists, problem);
    };
    return tl::unexpected(Problem{.message = fmt::format("{} is no list, and has no [{}]", in_quotes(name), which),
                                  .is_independent = is_surely_unknown(name),
                                  .complete = complete});
  }
  if (!use->is_list) {
    return tl::unexpected(Problem{.message = fmt::format("{} is one value, and has no [{}]", in_quotes(name), which),
                                  .hint = "provide it with 'collect: all'"});
  }
  Piece piece;
  piece.kind = Piece::Kind::kGiven;
  piece.slot = static_cast<SlotId>(use - out_.uses.data());
  if (which == "vu") {
    piece.pick = Pick::kVu;
  } else if (which == "random") {
    piece.pick = Pick::kRandom;
  } else {
    const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), piece.low);
    if (error != std::errc{} || end != which.data() + which.size()) {
      return tl::unexpected(Problem{.message = fmt::format("[{}] names no element of {}", which, in_quotes(name)),
                                    .expected = "[vu], [random], or a number such as [0] or [-1]"});
    }
    piece.pick = Pick::kAt;
  }
  return piece;
}

Scope::Resolved Scope::unknown(std::string_view name) const {
  const auto complete = [this, name = std::string(name)](Problem& problem) {
    std::vector<std::string_view> names = reading_.environment.names();
    for (auto at = variables_.begin(); at != variables_.end(); at = variables_.upper_bound(at->first)) {
      names.push_back(at->first);
    }
    for (const Use& use : out_.uses) names.push_back(use.name);
    names.insert(names.end(), scenario::kBuiltinNames.begin(), scenario::kBuiltinNames.end());
    problem.expected = scenario::one_of(names) + ", or STEP.NAME";
    suggest(name, names, problem);
    for (const scenario::BuiltinEntry& entry : scenario::kBuiltins) {
      if (entry.name.ends_with("." + name)) problem.hint = fmt::format("did you mean {}?", in_quotes(entry.name));
    }
  };
  return tl::unexpected(Problem{.message = fmt::format("unknown name {} in a template", in_quotes(name)),
                                .subject = subject_of("value", name),
                                .is_independent = is_surely_unknown(name),
                                .complete = complete});
}

Scope::Resolved Scope::not_before(std::size_t source, std::string_view what, std::size_t step) const {
  const std::string& maker = source_.steps[source].name.text;
  const std::string& user = source_.steps[step].name.text;
  if (source == step) {
    return tl::unexpected(
        Problem{.message = fmt::format("step {} mentions its own {}", in_quotes(user), in_quotes(what)),
                .hint = "mention it in a step after this one",
                .is_independent = true});
  }
  // The same list has both, or steps that hold them; of 'choose' only one of the two runs.
  const auto [first, second] = dag_.apart(source, step);
  const auto holder = source_.steps[first].holder;
  const auto* block = holder ? std::get_if<scenario::Block>(&source_.steps[*holder].work) : nullptr;
  return tl::unexpected(
      Problem{.message = fmt::format("{} comes from step {}, which need not have ended when step {} begins",
                                     in_quotes(what), in_quotes(maker), in_quotes(user)),
              .hint = first == second ? std::string("a step that holds steps makes no values")
                      : block != nullptr && block->one
                          ? std::string("only one of the steps of 'choose' runs")
                          : fmt::format("add to step {}: after: [{}]", in_quotes(source_.steps[second].name.text),
                                        source_.steps[first].name.text)});
}

Scope::Resolved Scope::resolve_part(std::size_t source, std::string_view part, Moment at) {
  if (!before(source, at)) return not_before(source, part, at.step);
  const scenario::Step& maker = source_.steps[source];
  if (const Variable* variable = find(source, part)) return slot_piece(variable->slot);
  const std::string_view word = part.substr(0, part.find('.'));
  const auto* code = std::get_if<scenario::Code>(&maker.work);
  const bool is_action = code != nullptr ? !code->sends
                                         : std::holds_alternative<std::vector<scenario::Pair>>(maker.work) ||
                                               std::holds_alternative<scenario::Block>(maker.work);
  if (!contains(kParts, word) || is_action) {
    const auto complete = [this, source, is_action, word = std::string(word)](Problem& problem) {
      std::vector<std::string_view> names;
      if (!is_action) names.assign(kParts.begin(), kParts.end());
      for (const auto& [name, variable] : variables_) {
        if (variable.step == source) names.push_back(name);
      }
      if (!names.empty()) problem.expected = scenario::one_of(names);
      suggest(word, names, problem);
    };
    return tl::unexpected(
        Problem{.message = fmt::format("step {} makes no {}", in_quotes(maker.name.text), in_quotes(word)),
                .subject = subject_of("part", fmt::format("{}.{}", maker.name.text, word)),
                .is_independent = is_surely_unknown(word) && !std::holds_alternative<std::monostate>(maker.work),
                .complete = complete});
  }
  const auto mentioned = mentions_.find({source, std::string(part)});
  if (mentioned != mentions_.end()) return slot_piece(mentioned->second);
  auto made = extract_of(part);
  if (!made) return independent(std::move(made.error()));
  Extract& extract = *made;
  if (mentions_.size() == kMaxValues) {
    return tl::unexpected(
        Problem{.message = fmt::format("more than {} different parts of responses are mentioned", kMaxValues)});
  }
  extract.slot = new_slot(fmt::format("{}.{}", maker.name.text, part));
  mentions_[{source, std::string(part)}] = extract.slot;
  const Piece piece = slot_piece(extract.slot);
  out_.steps[source].extracts.push_back(std::move(extract));
  return piece;
}

// json.PATH, header.NAME, body or status.
tl::expected<Extract, Problem> Scope::extract_of(std::string_view part) const {
  const std::size_t dot = part.find('.');
  const std::string_view word = part.substr(0, dot);
  const std::string_view argument = dot == std::string_view::npos ? std::string_view() : part.substr(dot + 1);
  Extract out;
  if (word == "json") {
    auto path = parse_json_path(argument);
    if (!path) {
      return tl::unexpected(
          Problem{.message = fmt::format("{} is no JSON path: {}", in_quotes(argument), path.error().message),
                  .expected = "a path such as STEP.json.$.items[0].id"});
    }
    out.source = Extract::Source::kJson;
    out.path = std::move(*path);
    return out;
  }
  if (word == "header") {
    if (!scenario::is_http_token(argument)) {
      return tl::unexpected(Problem{.message = in_quotes(argument) + " is no name of a header",
                                    .expected = "a name such as STEP.header.Location"});
    }
    out.source = Extract::Source::kHeader;
    out.header = argument;
    return out;
  }
  if (dot != std::string_view::npos) {
    return tl::unexpected(Problem{.message = in_quotes(word) + " has no parts", .found = in_quotes(part)});
  }
  out.source = word == "body" ? Extract::Source::kBody : Extract::Source::kStatus;
  return out;
}

}  // namespace bellwether::plan
