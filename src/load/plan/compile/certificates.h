// Certificates in PEM form, for the checks of a plan.
#pragma once

#include <string_view>

namespace bellwether::plan {

// Whether the text has at least the beginning of a certificate in it. Its use shows whether it is valid.
bool holds_certificate(std::string_view pem);

}  // namespace bellwether::plan
