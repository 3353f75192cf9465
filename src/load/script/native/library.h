// A compiled workflow in this process. Each load is a separate copy with separate statics: two load threads share
// nothing of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bellwether/workflow_abi.h"
#include "core/base/result.h"

namespace bellwether::script::native {

// Whether these are the bytes of a compiled program, valid or not.
bool is_artifact(std::string_view bytes);

class Library {
 public:
  // Runs the program's code outside of functions, with all rights of this process: only for programs that the user of
  // this machine wants to run. `name` for messages. kInvalid for bytes that are no compiled workflow, kUnsupported for
  // another version.
  static Result<std::unique_ptr<Library>> open(std::string_view bytes, const std::string& name);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  const bellwether_program& program() const { return *program_; }

 private:
  Library(int file, std::string path, void* handle) : file_(file), path_(std::move(path)), handle_(handle) {}

  int file_;  // in memory
  std::string path_;
  void* handle_;
  const bellwether_program* program_ = nullptr;
};

}  // namespace bellwether::script::native
