// Evaluates a response: the results of its checks, and the values for later steps.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/http1/client.h"
#include "core/http1/cookies.h"
#include "load/metrics/window.h"
#include "load/plan/plan.h"
#include "load/vuser/json_reader.h"
#include "load/vuser/markup_reader.h"
#include "load/vuser/render.h"
#include "load/vuser/values.h"

namespace re2 {
class RE2;
}

namespace bellwether::vuser {

// The readers of bodies, of one load thread.
struct BodyReaders {
  JsonReader json;
  MarkupReader markup;
};

// The checks and extractions of one step, prepared once by one load thread.
class Evaluator {
 public:
  // Both must outlive it.
  Evaluator(const plan::Step& step, BodyReaders& readers);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  // Whether it needs the body.
  bool wants_body() const { return wants_body_; }
  // Whether the step has failed by its response alone: there is none, or its status is not among the expected ones.
  // `own`: those of the request, in place of those of the step. Without either, a status from 400 on is a failure
  // unless a check names it as good.
  bool is_failure(const http1::Response& response, std::span<const plan::StatusRange> own = {}) {
    if (response.error != http1::ErrorKind::kNone) return true;
    const std::span<const plan::StatusRange> expected = own.empty() ? expected_ : own;
    if (!expected.empty()) [[unlikely]]
      return !scenario::has_status(expected, response.status);
    return response.status >= 400 && !allows(response);
  }
  // Counts each check as passed or failed, and sets the values. A check of a request that got no response fails.
  // `took`: service time of the exchange. `cookies`: the user's, with those that the response set. Returns whether
  // every check holds.
  bool evaluate(const http1::Response& response, Duration took, const http1::CookieJar& cookies, Values& values,
                std::vector<metrics::CheckCount>& counts);

 private:
  bool allows(const http1::Response& response);
  bool holds(const plan::Check& check, std::size_t index, const http1::Response& response, Duration took);
  bool json_holds(const plan::Check& check, std::size_t index);
  void extract(const plan::Extract& extract, std::size_t index, const http1::Response& response,
               const http1::CookieJar& cookies, Values& values);
  bool open_json(const http1::Response& response);
  bool open_markup(const http1::Response& response);

  struct Pattern;

  const plan::Step* step_;
  JsonReader* json_;
  MarkupReader* markup_;
  std::span<const plan::StatusRange> expected_;  // none: the usual rule
  bool wants_body_ = false;
  enum class Read : uint8_t { kNotYet, kGood, kBad };
  Read json_state_ = Read::kNotYet;
  Read markup_state_ = Read::kNotYet;
  std::vector<std::vector<std::unique_ptr<re2::RE2>>> check_patterns_;  // of kMatches, for each check and literal
  std::vector<std::unique_ptr<Pattern>> extract_patterns_;              // of kRegex
  std::vector<std::unique_ptr<MarkupReader::Expression>> expressions_;  // of kXpath, for each extract
};

// The `if` of a step, prepared once by one load thread.
class Conditions {
 public:
  // `conditions` must outlive it.
  explicit Conditions(const std::vector<plan::Condition>& conditions);
  ~Conditions();
  Conditions(Conditions&&) noexcept;

  bool empty() const { return all_->empty(); }
  bool mention_time() const;
  // Whether all hold.
  bool hold(const RenderContext& context);

 private:
  const std::vector<plan::Condition>* all_;
  std::vector<std::vector<std::unique_ptr<re2::RE2>>> patterns_;  // of kMatches, for each condition and literal
  std::string text_;
};

}  // namespace bellwether::vuser
