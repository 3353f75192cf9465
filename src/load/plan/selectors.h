// The selectors of values in a response that users write, read and checked before the run.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::plan {

// A CSS selector as XPath 1.0, because a single engine evaluates both. Of Selectors Level 3: groups (`a, b`), the
// combinators ` `, `>`, `+`, `~`, names, `*`, `#id`, `.class`, attributes with all operators, :first-child,
// :last-child, :only-child, :nth-child(), :nth-last-child(), :empty, and :not() of one of these. With an attribute, the
// expression gives that of the elements. Error: the problem and its place.
Result<std::string> css_to_xpath(std::string_view selector, std::string_view attribute);

// Whether this is XPath 1.0. Error: its problem.
Status check_xpath(const std::string& expression);

}  // namespace bellwether::plan
