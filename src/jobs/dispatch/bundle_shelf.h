// The bundles that a worker has at hand, by their hashes. What nobody has used for the longest makes room; what is in
// use stays.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace bellwether::dispatch {

class BundleShelf {
 public:
  using Bytes = std::shared_ptr<const std::string>;
  static constexpr std::size_t kOverhead = 1'024;  // that each counts for, beside its bytes

  explicit BundleShelf(std::size_t bytes_most) : bytes_most_(bytes_most) {}

  // kTooLarge when it never fits, kExhausted when what is in use leaves no room. One that is here already stays.
  Status put(const std::string& hash, std::string bytes);
  // Nothing when it is not here. In use for as long as somebody keeps what this gave.
  Bytes find(const std::string& hash);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Bundle {
    std::string hash;
    Bytes bytes;
  };
  std::size_t bytes_most_;
  std::size_t bytes_ = 0;
  std::list<Bundle> bundles_;  // what was used last comes first
};

}  // namespace bellwether::dispatch
