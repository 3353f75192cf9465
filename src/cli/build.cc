// bellwether build FILE.cc: compiles a workflow in C++.

#include "load/script/native/build.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "bellwether/workflow_abi.h"
#include "cli/commands.h"
#include "cli/sources.h"
#include "cli/verb.h"
#include "core/base/product.h"
#include "core/signature/signature.h"
#include "load/script/native/describe.h"

namespace bellwether::cli {
namespace {

struct BuildArguments {
  script::native::BuildOptions build;
  std::string out;
  std::string sign_key;
};

// "load/shop.cc" makes "load/shop.bw".
std::string artifact_beside(const std::string& source) { return source.substr(0, source.rfind('.')) + ".bw"; }

Status write_artifact(const std::string& bytes, const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wbe"), &std::fclose);
  if (file == nullptr) return fail_errno(errno, "cannot write '" + path + "'");
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() || std::fflush(file.get()) != 0) {
    return fail_errno(errno, "cannot write '" + path + "'");
  }
  return {};
}

Status run_build(BuildArguments arguments) {
  if (!script::native::is_source(arguments.build.file)) {
    return fail(Errc::kInvalid, "'" + arguments.build.file + "' is no file in C++: FILE.cc, FILE.cpp or FILE.cxx");
  }
  std::optional<signature::SigningKey> key;
  if (!arguments.sign_key.empty()) {
    BW_TRY(key, read_signing_key(arguments.sign_key));
  }
  BW_TRY(arguments.build.cache, script::native::cache_folder());
  const auto built = script::native::build(arguments.build);
  if (!built && built.error().code == Errc::kInvalid) {
    std::fprintf(stderr, "%s\n", built.error().message.c_str());
    return fail(Errc::kInvalid, arguments.build.file + ": it does not compile");
  }
  if (!built) return tl::unexpected(built.error());
  auto bytes = read_whole_file(*built, signature::kProgramBytesMax);
  if (!bytes) return tl::unexpected(bytes.error());
  const std::string out = arguments.out.empty() ? artifact_beside(arguments.build.file) : arguments.out;
  BW_RETURN_IF_ERROR(script::native::describe(*bytes, out));
  if (key) *bytes = signature::sign(*bytes, {BELLWETHER_ABI_VERSION, std::string(kProductVersion)}, *key);
  if (bytes->size() > signature::kProgramBytesMax) {
    return fail(Errc::kTooLarge, "'" + out + "' would be larger than " +
                                     std::to_string(signature::kProgramBytesMax >> 20) +
                                     " MiB, and nothing could run it");
  }
  BW_RETURN_IF_ERROR(write_artifact(*bytes, out));
  const std::string by = key ? " and signed by key " + signature::name_of(key->public_key()) : "";
  std::printf("%s: built%s; run it with: bellwether run %s\n", out.c_str(), by.c_str(), out.c_str());
  return {};
}

}  // namespace

void add_build(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App* command = new_verb(app, "build", "Compile a workflow in C++");
  command->add_option("FILE", arguments->build.file, "Source of the workflow: FILE.cc")->required();
  command->add_option("-o,--output", arguments->out, "The artifact (default: FILE.bw beside the source)");
  command->add_option("--compiler", arguments->build.compiler,
                      "Default: clang++-16, clang++ or g++, whichever is there");
  add_sign_option(command, arguments->sign_key);
  command->add_flag("--verbose", arguments->build.verbose, "All that the compiler says, not just the first errors");
  command->footer(
      "`bellwether run FILE.cc` builds by itself; what is built once is kept in $XDG_CACHE_HOME/bellwether. How a\n"
      "workflow is written: docs/cpp.md. Exit codes: 0 built, 104 it cannot be.\n"
      "On clusters only what is signed runs, by a key that the workers trust: docs/cluster/programs.md.\n"
      "Examples:\n"
      "  bellwether build examples/shop.cc -o shop.bw\n"
      "  openssl genpkey -algorithm ed25519 -out load.key\n"
      "  openssl pkey -in load.key -pubout -out load.pub       for the workers\n"
      "  bellwether build examples/shop.cc -o shop.bw --sign-key load.key");
  command->callback([arguments, &exit_code] {
    const Status built = run_build(*arguments);
    if (!built) std::fprintf(stderr, "bellwether build: %s\n", built.error().message.c_str());
    exit_code = built ? kExitOk : kExitUsage;
  });
}

}  // namespace bellwether::cli
