// CSS selectors as XPath 1.0, so that one engine evaluates both.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bellwether::plan {

// Of Selectors Level 3: groups (`a, b`), the combinators ` `, `>`, `+`, `~`, names, `*`, `#id`, `.class`, attributes
// with all operators, :first-child, :last-child, :only-child, :nth-child(), :nth-last-child(), :empty, and :not() of
// one of these. With an attribute, the expression gives that of the elements. Error: what is wrong, and where.
Result<std::string> css_to_xpath(std::string_view selector, std::string_view attribute);

}  // namespace bellwether::plan
