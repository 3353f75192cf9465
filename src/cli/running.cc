#include "cli/running.h"

#include <algorithm>
#include <dirent.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/printable.h"
#include "election/store/environment.h"
#include "load/local/control_socket.h"

namespace bellwether::cli {
namespace {

constexpr std::string_view kEnding = ".sock";
constexpr Duration kPatience = Duration::seconds(5);

std::string listed(const std::vector<Running>& runs) {
  if (runs.empty()) return "no run goes on";
  std::string text;
  for (const Running& one : runs) text += (text.empty() ? "" : ", ") + one.id;
  return (runs.size() == 1 ? "there is " : "there are ") + text;
}

}  // namespace

std::string running_folder() {
  const std::string runtime = store::variable(&store::own_environment, "XDG_RUNTIME_DIR");
  if (runtime.starts_with('/')) return runtime + "/bellwether";
  return "/tmp/bellwether-" + std::to_string(::geteuid());
}

std::string socket_name(const std::string& run_id) { return run_id + std::string(kEnding); }

std::vector<Running> all_running() {
  const std::string folder = running_folder();
  struct Found {
    Running run;
    timespec made{};
  };
  std::vector<Found> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()),
                                                      [](DIR* one) { return one == nullptr ? 0 : ::closedir(one); });
  while (directory != nullptr) {
    const dirent* const entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe): nobody else has it
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (!name.ends_with(kEnding)) continue;
    Found one{{name.substr(0, name.size() - kEnding.size()), folder + "/" + name}};
    struct stat about {};
    if (::stat(one.run.path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
    one.made = about.st_mtim;
    const auto answer = node::ask_control(one.run.path, R"({"do": "status"})", kPatience);
    if (!answer && answer.error().code == Errc::kUnreachable) {
      ::unlink(one.run.path.c_str());
      continue;
    }
    found.push_back(std::move(one));
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::pair(a.made.tv_sec, a.made.tv_nsec) < std::pair(b.made.tv_sec, b.made.tv_nsec);
  });
  std::vector<Running> out;
  for (Found& one : found) out.push_back(std::move(one.run));
  return out;
}

Result<Running> find_running(const std::string& name) {
  const std::vector<Running> runs = all_running();
  if (runs.empty()) {
    return fail(Errc::kNotFound, "no local run of this user goes on (" + printable(running_folder()) + ")");
  }
  if (name == "last") return runs.back();
  std::vector<Running> fits;
  for (const Running& one : runs) {
    if (one.id == name) return one;
    if (one.id.starts_with(name)) fits.push_back(one);
  }
  if (fits.size() == 1) return fits.front();
  if (fits.empty()) {
    return fail(Errc::kNotFound, "no run '" + printable(name) + "' goes on; " + listed(runs) + ", and `last` is the " +
                                     "newest of them");
  }
  return fail(Errc::kInvalid, "several runs begin with '" + printable(name) + "': " + listed(fits));
}

}  // namespace bellwether::cli
