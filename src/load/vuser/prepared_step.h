// A step as one load thread runs it, and the requests that it makes: work that is the same in all iterations is done
// once. A constant request is a block of bytes ready to send.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/http1/client.h"
#include "core/runtime/runtime.h"
#include "load/plan/plan.h"
#include "load/vuser/evaluate.h"
#include "load/vuser/render.h"

namespace bellwether::vuser {

// Room for the bytes of one request of an iteration; pooled by the load thread.
struct RequestText {
  std::string url;
  std::string body;
  std::string bytes;  // head, empty line, body
  std::string credentials;
  std::string password;
  http1::DigestUser digest;  // views of the two above
};

// The differences of one request from its call.
struct RequestChange {
  std::string_view method;
  std::string_view url;  // absolute, or the text behind the URL of the call; percent-encoded
  std::span<const std::pair<std::string_view, std::string_view>> headers;  // win over those of the call
  std::optional<std::string_view> body;
  std::span<const plan::StatusRange> expected = {};  // in place of those of the call
};

// Gives the origins the addresses of hosts that the plan names. Before the first of them is found.
Status override_hosts(const plan::Plan& plan, http1::OriginTable& origins);

// Makes the requests of one call, as the bytes on the wire.
class RequestMaker {
 public:
  // `call` must outlive it.
  explicit RequestMaker(const plan::HttpCall& call);

  const plan::HttpCall& call() const { return *call_; }
  const http1::TlsSettings& tls() const { return *tls_settings_; }
  bool mentions_time() const { return mentions_time_; }
  const http1::CallLimits& limits() const { return *limits_; }
  // nullptr: a direct connection.
  const Proxy* proxy_to(bool tls, std::string_view host) const {
    return call_->proxies == nullptr ? nullptr : call_->proxies->find(tls, host);
  }
  // The part and the number of parts for its requests: of files that are sent in sequence it takes every `parts`th.
  void deal(uint32_t part, uint32_t parts) {
    next_file_ = part;
    file_step_ = parts;
  }

  // Puts the request together in `text`, to which the result refers; the caller sets `want_body`. False when a value is
  // missing, or the URL or a field cannot be sent.
  bool make(const RenderContext& context, http1::OriginTable& origins, RequestText& text, http1::Request& out) const;
  // The same with some parts replaced.
  bool make(const RequestChange& change, const RenderContext& context, http1::OriginTable& origins, RequestText& text,
            http1::Request& out) const;

 private:
  bool render_url(const RequestChange* change, const RenderContext& context, std::string& out) const;
  bool put_fields(const RequestChange* change, const RenderContext& context, RequestText& text) const;
  bool put_credentials(const RenderContext& context, RequestText& text, http1::Request& out) const;
  bool make(const RequestChange* change, const RenderContext& context, http1::OriginTable& origins, RequestText& text,
            http1::Request& out) const;

  const plan::Template* next_body(const RenderContext& context) const;

  const plan::HttpCall* call_;
  mutable uint64_t next_file_ = 0;
  uint64_t file_step_ = 1;
  std::unique_ptr<http1::CallLimits> limits_;
  std::unique_ptr<const http1::TlsSettings> tls_settings_;
  std::unique_ptr<http1::HeadMemory> heads_;
  bool mentions_time_;  // some of it is the wall clock
};

// Whether the servers of a plan can be reached, before its load starts.

// Looks up the hosts of all requests, or their proxies, except hosts that only the run knows. With `connect`, it also
// opens one connection to each, with TLS where the request uses it and no proxy. Error: the first failure, with its
// URL. The timeouts are those of the requests. `plan` outlives the task.
runtime::task<Status> check_targets(runtime::Runtime& runtime, const plan::Plan& plan, bool connect);

// Those of the plan's `local_ips` that this machine has, by trying them. Error: it has none of them.
Result<std::vector<runtime::IpAddress>> local_addresses(runtime::Runtime& runtime, const plan::Plan& plan);

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
