#include "load/script/native/library.h"

#include <cerrno>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bellwether::script::native {
namespace {

constexpr const char* kTable = "bellwether_program_table";

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_errno(errno, "no memory for a compiled program");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// The linker's words, without the path of a temporary file.
std::string linker_error(const std::string& path) {
  const char* text = ::dlerror();
  std::string_view message = text == nullptr ? "the linker gives no reason" : text;
  if (message.starts_with(path + ": ")) message.remove_prefix(path.size() + 2);
  return std::string(message);
}

}  // namespace

bool is_artifact(std::string_view bytes) { return bytes.starts_with("\x7f\x45LF") || bytes.starts_with("!<arch>\n"); }

Result<std::unique_ptr<Library>> Library::open(std::string_view bytes, const std::string& name) {
  const int file = ::memfd_create("bellwether-program", MFD_CLOEXEC);
  if (file < 0) return fail_errno(errno, fmt::format("no memory for '{}'", name));
  std::unique_ptr<Library> library(new Library(file, fmt::format("/proc/self/fd/{}", file), nullptr));
  BW_RETURN_IF_ERROR(write_all(file, bytes));
  library->handle_ = ::dlopen(library->path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle_ == nullptr) {
    return fail(Errc::kInvalid,
                fmt::format("'{}' is no compiled workflow that can run here: {}", name, linker_error(library->path_)));
  }
  const auto* program = static_cast<const bellwether_program*>(::dlsym(library->handle_, kTable));
  if (program == nullptr) {
    return fail(Errc::kInvalid,
                fmt::format("'{}' exports no workflows: its source ends with BELLWETHER_WORKFLOWS(CLASS, …)", name));
  }
  if (program->version != BELLWETHER_ABI_VERSION || program->size < sizeof(bellwether_program)) {
    return fail(Errc::kUnsupported,
                "'{}' was built for version {} of the interface, and this bellwether has version {}: build it again "
                "with `bellwether build`",
                name, program->version, BELLWETHER_ABI_VERSION);
  }
  library->program_ = program;
  return library;
}

Library::~Library() {
  if (handle_ != nullptr) {
    ::dlclose(handle_);
    // The linker knows libraries by their path. A library that could not be unloaded keeps its path, so that no other
    // gets it.
    if (void* stays = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD); stays != nullptr) {
      ::dlclose(stays);
      return;
    }
  }
  ::close(file_);
}

}  // namespace bellwether::script::native
