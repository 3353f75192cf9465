// Looks at a response: do its checks hold, and which values does it give to later steps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "metrics/window.h"
#include "plan/plan.h"
#include "protocol/http1/client.h"
#include "vuser/json_reader.h"
#include "vuser/values.h"

namespace re2 {
class RE2;
}

namespace bellwether::vuser {

// What one load thread prepares once for the checks and extractions of one step.
class Evaluator {
 public:
  Evaluator(const plan::Step& step, JsonReader& json);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  // Whether the body must be kept for it.
  bool wants_body() const { return wants_body_; }
  // Whether the user says which statuses are right, so that a status of 400 or more is not a failure by itself.
  bool checks_status() const { return checks_status_; }

  struct Verdict {
    bool all = true;     // every check holds
    bool status = true;  // every check of the status holds
  };
  // Counts each check as passed or failed, and sets the values. A check of a request that got no response fails.
  // `took`: service time of the exchange.
  Verdict evaluate(const http1::Response& response, Duration took, Values& values,
                   std::vector<metrics::CheckCount>& counts);

 private:
  bool holds(const plan::Check& check, std::size_t index, const http1::Response& response, Duration took);
  bool json_holds(const plan::Check& check, std::size_t index);
  void extract(const plan::Extract& extract, std::size_t index, const http1::Response& response, Values& values);
  bool open_json(const http1::Response& response);

  const plan::Step* step_;
  JsonReader* json_;
  bool wants_body_ = false;
  bool checks_status_ = false;
  enum class Json : uint8_t { kNotRead, kGood, kBad } json_state_ = Json::kNotRead;
  std::vector<std::vector<std::unique_ptr<re2::RE2>>> check_patterns_;  // of kMatches, for each check and literal
  std::vector<std::unique_ptr<re2::RE2>> extract_patterns_;             // of kRegex
};

}  // namespace bellwether::vuser
