// A step as one load thread runs it: work that is the same in all iterations is done once. A constant request is a
// block of bytes ready to send.
#pragma once

#include <memory>
#include <optional>

#include "core/base/result.h"
#include "core/http1/client.h"
#include "load/plan/plan.h"
#include "load/vuser/evaluate.h"
#include "load/vuser/render.h"
#include "load/vuser/request_maker.h"

namespace bellwether::vuser {

class PreparedStep {
 public:
  // Fails when the URL is constant and wrong, or a CA file cannot be read. `step`, `origins` and `readers` must outlive
  // it.
  static Result<PreparedStep> prepare(const plan::Step& step, bool measured, http1::OriginTable& origins,
                                      BodyReaders& readers);

  const plan::Step& step() const { return *step_; }
  bool is_call() const { return call_ != nullptr; }
  // REQUIRES is_call().
  const plan::HttpCall& call() const { return *call_; }
  // False: its responses are evaluated, but not counted.
  bool measured() const { return measured_; }
  Evaluator& evaluator() { return evaluator_; }
  // True: its work is all there is to it, once.
  bool is_bare() const { return is_bare_; }
  Conditions& conditions() { return conditions_; }

  // True when the request is the same each time: request() needs no text.
  bool constant() const { return constant_; }
  const http1::Request& constant_request() const { return request_; }

  // Puts the request together in `text`, to which the result refers. False when a value is missing, or the rendered URL
  // or a field cannot be sent.
  bool build(const RenderContext& context, http1::OriginTable& origins, RequestText& text, http1::Request& out) const;
  // See RequestMaker. REQUIRES is_call().
  void deal(uint32_t part, uint32_t parts) { maker_->deal(part, parts); }
  // REQUIRES is_call().
  bool mentions_time() const { return maker_->mentions_time(); }

 private:
  PreparedStep(const plan::Step& step, bool measured, BodyReaders& readers);

  const plan::Step* step_;
  const plan::HttpCall* call_ = nullptr;
  bool measured_;
  bool constant_ = false;
  bool is_bare_;
  std::optional<RequestMaker> maker_;  // of a call
  std::unique_ptr<RequestText> constant_text_;
  http1::Request request_;
  Evaluator evaluator_;
  Conditions conditions_;
};

// Whether all steps of a workflow can be prepared, for a workflow that still lacks the values of others.
Status try_to_prepare(const plan::Workflow& workflow);

}  // namespace bellwether::vuser
