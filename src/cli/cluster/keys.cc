// bellwether keys: key shares of a key that only an elected admin has, and the operator's attestations of nodes.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sources.h"
#include "cli/verb.h"
#include "cluster/node/secrets.h"
#include "cluster/wire/identity.h"
#include "core/base/units.h"
#include "core/runtime/epoll/epoll_runtime.h"
#include "core/secret/key_codec.h"
#include "core/secret/sharing.h"
#include "core/signature/attestation.h"

namespace bellwether::cli {
namespace {

constexpr std::size_t kDrawnBytes = 32;

using secret::SecretBytes;

Status fill_random(MutableBytes into) {
  while (!into.empty()) {
    const ssize_t got = ::getrandom(into.data(), into.size(), 0);
    if (got < 0 && errno != EINTR) return fail_errno(errno, "drawing randomness");
    if (got > 0) into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

int ended(const Status& done, const char* verb) {
  if (done) return kExitOk;
  std::fprintf(stderr, "bellwether keys %s: %s\n", verb, done.error().message.c_str());
  return done.error().code == Errc::kRefused ? kExitNo : kExitUsage;
}

// --- split -----------------------------------------------------------------------------------------------------------

struct SplitGiven {
  std::vector<std::string> names;
  std::size_t threshold = 0;  // 0: the majority
  std::string key;
  std::string folder = ".";
  bool hides_nothing = false;
};

Status check_split_given(const SplitGiven& given, std::size_t threshold) {
  for (const std::string& name : given.names) {
    if (!wire::is_name(name)) {
      return fail(Errc::kInvalid, "'{}' is no name of a node: 1 to 64 letters, digits, '.', '_' and '-'", name);
    }
  }
  if (std::set(given.names.begin(), given.names.end()).size() != given.names.size()) {
    return fail(Errc::kInvalid, "--names has a node twice: each gets one key share");
  }
  if (threshold == 1 && !given.hides_nothing) {
    return fail(Errc::kInvalid,
                "with a threshold of 1 each key share is the key, in full: it hides nothing from a person who has one. "
                "Name more nodes, or say --hides-nothing");
  }
  return {};
}

Result<SecretBytes> key_to_split(const std::string& file) {
  if (!file.empty()) return node::read_secret_bytes(file, secret::kMaxSecretBytes);
  SecretBytes drawn(kDrawnBytes);
  BW_RETURN_IF_ERROR(fill_random(drawn.bytes()));
  return drawn;
}

struct NewFile {
  std::string path;
  SecretBytes bytes;
  uint32_t mode = 0600;
};

// Makes a folder that other users cannot read, unless it exists.
Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, fmt::format("making the folder '{}'", path));
}

// All of them, or none.
Status write_all(const std::vector<NewFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Status done = node::write_new_file(files[i].path, files[i].bytes.bytes(), files[i].mode);
    if (done) continue;
    for (std::size_t written = 0; written < i; ++written) ::unlink(files[written].path.c_str());
    return done;
  }
  return {};
}

Status split_key(const SplitGiven& given) {
  const std::size_t threshold = given.threshold == 0 ? given.names.size() / 2 + 1 : given.threshold;
  BW_RETURN_IF_ERROR(check_split_given(given, threshold));
  BW_TRY(const auto key, key_to_split(given.key));
  uint64_t id = 0;
  BW_RETURN_IF_ERROR(fill_random(std::as_writable_bytes(std::span(&id, 1))));
  BW_TRY(const auto split, secret::split(secret::SecretId(id), key, {threshold, given.names.size()}, &fill_random));
  std::vector<NewFile> files;
  for (std::size_t i = 0; i < given.names.size(); ++i) {
    files.push_back({fmt::format("{}/{}.share", given.folder, given.names[i]), secret::encode(split.shares[i])});
  }
  const std::string commitment = secret::encode(split.commitment);
  files.push_back({given.folder + "/key.commitment", SecretBytes::copy_of(as_bytes(commitment)), 0644});
  BW_RETURN_IF_ERROR(make_folder(given.folder));
  BW_RETURN_IF_ERROR(write_all(files));
  for (const NewFile& file : files) std::printf("%s\n", file.path.c_str());
  std::printf(
      "Any %zu of these %zu key shares give the key%s. Bring NAME.share to node NAME and nobody else, and "
      "key.commitment\n"
      "to all of them; then destroy the key shares here%s.\n",
      threshold, given.names.size(), given.key.empty() ? ", which was drawn and is written nowhere" : "",
      given.key.empty() ? "" : ", and the key");
  return {};
}

void add_split(CLI::App& keys, int& exit_code) {
  auto given = std::make_shared<SplitGiven>();
  CLI::App* command = new_verb(keys, "split");
  command->add_option("--names", given->names, "Names of the nodes: those in `voters`")
      ->required()
      ->delimiter(',')
      ->type_name("NAME,…");
  command
      ->add_option("--threshold", given->threshold, "Number of key shares that recover the key (default: a majority)")
      ->check(CLI::Range(std::size_t{1}, secret::kMaxKeyShares));
  add_text(command, "--key", given->key, "FILE", "File with the key, 1 to 4,096 bytes (default: 32 random bytes)");
  add_text(command, "--out", given->folder, "FOLDER",
           "Folder for NAME.share and key.commitment; created if missing (default: the current folder)");
  command->add_flag("--hides-nothing", given->hides_nothing, "Allow a threshold of 1");
  command->callback([given, &exit_code] { exit_code = ended(split_key(*given), "split"); });
}

// --- verify and combine ----------------------------------------------------------------------------------------------

struct SharesGiven {
  std::string commitment;
  std::vector<std::string> shares;
  std::string out;
};

Result<std::vector<secret::KeyShare>> read_shares(const SharesGiven& given, const secret::Commitment& commitment) {
  std::vector<secret::KeyShare> out;
  for (const std::string& path : given.shares) {
    BW_TRY(auto share, node::read_key_share(path));
    if (const Status good = commitment.check(share); !good) {
      return fail(Errc::kRefused, "'{}': {}", path, good.error().message);
    }
    out.push_back(std::move(share));
  }
  return out;
}

Status verify_shares(const SharesGiven& given) {
  BW_TRY(const auto commitment, node::read_commitment(given.commitment));
  BW_TRY(const auto shares, read_shares(given, commitment));
  const secret::SplitRule& rule = commitment.head().rule;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    std::printf("%s: key share %u of %zu, as it was split; any %zu give the key\n", given.shares[i].c_str(),
                unsigned{shares[i].index}, rule.shares, rule.threshold);
  }
  return {};
}

