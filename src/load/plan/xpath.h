// Whether an expression that the user wrote is one, decided before the run.
#pragma once

#include <string>

#include "core/base/result.h"

namespace bellwether::plan {

// XPath 1.0. Error: what is wrong with it.
Status check_xpath(const std::string& expression);

}  // namespace bellwether::plan
