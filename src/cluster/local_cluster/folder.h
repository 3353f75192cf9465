// The folder of a local cluster: its secret, certificates and settings, the data and messages of each node, and a
// record of its processes. One command at a time works with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/wire/identity.h"
#include "core/base/result.h"

namespace bellwether::local_cluster {

// The parts of a local cluster: its nodes with their names, roles, ports and settings, and the record of it in its
// folder between commands. Texts in, texts out.

// A process that may run for days, so that a later command finds exactly this one: its id with the time of its start,
// on this boot of this machine.
struct ProcessMark {
  int64_t pid = 0;  // 0: never started
  uint64_t start_time = 0;
  std::string boot_id;
  std::string pid_namespace;
  bool operator==(const ProcessMark&) const = default;
};

// Of a process that runs now. Incomplete when the system hides it; then no process matches it.
ProcessMark mark_of(int64_t pid);
bool lives(const ProcessMark& mark);
// Reaches that process or none. kNotFound: it has ended.
Status signal_process(const ProcessMark& mark, int number);

inline constexpr const char* kClusterName = "local";
inline constexpr const char* kClientName = "client";
inline constexpr unsigned kMaxManagers = 9;  // all of which vote
inline constexpr unsigned kMaxWorkers = 100;
inline constexpr unsigned kMaxDatacenters = 9;
inline constexpr unsigned kPortsOfNode = 2;  // TCP and UDP on the first, HTTP on the second

struct Shape {
  unsigned managers = 3;
  unsigned workers = 2;
  unsigned cores = 0;  // of each worker; 0: all that it may use
  unsigned datacenters = 1;
  bool tls = true;
  std::string trust_keys;  // of each worker; empty: it runs no compiled programs
  bool operator==(const Shape&) const = default;
};
// kInvalid says which number is out of its bounds.
Status check_shape(const Shape& shape);
// "3 managers and 2 workers"
std::string to_string(const Shape& shape);

struct LocalNode {
  std::string name;  // "m1", "w1"
  wire::Role role = wire::Role::kManager;
  std::string datacenter;  // "dc1"
  uint16_t port = 0;
  uint16_t http_port = 0;
  ProcessMark process;
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }
  bool operator==(const LocalNode&) const = default;
};

struct Layout {
  Shape shape;
  // All nodes were members at the same time once, so no voter starts for the first time.
  bool formed = false;
  std::vector<LocalNode> nodes;  // managers first
  bool operator==(const Layout&) const = default;
};

constexpr unsigned ports_of(const Shape& shape) { return (shape.managers + shape.workers) * kPortsOfNode; }
// REQUIRES a good shape, and that many ports from `base_port` on.
Layout make_layout(const Shape& shape, uint16_t base_port);

// As `bellwether node --config` reads it.
std::string settings_of(const Layout& layout, const LocalNode& node, const std::string& folder);
// For clients of the cluster, which are no nodes of it.
std::string client_settings(const Layout& layout, const std::string& folder);
// The alternative names of a certificate.
std::string certificate_names(const LocalNode& node);
std::string client_certificate_names();

std::string encode_layout(const Layout& layout);
// kInvalid: the text is not from encode_layout().
Result<Layout> decode_layout(std::string_view text);

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