Status combine_shares(const SharesGiven& given) {
  BW_TRY(const auto commitment, node::read_commitment(given.commitment));
  BW_TRY(const auto shares, read_shares(given, commitment));
  const auto key = secret::combine(commitment, shares);
  if (!key) return fail(Errc::kRefused, key.error().message);
  BW_RETURN_IF_ERROR(node::write_new_file(given.out, key->bytes(), 0600));
  std::printf("%s: the key, %s, which only its owner can read\n", given.out.c_str(),
              format_count(key->size(), "byte").c_str());
  return {};
}

CLI::App* add_shares(CLI::App& keys, const char* name, SharesGiven& given) {
  CLI::App* command = new_verb(keys, name);
  add_text(command, "--commitment", given.commitment, "FILE", "The commitment that `keys split` wrote")->required();
  command->add_option("SHARE", given.shares, "Files of key shares")->required()->expected(1, secret::kMaxKeyShares);
  return command;
}

// --- attest ----------------------------------------------------------------------------------------------------------

constexpr Duration kLongestAttested = Duration::hours(10 * 366 * 24);

struct AttestGiven {
  std::string key;
  std::string cluster;
  std::string environment = "default";
  std::string node;
  std::vector<std::string> capabilities;
  Duration good_for = Duration::hours(90 * 24);
  std::string out;
};

Status attest_node(const AttestGiven& given) {
  for (const std::string* name : {&given.cluster, &given.environment, &given.node}) {
    if (!wire::is_name(*name)) {
      return fail(Errc::kInvalid, "'{}' is no name: 1 to 64 letters, digits, '.', '_' and '-'", *name);
    }
  }
  if (given.good_for <= Duration::zero() || given.good_for > kLongestAttested) {
    return fail(Errc::kInvalid,
                fmt::format("--for {}: more than nothing, and 10 years at most", format_duration(given.good_for)));
  }
  BW_TRY(auto key, read_signing_key(given.key));
  BW_TRY(auto runtime, runtime::EpollRuntime::create({}));
  const WallTime until{runtime->wall_now().unix_ns + given.good_for.ns()};
  BW_TRY(const auto text,
         signature::attest(
             {fmt::format("{}/{}", given.cluster, given.environment), given.node, given.capabilities, until}, key));
  const std::string out = given.out.empty() ? given.node + ".attestation" : given.out;
  BW_RETURN_IF_ERROR(node::write_new_file(out, as_bytes(text), 0644));
  std::printf("%s: node %s may say that it can do that until %s; signed by key %s\n", out.c_str(), given.node.c_str(),
              format_wall(until).c_str(), signature::name_of(key.public_key()).c_str());
  return {};
}

void add_attest(CLI::App& keys, int& exit_code) {
  auto given = std::make_shared<AttestGiven>();
  CLI::App* command = new_verb(keys, "attest");
  add_text(command, "--key", given->key, "FILE", "The operator's private key (Ed25519, PEM)")->required();
  add_text(command, "--cluster-name", given->cluster, "NAME", "Cluster of the node: `cluster` in its settings")
      ->required();
  add_text(command, "--environment", given->environment, "NAME", "Environment of the node (default: default)");
  add_text(command, "--node", given->node, "NAME", "Name of the node")->required();
  command->add_option("--capabilities", given->capabilities, "Capabilities of the node")
      ->required()
      ->delimiter(',')
      ->type_name("NAME,…");
  add_duration(command, "--for", given->good_for, "Time until the attestation expires (default 2160h, 90 days)");
  add_text(command, "--out", given->out, "FILE", "File to write (default: NODE.attestation)");
  command->callback([given, &exit_code] { exit_code = ended(attest_node(*given), "attest"); });
}

}  // namespace

void add_keys(CLI::App& app, int& exit_code) {
  CLI::App* command = new_verb(app, "keys");
  command->require_subcommand(1);
  add_split(*command, exit_code);
  auto given = std::make_shared<SharesGiven>();
  add_shares(*command, "verify", *given)->callback([given, &exit_code] {
    exit_code = ended(verify_shares(*given), "verify");
  });
  CLI::App* combine = add_shares(*command, "combine", *given);
  add_text(combine, "--out", given->out, "FILE", "File for the key; it must not exist")->required();
  combine->callback([given, &exit_code] { exit_code = ended(combine_shares(*given), "combine"); });
  add_attest(*command, exit_code);
  command->footer(
      "Fewer key shares than the threshold reveal nothing about the key. They protect it against a stolen disk, and "
      "against a node that acts without an election. They do not protect it against a threshold of nodes that collude, "
      "against an admin that is compromised, or against the person who splits it: the page \"Keys that only an elected "
      "admin has\" of the documentation. No file is "
      "overwritten.\n"
      "\n"
      "Exit codes: 0 done, 1 a key share does not match, or there are too few, 104 any other error.");
}

}  // namespace bellwether::cli
