// The folder of a local cluster: its secret, certificates and settings, the data and messages of each node, and a
// record of its processes. One command at a time works with it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cluster/local_cluster/layout.h"

namespace bellwether::local_cluster {

class Folder {
 public:
  enum class Use : unsigned char {
    kMake,  // it, and those above it, where they are missing
    kKnown,
    kLook,  // likewise, without a lock
  };
  // kNotFound: it is no folder of a cluster. kExists: another command is at work with it. Blocks while the disk does.
  static Result<Folder> open(const std::string& path, Use use);
  ~Folder();
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&&) = delete;

  const std::string& path() const { return path_; }  // absolute
  std::string log_of(const LocalNode& node) const { return path_ + "/" + node.name + ".log"; }
  std::string settings_of(const std::string& name) const { return path_ + "/" + name + ".yaml"; }

  // Nothing in an empty folder. kInvalid: it has other things in it, or a record that cannot be read.
  Result<std::optional<Layout>> read() const;
  // Durable, and all at once.
  Status write(const Layout& layout) const;
  // Makes a new secret, certificates and settings, all that nodes need. Files are for their owner only.
  Status furnish(const Layout& layout) const;
  // Removes the cluster's files; and the folder, when it is empty then. True: it is gone.
  Result<bool> purge(const Layout& layout) const;
  // The last lines of a node's output, each behind two spaces; empty without output.
  std::string last_lines(const LocalNode& node) const;

 private:
  Folder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // -1: none
};

}  // namespace bellwether::local_cluster
