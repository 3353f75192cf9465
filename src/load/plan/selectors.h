// The selectors of values in a response that users write, read and checked before the run.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::plan {

// A CSS selector as XPath 1.0, because a single engine evaluates both. All of Selectors Level 3 but pseudo-elements and
// what only a user or a visit gives (:hover, :active, :focus, :visited, :target), which no response has. Of the same
// name among siblings: the functions same-before() and same-after(), which the engine adds. With an attribute, the
// expression gives that of the elements. Error: the problem and its place.
Result<std::string> css_to_xpath(std::string_view selector, std::string_view attribute);

// Whether this is XPath 1.0. Error: its problem.
Status check_xpath(const std::string& expression);

}  // namespace bellwether::plan
