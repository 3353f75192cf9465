// The secrets of a cluster as a node gets them: from files that only their owner may read, or from the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/net/node_config.h"
#include "cluster/wire/keyring.h"
#include "core/base/result.h"
#include "core/secret/commitment.h"
#include "core/signature/keys.h"

namespace bellwether::node {

// The text of a file that only its owner may read, without the line end.
Result<std::string> read_secret_file(const std::string& path);

// The text of kInvalid names the place, the fault and the remedy, but no part of the secret.
Result<wire::Keyring> read_secrets(const cluster::NodeConfig& config, cluster::Settings::Environment environment);

// Key shares, commitments and keys as files. Everything here waits for the disk, and no message repeats the content of
// a file.

// A file that only its owner may read. Errors: kInvalid when others may, or it is no file; kTooLarge above `most`.
Result<secret::SecretBytes> read_secret_bytes(const std::string& path, std::size_t most);
// Of such a file. Errors: also those of secret::decode_key_share().
Result<secret::KeyShare> read_key_share(const std::string& path);
// Public, but only its owner may change it: another commitment would bring another key.
Result<secret::Commitment> read_commitment(const std::string& path);

// Durable when it returns. Errors: kExists: the file exists, and stays as it is; kIo, and then the file does not exist.
Status write_new_file(const std::string& path, Bytes bytes, uint32_t mode);

// The keys whose compiled programs a worker runs, on its disk.

// Of a file, or of all files *.pub and *.pem of a folder, in the order of their names. Waits for the disk. kInvalid:
// none exist, one cannot be read as keys, or anybody may change them; kTooLarge; errors of the disk.
Result<std::vector<signature::PublicKey>> read_keyring(const std::string& path);

}  // namespace bellwether::node
