// A file that several processes change: each change reads it, makes the new text and puts it in the old one's place,
// under a lock that stands in a file beside it (PATH.lock). Whoever reads without the lock finds the old text or the
// new one. Once a change has succeeded, it survives a crash of the machine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/time.h"
#include "core/runtime/runtime.h"

namespace bellwether::lead {

// One change. `apply` gets the text (nothing: there is no file) and gives the new one; an Error leaves the file as it
// was. kProtocol means that the text cannot be understood.
class FileChange {
 public:
  virtual ~FileChange() = default;
  virtual Result<std::string> apply(const std::optional<std::string>& text) = 0;
  // The same when what was there could not be understood, for this reason, and is set aside. Before kReplace it must
  // give a text.
  virtual Result<std::string> begin_anew(const std::string& /*why*/) { return apply(std::nullopt); }
};

class SharedFile {
 public:
  static constexpr std::size_t kBytesMax = 256u << 20;

  enum class WhenBroken : unsigned char {
    kRefuse,      // what it held must not be lost: the error tells the operator
    kQuarantine,  // it is set aside as PATH.quarantine-TIME-N, and the change is applied to nothing
    kReplace,     // a copy is set aside, and what begin_anew() gives takes its place: never is there no file
  };

  // `runtime` must outlive it.
  SharedFile(runtime::Runtime& runtime, std::string path, WhenBroken when_broken)
      : runtime_(runtime), path_(std::move(path)), when_broken_(when_broken) {}

  // The text as it is now; nothing when there is no file.
  runtime::task<Result<std::optional<std::string>>> read();
  // kTimeout when the lock is not free by `deadline` (monotonic clock). After any other error of the disk it is unknown
  // whether the change happened. kRefused, kNotFound, kExists and kInvalid are always those of `change`: from the disk
  // they come as kIo. `change` must outlive the task.
  runtime::task<Status> change(FileChange& change, Instant deadline);

  const std::string& path() const { return path_; }
  // The file was set aside by a change of this object.
  bool quarantined() const { return quarantined_; }

 private:
  runtime::task<Result<std::string>> read_again_if_broken(FileChange& change, Result<std::string> made);

  runtime::Runtime& runtime_;
  std::string path_;
  WhenBroken when_broken_;
  bool quarantined_ = false;
};

}  // namespace bellwether::lead
