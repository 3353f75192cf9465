// The meanings of ${…} in one workflow: constants, built-in values, fields of data, and values of earlier steps.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "load/plan/compile/dag.h"
#include "load/plan/feeder.h"
#include "load/plan/plan.h"
#include "load/scenario/document.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

// The files of data of a scenario, read and made ready for all of its workflows.

struct DataSource {
  const scenario::Feeder* source = nullptr;  // never null, of the scenario
  std::shared_ptr<const Feeder> rows;        // null: elsewhere, or unusable and reported
  bool elsewhere = false;                    // scenario::kElsewhere
};

// In the order of the scenario. Reports unreadable files, and names that are already in use.
std::vector<DataSource> compile_data(const scenario::Scenario& source, const scenario::Sources& sources,
                                     scenario::Reading& reading);

// The field of a row that `part` names: a column of CSV, else the path of a member (address.city, items[0]). The caller
// sets its slot. Error: no such field.
tl::expected<RowField, scenario::Diagnostics::Problem> field_of(const DataSource& data, std::string_view part);

// The problem of a workflow of up to `vus` users that takes rows of `data`; empty: the rows suffice.
std::optional<scenario::Diagnostics::Problem> too_few_rows(const DataSource& data, const std::string& workflow,
                                                           uint32_t vus);

// The values that every template can mention: ${vu}, ${uuid}, ${random(1, 10)}, ${fake.city}.

// Empty when the expression neither begins with the name of a built-in value nor calls a function. A problem when the
// name is unknown or the arguments are wrong. Texts to choose from are not escaped yet (TemplateMaker does).
std::optional<tl::expected<Piece, scenario::Diagnostics::Problem>> parse_builtin(std::string_view expression);

// A call of a function of values: ${hash.sha256(user, ':', password)}.
struct TransformCall {
  struct Argument {
    std::string text;  // an expression, or a text that stood in quotes
    bool is_text = false;
  };
  const scenario::TransformEntry* entry = nullptr;
  std::vector<Argument> arguments;
};
// Empty when the expression calls none. A problem when its arguments cannot be read.
std::optional<tl::expected<TransformCall, scenario::Diagnostics::Problem>> parse_transform(std::string_view expression);

// The moment of an iteration at which a template is rendered: the begin or the end of a step. With the number of steps:
// the end of the iteration.
struct Moment {
  std::size_t step = 0;
  bool ended = false;
};

class Scope {
 public:
  // Gives a slot to every name that a step of `source` extracts or sets; reports impossible names. `out` is the
  // workflow in the making, with its executor and all its steps; all arguments must outlive this object.
  Scope(const scenario::Workflow& source, const Dag& dag, std::span<const DataSource> data, scenario::Reading& reading,
        Workflow& out);

  // The piece for `expression` in a template that is rendered at that moment. A part of an earlier response
  // (${login.json.$.id}) makes that step extract it. A field of data (${users.name}) makes each iteration begin with
  // it.
  tl::expected<Piece, scenario::Diagnostics::Problem> resolve(std::string_view expression, Moment at);

  // The slot of the value that step `step` itself extracts or sets under this name. REQUIRES that it does.
  SlotId slot_of(std::size_t step, std::string_view name) const;

 private:
  using Resolved = tl::expected<Piece, scenario::Diagnostics::Problem>;

  struct Variable {
    std::size_t step = 0;
    SlotId slot = 0;
  };

  void declare(const scenario::Text& name, std::size_t step);
  bool before(std::size_t maker, Moment at) const {
    return at.step == source_.steps.size() || (at.ended && maker == at.step) || dag_.before(maker, at.step);
  }
  const Variable* find(std::size_t step, std::string_view name) const;
  const Use* find_use(std::string_view name) const;
  SlotId new_slot(std::string name);
  Resolved resolve_name(std::string_view name, Moment at) const;
  Resolved resolve_element(std::string_view name, std::string_view which) const;
  Resolved resolve_part(std::size_t source, std::string_view part, Moment at);
  Resolved resolve_field(std::size_t data, std::string_view part);
  Resolved resolve_repeat(Moment at);
  Resolved resolve_transform(const TransformCall& call, Moment at);
  Resolved unknown_head(std::string_view head, Moment at) const;
  Resolved unknown(std::string_view name) const;
  // No part that was reported has it, so no such part declares it.
  bool is_surely_unknown(std::string_view name) const { return !reading_.unread.contains(name); }
  // Of problems with this name of that kind.
  std::string subject_of(std::string_view kind, std::string_view name) const;
  Resolved not_before(std::size_t source, std::string_view what, std::size_t step) const;
  tl::expected<Extract, scenario::Diagnostics::Problem> extract_of(std::string_view part) const;

  const scenario::Workflow& source_;
  const Dag& dag_;
  std::span<const DataSource> data_;
  scenario::Reading& reading_;
  Workflow& out_;
  std::multimap<std::string, Variable, std::less<>> variables_;  // by name
  // The parts of responses that templates mention, by step and as written: "json.$.id".
  std::map<std::pair<std::size_t, std::string>, SlotId> mentions_;
  // The fields of data that templates mention, by index of the data and as written; that index also gives the place
  // among the feeds of the workflow.
  std::map<std::pair<std::size_t, std::string>, SlotId> fields_;
  std::map<std::size_t, std::size_t> feeds_;
  int nested_ = 0;  // functions of values around the expression in the making
};

}  // namespace bellwether::plan
