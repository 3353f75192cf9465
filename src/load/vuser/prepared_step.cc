#include "load/vuser/prepared_step.h"

#include "core/http1/url.h"

namespace bellwether::vuser {
namespace {

bool call_is_constant(const plan::HttpCall& call) {
  if (!call.url.constant() || (call.body && !call.body->constant())) return false;
  if (call.token || call.files != nullptr) return false;
  for (const plan::Header& header : call.headers) {
    if (!header.value.constant()) return false;
  }
  if (call.digest && (!call.digest->user.constant() || !call.digest->password.constant())) return false;
  return true;
}

}  // namespace

PreparedStep::PreparedStep(const plan::Step& step, bool measured, BodyReaders& readers)
    : step_(&step),
      call_(std::get_if<plan::HttpCall>(&step.work)),
      measured_(measured),
      is_bare_(!step.think && !step.repeat && !step.group),
      evaluator_(step, readers),
      conditions_(step.conditions) {}

Result<PreparedStep> PreparedStep::prepare(const plan::Step& step, bool measured, http1::OriginTable& origins,
                                           BodyReaders& readers) {
  PreparedStep prepared(step, measured, readers);
  if (prepared.call_ == nullptr) return prepared;
  const plan::HttpCall& call = *prepared.call_;
  prepared.maker_.emplace(call);

  if (call.url.constant()) {
    BW_TRY(auto url, http1::parse_url(call.url.text()));
    BW_RETURN_IF_ERROR(origins.find(url.tls, url.host, url.port, prepared.maker_->tls(),
                                    prepared.maker_->proxy_to(url.tls, url.host)));
  }
  if (call_is_constant(call)) {
    const Values none(0);
    Prng unused(0);
    const RenderContext context{none, 1, 0, {}, unused};
    prepared.constant_text_ = std::make_unique<RequestText>();
    if (!prepared.build(context, origins, *prepared.constant_text_, prepared.request_)) {
      return fail(Errc::kInvalid, "step '{}': the URL or a header holds characters that cannot be sent", step.name);
    }
    prepared.constant_ = true;
  }
  return prepared;
}

Status try_to_prepare(const plan::Workflow& workflow) {
  http1::OriginTable origins;
  BodyReaders readers;
  for (const plan::Step& step : workflow.steps) {
    BW_TRY([[maybe_unused]] const auto prepared, PreparedStep::prepare(step, true, origins, readers));
  }
  return {};
}

bool PreparedStep::build(const RenderContext& context, http1::OriginTable& origins, RequestText& text,
                         http1::Request& out) const {
  out.want_body = evaluator_.wants_body();
  return maker_->make(context, origins, text, out);
}

}  // namespace bellwether::vuser
