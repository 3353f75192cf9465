// Columns for a terminal: each as wide as its widest cell, two spaces apart.
#pragma once

#include <string>
#include <vector>

namespace bellwether::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> heads) { rows_.push_back(std::move(heads)); }
  // A row has as many cells as there are heads, or fewer.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // With a line feed after each row; control characters are made visible.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// With three digits after the point.
std::string figure(double value);

}  // namespace bellwether::cli
