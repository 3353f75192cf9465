#include "jobs/manager/ask.h"

#include <utility>

#include "cluster/net/message_types.h"
#include "jobs/dispatch/codec/letters_codec.h"

namespace bellwether::node {

using runtime::task;

task<Result<dispatch::Response>> ask(cluster::PeerLinks& links, cluster::PeerAddress to, dispatch::Letter letter,
                                     Duration timeout, runtime::Cancellation* cancel) {
  std::string body = dispatch::encode(letter);
  BW_CO_TRY(const auto answer, co_await links.request(std::move(to), cluster::message_type::kDispatch,
                                                      wire::Priority::kControl, std::move(body), timeout, cancel));
  auto decoded = dispatch::decode_response(answer);
  co_return decoded;
}

std::string words_of(const Result<dispatch::Response>& answer) {
  if (!answer) return answer.error().message;
  const auto* refusal = std::get_if<dispatch::Refusal>(&*answer);
  if (refusal == nullptr) return "it answers something else";
  return refusal->why.empty() ? std::string(to_string(refusal->kind)) : refusal->why;
}

void respond(cluster::Switchboard& switchboard, link::Connection& connection, wire::RequestId id,
             const dispatch::Response& response) {
  switchboard.respond(connection, id, dispatch::encode(response));
}

}  // namespace bellwether::node
