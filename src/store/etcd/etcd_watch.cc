#include "store/etcd/etcd_watch.h"

namespace bellwether::store {

runtime::task<Status> EtcdWatch::listen(LineSink& sink, Instant begin_by, Instant deadline) {
  const std::string prefix = key_ + "/";
  const Status ended = co_await api_.watch(watch_body(prefix, after_prefix(prefix)), sink, begin_by, deadline);
  co_return ended;
}

WebWatch::Word EtcdWatch::hear(std::string_view line) {
  const auto news = parse_watch(line, key_);
  if (!news || news->over) return WebWatch::Word::kEnd;
  // What happened before the watch stood was not told.
  if (news->begins || news->revision > seen_.revision) return WebWatch::Word::kChanged;
  return WebWatch::Word::kNothing;
}

}  // namespace bellwether::store
