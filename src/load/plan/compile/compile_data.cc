#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/units.h"
#include "load/plan/compile/scope.h"
#include "load/plan/json_path.h"
#include "load/scenario/bundle.h"

namespace bellwether::plan {

using scenario::in_quotes;

namespace {

DataSource read(const scenario::Feeder& source, const scenario::Sources& sources, scenario::Reading& reading) {
  const scenario::Text& path = source.path;
  if (path.text.empty()) return {&source, nullptr};  // was reported
  const std::string place = path_of(path, reading);
  auto view = sources.outside->view_file(place, kMaxDataFileBytes);
  if (!view) {
    reading.diagnostics.add(path.mark, {.message = fmt::format("the file {} cannot be read: {}", in_quotes(path.text),
                                                               view.error().message),
                                        .hint = "a relative path is relative to the folder of the scenario file"});
    return {&source, nullptr};
  }
  if (scenario::is_elsewhere(*view)) return {&source, nullptr, true};
  auto made = Feeder::make(std::move(*view), {.format = source.format, .delimiter = source.delimiter});
  if (made) return {&source, std::move(*made)};
  const Feeder::Trouble& trouble = made.error();
  const std::string named =
      fmt::format("the data {} at {}", in_quotes(source.name.text), reading.diagnostics.place_of(path.mark));
  const uint16_t file = reading.diagnostics.add_file(scenario::beside(sources.file_name, place));
  reading.diagnostics.add({trouble.line, trouble.column, file},
                          {.message = trouble.message, .hint = "the file is that of " + named});
  return {&source, nullptr};
}

// A name that already exists confuses readers, even where it is not ambiguous.
void refuse_taken(const scenario::Text& name, const char* what, const scenario::Scenario& source,
                  scenario::Reading& reading) {
  for (const scenario::Feeder& feeder : source.data) {
    if (feeder.name.text != name.text) continue;
    reading.diagnostics.add(
        name.mark, {.message = fmt::format("{} is the name of {} and of the data at {}", in_quotes(name.text), what,
                                           reading.diagnostics.place_of(feeder.name.mark)),
                    .hint = "choose another name for one of them"});
  }
}

void refuse_taken_names(const scenario::Scenario& source, scenario::Reading& reading) {
  for (const scenario::Workflow& workflow : source.workflows) {
    for (const scenario::Use& use : workflow.uses) refuse_taken(use.name, "a value under 'use'", source, reading);
    for (const scenario::Step& step : workflow.steps) {
      refuse_taken(step.name, "a step", source, reading);
      for (const scenario::Extraction& one : step.extracts) refuse_taken(one.name, "an 'extract'", source, reading);
      const auto* set = std::get_if<std::vector<scenario::Pair>>(&step.work);
      if (set == nullptr) continue;
      for (const scenario::Pair& pair : *set) refuse_taken(pair.name, "a value of an action", source, reading);
    }
  }
}

// `name`: the first of its parts.
scenario::Diagnostics::Problem unknown_field(const DataSource& data, std::string_view field, std::string_view name) {
  const bool csv = data.rows->format() == Feeder::Format::kCsv;
  const auto complete = [rows = data.rows, name = std::string(name), csv](scenario::Diagnostics::Problem& problem) {
    const std::vector<std::string_view> names(rows->names().begin(), rows->names().end());
    if (std::find(names.begin(), names.end(), name) != names.end()) return;  // the member within it is missing
    if (!names.empty()) problem.expected = scenario::one_of(names);
    if (std::string hint = scenario::did_you_mean(name, names); !hint.empty()) problem.hint = std::move(hint);
    if (csv && names.size() == 1 && names.front().find(';') != std::string_view::npos) {
      problem.hint = "if ';' separates the columns, add delimiter: \";\"";
    }
  };
  return {.message = fmt::format("the data {} has no {}{}", in_quotes(data.source->name.text),
                                 csv ? "column " : "such member in its first row: ", in_quotes(field)),
          .complete = complete};
}

}  // namespace

std::vector<DataSource> compile_data(const scenario::Scenario& source, const scenario::Sources& sources,
                                     scenario::Reading& reading) {
  std::vector<DataSource> out;
  for (const scenario::Feeder& feeder : source.data) out.push_back(read(feeder, sources, reading));
  refuse_taken_names(source, reading);
  return out;
}

// The path of a member of a row: names with dots between them, of any other characters, and indices.
std::string path_of(std::string_view part) {
  std::string out = "$";
  while (!part.empty()) {
    const std::size_t end = part.starts_with('[') ? part.find(']') : part.find_first_of(".[");
    const std::string_view one = part.substr(0, part.starts_with('[') && end != std::string_view::npos ? end + 1 : end);
    part.remove_prefix(one.size());
    if (one.empty()) {
      out += '.';  // a name is missing
    } else if (one.starts_with('[')) {
      out += one;
    } else {
      out += "[\"";
      append_json_text(one, out);
      out += "\"]";
    }
    if (part == ".") out += '.';
    if (part.starts_with('.')) part.remove_prefix(1);
  }
  return out;
}

tl::expected<RowField, scenario::Diagnostics::Problem> field_of(const DataSource& data, std::string_view part) {
  RowField field;
  if (data.rows == nullptr) return field;
  if (data.rows->format() == Feeder::Format::kCsv) {
    const std::vector<std::string>& names = data.rows->names();
    const auto at = std::find(names.begin(), names.end(), part);
    if (at == names.end()) return tl::unexpected(unknown_field(data, part, part));
    field.column = static_cast<uint16_t>(at - names.begin());
    return field;
  }
  auto path = parse_json_path(path_of(part));
  if (!path || path->many != nullptr) {
    return tl::unexpected(scenario::Diagnostics::Problem{.message = in_quotes(part) + " is no path to a member",
                                                         .expected = "names such as address.city or items[0]"});
  }
  field.path = std::move(*path);
  std::string value;
  if (!data.rows->read(data.rows->row(0), field, value)) {
    return tl::unexpected(unknown_field(data, part, field.path.steps.front().key));
  }
  return field;
}

std::optional<scenario::Diagnostics::Problem> too_few_rows(const DataSource& data, const std::string& workflow,
                                                           uint32_t vus) {
  const bool each_its_own = data.source->pick == scenario::RowPick::kUniquePerVu && !data.source->wrap;
  if (data.rows == nullptr || !each_its_own || vus <= data.rows->rows()) return std::nullopt;
  return scenario::Diagnostics::Problem{
      .message = fmt::format("the data {} has {} for the up to {} of workflow {}, and 'pick: unique-per-vu'",
                             in_quotes(data.source->name.text), format_count(data.rows->rows(), "row"),
                             format_count(vus, "user"), in_quotes(workflow)),
      .hint = "add rows, have fewer users, or let users share rows: wrap: true"};
}

}  // namespace bellwether::plan
