// The answers that are always the same, built once: the target sends them from where they lie.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace bellwether::target {

// A whole response that keeps the connection open.
struct Ready {
  std::string_view path;
  std::string_view methods;  // as in Allow
  std::string bytes;
  std::size_t head_size = 0;  // the body begins there

  // What a request with this method gets: everything, the head alone for HEAD, nothing when the method is refused.
  std::string_view answer_to(std::string_view method) const;
};

struct Item {
  uint64_t id;
  std::string_view name;
  std::string_view price;  // as JSON
};

class Catalogue {
 public:
  // The one of the process; never destroyed.
  static const Catalogue& get();

  const Ready* find(std::string_view path) const {
    for (const Ready& ready : ready_) {
      if (ready.path == path) return &ready;
    }
    return nullptr;
  }
  // nullptr when there is no such item.
  static const Item* item(uint64_t id);

 private:
  Catalogue();
  std::array<Ready, 7> ready_;
};

std::string to_json(const Item& item);

// What `text` means to write between quotes in JSON, whatever bytes it holds; those above 127 are taken as Latin-1.
void append_json_string(std::string& out, std::string_view text);

}  // namespace bellwether::target
