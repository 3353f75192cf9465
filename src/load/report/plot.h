// Parts of the plots in an HTML report: axes, grid and frame, as SVG. The page's style gives the colours.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bellwether::report {

// The range of an axis, and the values with a mark.
struct Axis {
  double least = 0;
  double most = 1;
  bool log = false;
  std::vector<double> ticks = {};

  // The place of a value, from 0 to 1.
  double part(double value) const;
};
// With room for both values, to the next tick.
Axis linear_axis(double least, double most);
// REQUIRES 0 < least <= most.
Axis log_axis(double least, double most);

// 1, 2 or 5 times a power of ten, so that `most` spans about `parts` of them; 1 when `most` is not positive.
double tick_for(double most, int parts);

// The size of a plot, and of its margins, in its own units.
inline constexpr double kPlotWidth = 600;
inline constexpr double kPlotHeight = 190;
inline constexpr double kPlotLeft = 58;
inline constexpr double kPlotRight = 12;
inline constexpr double kPlotTop = 12;
inline constexpr double kPlotBottom = 24;

// The place of a part of an axis.
double across(double part);
double upward(double part);

// Lines and labels of an upright axis, and one label of a level one.
std::string grid_of(const Axis& axis);
std::string level_label(double part, const std::string& text);

// A number of SVG, with one decimal place.
std::string number(double value);
// A value at an axis: "0.5", "12k".
std::string label(double value);

// The looks and their meanings.
std::string legend(const std::vector<std::pair<std::string, std::string>>& entries);

// A plot with its heading. `title` is any text; `attributes` of the svg element begin with a space.
std::string plot_figure(const std::string& title, const std::string& legend, const std::string& attributes,
                        const std::string& inside);

}  // namespace bellwether::report
