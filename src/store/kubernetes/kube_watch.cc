#include "store/kubernetes/kube_watch.h"

#include <utility>

namespace bellwether::store {

using runtime::task;

// From the version that was seen last on, so that nothing is missed; else from the present state on, which the server
// tells first.
task<Status> KubeWatch::listen(LineSink& sink, Instant begin_by, Instant deadline) {
  std::string from;
  if (seen_ && !std::exchange(forgotten_, false)) from = seen_->version.substr(seen_->version.rfind('.') + 1);
  const Status ended = co_await api_.watch(name_, std::move(from), sink, begin_by, deadline);
  if (!ended && ended.error().code == Errc::kNotFound) forgotten_ = true;
  co_return ended;
}

WebWatch::Word KubeWatch::hear(std::string_view line) {
  const auto event = parse_kube_event(line);
  if (!event) return WebWatch::Word::kEnd;
  if (event->over) {
    // The server ends the response itself. Something may have happened that it cannot tell any more.
    forgotten_ = true;
    return WebWatch::Word::kChanged;
  }
  const bool news = event->name == name_ && (!seen_ || event->version != seen_->version);
  return news ? WebWatch::Word::kChanged : WebWatch::Word::kNothing;
}

}  // namespace bellwether::store
