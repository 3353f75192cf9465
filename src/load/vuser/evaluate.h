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
#include "load/vuser/body_readers.h"
#include "load/vuser/render.h"

namespace re2 {
class RE2;
}

namespace bellwether::vuser {

// The checks and extractions of one step, prepared once by one load thread.
class Evaluator {
 public:
  // Both must outlive it.
  Evaluator(const plan::Step& step, BodyReaders& readers);
  ~Evaluator();
  Evaluator(Evaluator&&) noexcept;

  // Whether it needs the body.
  bool wants_body() const { return wants_body_; }
  // Whether it needs a context: a check compares with a rendered value, or an extraction draws.
  bool needs_context() const { return needs_context_; }
  bool mentions_time() const { return mentions_time_; }
  // Whether the step has failed by its response alone: there is none, or its status is not among the expected ones.
  // `own`: those of the request, in place of those of the step. Without either, a status from 400 on is a failure
  // unless a check names it as good. REQUIRES a context when it needs one.
  bool is_failure(const http1::Response& response, const RenderContext* context = nullptr,
                  std::span<const plan::StatusRange> own = {}) {
    const bool good = response.error == http1::ErrorKind::kNone && response.status < 400;
    if (good && expected_.empty() && own.empty()) [[likely]]
      return false;
    return has_failed(response, context, own);
  }
  // Sets the values, and counts each check as passed or failed. A check of a request that got no response fails, and so
  // does one whose rendered value is missing. `took`: service time of the exchange. `cookies`: the user's, with those
  // that the response set. `context`: of these values; REQUIRES one when it needs one. Returns whether every check
  // holds.
  bool evaluate(const http1::Response& response, Duration took, const http1::CookieJar& cookies, Values& values,
                std::vector<metrics::CheckCount>& counts, const RenderContext* context = nullptr);

 private:
  // A value that is rendered for each response.
  struct Rendered {
    std::size_t check;
    std::size_t literal;
    const plan::Template* source;
  };

  bool has_failed(const http1::Response& response, const RenderContext* context,
                  std::span<const plan::StatusRange> own);
  bool allows(const http1::Response& response, const RenderContext* context);
  void render_values(const RenderContext& context);
  bool holds(const plan::Check& check, std::size_t index, const http1::Response& response, Duration took);
  bool json_holds(const plan::Check& check, std::size_t index);
  bool markup_holds(const plan::Check& check, std::size_t index);
  void extract(const plan::Extract& extract, std::size_t index, const http1::Response& response,
               const http1::CookieJar& cookies, Values& values, const RenderContext* context);
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
  std::vector<std::unique_ptr<MarkupReader::Expression>> check_expressions_;
  bool needs_context_ = false;
  bool mentions_time_ = false;
  std::vector<Rendered> rendered_;
  std::vector<plan::Check> own_checks_;  // with the rendered values; empty: the step's will do
  std::span<const plan::Check> checks_;  // the step's, or its own
  std::vector<bool> unready_;            // by check: a value of it could not be rendered; empty: there are none
  std::string text_;                     // in the making
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
