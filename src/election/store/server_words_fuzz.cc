// Takes arbitrary bytes for what servers answer: Redis, etcd, the API server of Kubernetes, and a kubeconfig. Refused
// or understood, in bounds either way.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/check.h"
#include "election/store/etcd/etcd_api.h"
#include "election/store/kubernetes/kube_api.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace bellwether;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto answer = store::parse_transaction(text, "key");
  check(answer || !answer.error().message.empty(), "a refusal says why");
  const auto news = store::parse_watch(text, "key");
  check(news || !news.error().message.empty(), "a refusal says why");
  const auto shown = store::parse_shown(text, 2);
  check(shown ? shown->entries.size() == 2 : !shown.error().message.empty(), "what is shown is complete");
  const auto removals = store::parse_removals(text);
  check(removals || !removals.error().message.empty(), "a refusal says why");
  const auto record = store::parse_etcd_value(text);
  if (record) check(record->lease >= Duration::zero(), "a lease is a span of time");
  const auto lease = store::parse_kube_lease(text);
  check(lease || !lease.error().message.empty(), "a refusal says why");
  const auto event = store::parse_kube_event(text);
  check(event || !event.error().message.empty(), "a refusal says why");
  const auto list = store::parse_kube_list(text);
  check(list || !list.error().message.empty(), "a refusal says why");
  const auto access = store::parse_kubeconfig(text, "", "/nowhere");
  check(access || !access.error().message.empty(), "a refusal says why");
  return 0;
}
