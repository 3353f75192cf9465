// The data files of jobs on a manager: it takes them from clients, copies them to the other managers that keep jobs,
// and gives them to workers. The leader takes an upload, and each owner of a job looks after its files: it names them
// to the others every few seconds, and a manager that lacks one fetches it. So a file stays while a job needs it, and
// goes some time after. One thread, that of its runtime.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/runtime/scope.h"
#include "jobs/dispatch/messages.h"
#include "jobs/files/file_store.h"
#include "jobs/manager/cluster_view.h"

namespace bellwether::node {

class ManagerFiles {
 public:
  // All must outlive it.
  ManagerFiles(runtime::Runtime& runtime, cluster::PeerLinks& links, ClusterView& around, FileStore& store)
      : runtime_(runtime), links_(links), around_(around), store_(store), fetches_(runtime, links, store) {}
  ManagerFiles(const ManagerFiles&) = delete;
  ManagerFiles& operator=(const ManagerFiles&) = delete;

  // A chunk of an upload, for the leader.
  runtime::task<dispatch::Response> put(dispatch::PutFile message);
  // `from`: the manager that names it.
  dispatch::Response keep(const std::string& from, const dispatch::KeepFile& message);
  runtime::task<dispatch::Response> fetch(dispatch::FetchFile message);

  // A live job of this manager needs it. Again every few seconds.
  void need(const FileRef& file) { copies_of(file).by_job = true; }
  // Whether a majority of the managers that keep jobs has each of these; else kNotFound, which says which does not.
  Status kept(const std::vector<FileRef>& files);
  // Ends all its coroutines. Before it is destroyed.
  runtime::task<void> close();
  runtime::task<void> sweep() { return store_.sweep(); }

 private:
  // The known copies of a file, while somebody needs it.
  struct Copies {
    FileRef file;
    std::set<std::string> on;  // managers
    Instant needed;
    bool by_job = false;  // not only by an upload
    std::string why;      // some manager has none
  };
  Copies& copies_of(const FileRef& file);
  bool is_kept(const FileRef& file);
  std::vector<cluster::PeerAddress> others(const std::string& first) const;
  static runtime::task<void> spread(ManagerFiles* self, FileRef file);

  runtime::Runtime& runtime_;
  cluster::PeerLinks& links_;
  ClusterView& around_;
  FileStore& store_;
  FileFetches fetches_;
  std::map<std::string, Copies> copies_;  // by hash; each has a coroutine
  runtime::Scope scope_;                  // last: its coroutines use everything above
};

}  // namespace bellwether::node
