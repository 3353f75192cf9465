// The keys whose compiled programs a worker runs, on its disk.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/signature/keys.h"

namespace bellwether::node {

// Of a file, or of all files *.pub and *.pem of a folder, in the order of their names. Waits for the disk. kInvalid:
// there are none, one cannot be read as keys, or anybody may change them; kTooLarge; errors of the disk.
Result<std::vector<signature::PublicKey>> read_keyring(const std::string& path);

}  // namespace bellwether::node
