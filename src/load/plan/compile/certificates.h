// Certificates in PEM form, as far as a plan must know them.
#pragma once

#include <string_view>

namespace bellwether::plan {

// Whether the text has at least the beginning of a certificate in it. Whether it is a good one shows when it is used.
bool holds_certificate(std::string_view pem);

}  // namespace bellwether::plan
