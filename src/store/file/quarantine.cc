#include "store/file/quarantine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/probe.h"
#include "store/disk/small_file.h"
#include "store/disk/wall_text.h"

namespace bellwether::store {
namespace {

using runtime::task;

// "20260104T193220091Z": sorts as time passes.
std::string compact(WallTime time) {
  std::string text = format_wall(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == '.'; });
  return text;
}

}  // namespace

task<Status> put_aside(runtime::Runtime& runtime, std::string path) {
  BW_PROBE("store: a file is put aside");
  const std::string folder = folder_of(path);
  auto names = co_await runtime.list_directory(folder);
  if (!names) co_return tl::unexpected(names.error());
  const std::string prefix = path.substr(path.rfind('/') + 1) + ".quarantine-";
  std::erase_if(*names, [&](const std::string& name) { return !name.starts_with(prefix); });

  std::string target;
  for (int n = 1; target.empty() || std::find(names->begin(), names->end(), target) != names->end(); ++n) {
    target = prefix + compact(runtime.wall_now()) + "-" + std::to_string(n);
  }
  Status done = co_await runtime.rename(path, folder + "/" + target);
  if (!done) co_return done;
  for (std::size_t i = 0; i + kMostQuarantined <= names->size(); ++i) {
    done = co_await runtime.remove(folder + "/" + (*names)[i]);
    if (!done) co_return done;
  }
  co_return Status();
}

}  // namespace bellwether::store
