#include "cluster/node/secrets.h"

#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace bellwether::node {

Result<std::string> read_secret_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "the secret in '" + path + "'");
  struct stat status {};
  const bool looked = ::fstat(fd, &status) == 0;
  std::string text(wire::kSecretMax + 2, '\0');
  const ssize_t size = ::read(fd, text.data(), text.size());
  ::close(fd);
  if (!looked || size < 0) return fail(Errc::kIo, "the secret in '" + path + "' cannot be read");
  if ((status.st_mode & 077U) != 0) {
    return fail(Errc::kInvalid, "the secret in '" + path + "' can be read by others: chmod 600 '" + path + "'");
  }
  text.resize(static_cast<std::size_t>(size));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

namespace {

// From the file when one is named, else from the variable; nothing when there is neither.
Result<std::optional<wire::Secret>> read(const std::string& file, const char* variable,
                                         cluster::Settings::Environment environment) {
  std::string text;
  std::string where;
  if (!file.empty()) {
    BW_TRY(text, read_secret_file(file));
    where = "the secret in '" + file + "'";
  } else if (const char* given = environment(variable); given != nullptr && *given != '\0') {
    text = given;
    where = std::string("the secret in the variable ") + variable;
  } else {
    return std::nullopt;
  }
  auto secret = wire::Secret::take(std::move(text));
  if (!secret) return fail(Errc::kInvalid, where + ": " + secret.error().message);
  return std::optional<wire::Secret>(std::move(*secret));
}

}  // namespace

Result<wire::Keyring> read_secrets(const cluster::NodeConfig& config, cluster::Settings::Environment environment) {
  BW_TRY(auto secret, read(config.secret_file, cluster::kSecretVariable, environment));
  if (!secret) {
    return fail(Errc::kInvalid,
                std::string("this cluster's shared secret is missing: name its file with secret.file, or put it into "
                            "the variable ") +
                    cluster::kSecretVariable + ". To make one:  openssl rand -base64 32");
  }
  wire::Keyring keyring(std::move(*secret));
  BW_TRY(auto previous, read(config.previous_secret_file, cluster::kPreviousSecretVariable, environment));
  if (previous) {
    BW_RETURN_IF_ERROR(keyring.learn(std::move(*previous)));
  }
  return keyring;
}

}  // namespace bellwether::node
