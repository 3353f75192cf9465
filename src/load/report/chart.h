// One chart: axes, lines and bands over the columns of a run, as SVG that stands in an HTML page and takes its colours
// from the page's style.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "load/report/charts.h"
#include "load/report/result_file.h"

namespace bellwether::report {

// One for each column; not a number where nothing was measured.
using Values = std::vector<double>;

class Chart {
 public:
  // REQUIRES columns, and least <= most. Both, and the columns, must outlive it.
  Chart(const ResultFile& run, const std::vector<Column>& columns, double least, double most);

  // A line for each stretch without a gap. A single point is a dot. `look` is a class of the page's style.
  std::string line(const std::string& look, const Values& values) const;
  // An area for each stretch without a gap. REQUIRES gaps at the same places.
  std::string band(const std::string& look, const Values& least, const Values& most) const;
  // The whole. `kind` and `metric`, which may be empty, tell the page's script what to read out; `title` is any text.
  std::string wrap(const std::string& title, const std::string& legend, const std::string& kind,
                   const std::string& inside, const std::string& metric = {}) const;

 private:
  double x(double t) const;
  double y(double value) const;
  double middle(std::size_t column) const;
  std::string grid() const;
  // Stretches whose figures are missing, and what happened.
  std::string marks() const;

  const ResultFile& run_;
  const std::vector<Column>& columns_;
  double tick_;
  double least_ = 0;
  double most_ = 0;
  double length_;
};

// Of looks and what they stand for.
std::string legend(const std::vector<std::pair<std::string, std::string>>& entries);

// 1, 2 or 5 times a power of ten, so that `most` spans about `parts` of them; 1 when `most` is not positive.
double tick_for(double most, int parts);

}  // namespace bellwether::report
