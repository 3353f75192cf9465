#include "election/store/file/quarantine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/probe.h"
#include "core/base/wall_text.h"
#include "election/store/disk/small_file.h"

namespace bellwether::store {
namespace {

using runtime::task;

constexpr uint32_t kCopyMode = 0600;

// "20260104T193220091Z": sorts as time passes.
std::string compact(WallTime time) {
  std::string text = format_wall(time);
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == '.'; });
  return text;
}

// Where the file is to go, and what is there already.
struct Place {
  std::string target;
  std::vector<std::string> older;  // sorted by age
};

task<Result<Place>> find_place(runtime::Runtime& runtime, std::string path) {
  const std::string folder = folder_of(path);
  BW_CO_TRY(auto names, co_await runtime.list_directory(folder));
  const std::string prefix = path.substr(path.rfind('/') + 1) + ".quarantine-";
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix) || name.ends_with(".new"); });
  Place place;
  std::string name;
  for (int n = 1; name.empty() || std::find(names.begin(), names.end(), name) != names.end(); ++n) {
    name = prefix + compact(runtime.wall_now()) + "-" + std::to_string(n);
  }
  place.target = folder + "/" + name;
  for (const std::string& older : names) place.older.push_back(folder + "/" + older);
  co_return place;
}

task<Status> remove_oldest(runtime::Runtime& runtime, Place place) {
  for (std::size_t i = 0; i + kMostQuarantined <= place.older.size(); ++i) {
    BW_CO_RETURN_IF_ERROR(co_await runtime.remove(place.older[i]));
  }
  co_return Status();
}

}  // namespace

task<Status> put_aside(runtime::Runtime& runtime, std::string path) {
  BW_PROBE("store: a file is put aside");
  BW_CO_TRY(auto place, co_await find_place(runtime, path));
  Status done = co_await runtime.rename(std::move(path), place.target);
  if (!done) co_return done;
  done = co_await remove_oldest(runtime, std::move(place));
  co_return done;
}

task<Status> copy_aside(runtime::Runtime& runtime, std::string path, std::string text) {
  BW_CO_TRY(auto place, co_await find_place(runtime, std::move(path)));
  Status done = co_await write_beside(runtime, place.target, std::move(text), kCopyMode);
  if (done) done = co_await put_in_place(runtime, place.target);
  if (!done) co_return done;
  done = co_await remove_oldest(runtime, std::move(place));
  co_return done;
}

}  // namespace bellwether::store
