// How much a node may trust its own watch over others: a score from 0 (all is well) to 8 that grows with signs that the
// node itself is slow or badly connected, and stretches its timeouts (Lifeguard's local health multiplier).
#pragma once

#include <algorithm>

namespace bellwether::membership {

class LocalHealth {
 public:
  LocalHealth(int max, double step) : max_(max), step_(step) {}

  void add(int points) { score_ = std::clamp(score_ + points, 0, max_); }
  int score() const { return score_; }
  // 1 + score · step: 1 to 3 with steps of a quarter.
  double stretch() const { return 1.0 + score_ * step_; }

 private:
  int max_;
  double step_;
  int score_ = 0;
};

}  // namespace bellwether::membership
