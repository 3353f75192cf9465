#include "jobs/manager/cluster_view.h"

#include <map>
#include <utility>

#include "cluster/health/datacenter.h"
#include "cluster/health/signals.h"
#include "cluster/net/message_classes.h"
#include "jobs/dispatch/codec/messages_codec.h"

namespace bellwether::node {

namespace {

struct Datacenter {
  uint32_t managers = 0;
  health::WorkerFigures workers;
};

}  // namespace

std::vector<dispatch::DatacenterLine> datacenters_of(const std::vector<ClusterView::Neighbour>& neighbours,
                                                     const std::string& leader,
                                                     const std::vector<dispatch::WorkerLine>& workers) {
  std::map<std::string, Datacenter> all;
  std::map<std::string, std::string> place_of;  // of workers that are alive
  std::vector<health::ManagerView> managers;
  for (const ClusterView::Neighbour& one : neighbours) {
    if (!one.manager) {
      if (one.there) place_of[one.name] = one.datacenter;
      continue;
    }
    all[one.datacenter].managers += one.there ? 1 : 0;
    health::ManagerView view;
    view.alive = one.there;
    view.stuck = one.stuck;
    view.is_leader = one.name == leader;
    view.has_quorum = view.ready = one.there && !leader.empty();
    managers.push_back(view);
  }
  for (const dispatch::WorkerLine& one : workers) {
    const auto place = place_of.find(one.name);
    if (place == place_of.end()) continue;
    health::WorkerFigures& sum = all[place->second].workers;
    const bool healthy = one.state == "healthy" && one.progress != to_string(health::Progress::kStuck);
    ++sum.registered;
    sum.healthy += healthy ? 1 : 0;
    sum.cores += one.cores;
    sum.free_cores += healthy ? one.free : 0;
  }
  std::vector<dispatch::DatacenterLine> out;
  for (const auto& [name, one] : all) {
    std::vector<health::ManagerView> views = managers;
    for (health::ManagerView& view : views) view.workers = one.workers;
    const health::DatacenterVerdict verdict = health::judge(views);
    out.push_back({name, one.managers, one.workers.registered, one.workers.cores, one.workers.free_cores,
                   std::string(to_string(verdict.health)), std::string(verdict.reason)});
  }
  return out;
}

using runtime::task;

task<Result<dispatch::Response>> ask(cluster::PeerLinks& links, cluster::PeerAddress to, dispatch::JobMessage message,
                                     Duration timeout, runtime::Cancellation* cancel,
                                     cluster::PeerLinks::WhenBusy when_busy) {
  std::string body = dispatch::encode(message);
  BW_CO_TRY(const auto answer,
            co_await links.request(std::move(to), cluster::message_type::kDispatch, wire::Priority::kControl,
                                   std::move(body), timeout, cancel, when_busy));
  auto decoded = dispatch::decode_response(answer);
  co_return decoded;
}

std::string words_of(const Result<dispatch::Response>& answer) {
  if (!answer) return answer.error().message;
  const auto* refusal = std::get_if<dispatch::Refusal>(&*answer);
  if (refusal == nullptr) return "its answer does not match the request";
  return refusal->why.empty() ? std::string(to_string(refusal->kind)) : refusal->why;
}

void respond(cluster::MessageRouter& router, link::Connection& connection, wire::RequestId id,
             const dispatch::Response& response) {
  router.respond(connection, id, dispatch::encode(response));
}

}  // namespace bellwether::node
