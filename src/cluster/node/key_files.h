// Key shares, commitments and keys as files. Everything here waits for the disk, and no message repeats what a file has
// in it.
#pragma once

#include <cstdint>
#include <string>

#include "core/secret/commitment.h"
#include "core/secret/sharing.h"

namespace bellwether::node {

// A file that only its owner may read. Errors: kInvalid when others may, or it is no file; kTooLarge above `most`.
Result<secret::SecretBytes> read_secret_bytes(const std::string& path, std::size_t most);
// Of such a file. Errors: also those of secret::decode_key_share().
Result<secret::KeyShare> read_key_share(const std::string& path);
// Public, but nobody but its owner may change it: another commitment would bring another key.
Result<secret::Commitment> read_commitment(const std::string& path);

// Durable when it returns. Errors: kExists: there is one already, which is left as it is; kIo, and then it is not
// there.
Status write_new_file(const std::string& path, Bytes bytes, uint32_t mode);

}  // namespace bellwether::node
