// Makes templates of text: constant text gets its final, escaped form now, the rest becomes a hole.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/plan/compile/scope.h"
#include "load/plan/plan.h"
#include "load/scenario/document.h"
#include "load/scenario/model.h"
#include "load/scenario/section.h"
#include "load/scenario/sources.h"

namespace bellwether::plan {

// The place of a text, which decides its escaping.
enum class Place : uint8_t {
  kText,        // as it is
  kJsonString,  // all of it within a JSON string
  kJsonValue,   // a whole JSON value
  kUrl,         // written text unchanged, values percent-encoded
  kQuery,       // all of it percent-encoded: names and values of queries and forms
  kHeader,      // no line breaks
  kFormName,    // within the quotes of a name of multipart/form-data
};

void append_literal(Template& out, std::string_view text);
// Appends the piece in its place; a literal one escaped as the value of a name.
void append_piece(Template& out, Piece piece, Place place);

// The text as written there; empty when it does not fit.
std::optional<std::string> escaped(const std::string& text, Escape escape);
std::string escape_json(std::string_view text);
// Percent-encodes all but letters, digits and - . _ ~
std::string escape_url(std::string_view text);

// All constant text of one plan, files included, so that repeated names cannot grow a small scenario without bound.
constexpr std::size_t kMaxPlanBytes = 64u << 20;

// Makes the templates of one moment of an iteration.
class TemplateMaker {
 public:
  // `bytes` counts the constant text of the whole plan. All must outlive this object.
  TemplateMaker(Scope& scope, Moment at, scenario::Reading& reading, std::size_t& bytes)
      : scope_(scope), at_(at), reading_(reading), bytes_(bytes) {}

  Template make(const scenario::Text& text, Place place);
  // The text unchanged: ${ means nothing in it.
  Template make_raw(const scenario::Text& text);
  void append(Template& out, const scenario::Text& text, Place place);
  // The node as JSON. Unquoted numbers, true, false and null stay, everything else becomes a string.
  Template make_json(const scenario::Node& node);

 private:
  void append_json(Template& out, const scenario::Node& node);
  void append_parts(Template& out, const std::vector<scenario::TemplatePart>& parts, scenario::Mark mark, Place place);
  void count(std::size_t bytes, scenario::Mark mark);

  Scope& scope_;
  Moment at_;
  scenario::Reading& reading_;
  std::size_t& bytes_;
};

}  // namespace bellwether::plan
