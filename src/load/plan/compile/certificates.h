// Certificates in PEM form, for the checks of a plan.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace bellwether::plan {

// Whether the text has at least the beginning of a certificate in it. Its use shows whether it is valid.
bool holds_certificate(std::string_view pem);
// Whether the text has the beginning of a private key in it that no passphrase encrypts.
bool holds_plain_key(std::string_view pem);
// Whether the first certificate of a text and the key of another make a pair. kInvalid: why not.
Status check_pair(std::string_view certificate_pem, std::string_view key_pem);

}  // namespace bellwether::plan
