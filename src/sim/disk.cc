#include "sim/disk.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/probe.h"

namespace bellwether::sim {

namespace {

constexpr uint64_t kSector = 512;

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

std::string_view without_slash(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return folder;
}

std::string quoted(std::string_view path) { return fmt::format("'{}'", path); }

// As in the real runtime: a lock that is not free is tried again after a while.
constexpr Duration kShortestPause = Duration::millis(1);
constexpr Duration kLongestPause = Duration::millis(20);

}  // namespace

void Inode::apply(const Change& change, std::vector<std::byte>& to) {
  if (change.truncate) {
    to.resize(change.offset);
    return;
  }
  if (to.size() < change.offset + change.data.size()) to.resize(change.offset + change.data.size());
  std::copy(change.data.begin(), change.data.end(), to.begin() + static_cast<std::ptrdiff_t>(change.offset));
}

uint64_t Disk::used() const {
  uint64_t sum = 0;
  for (const auto& [path, inode] : names_) sum += inode->size();
  return sum;
}

Result<std::shared_ptr<Inode>> Disk::open(std::string_view path, runtime::OpenOptions options) {
  if (fails(settings_.open_error)) return fail(Errc::kIo, "opening {}: input/output error", quoted(path));
  if (folders_.contains(path)) return fail(Errc::kInvalid, "opening {}: it is a folder, not a file", quoted(path));
  const auto found = names_.find(path);
  if (found == names_.end()) {
    if (!options.create) return fail(Errc::kNotFound, "opening {}: no such file", quoted(path));
    auto inode = std::make_shared<Inode>();
    change_name(path, inode, {});
    return inode;
  }
  if (options.create && options.exclusive) return fail(Errc::kExists, "opening {}: it exists", quoted(path));
  std::shared_ptr<Inode> inode = found->second;
  if (options.truncate && inode->size() > 0) {
    BW_RETURN_IF_ERROR(truncate(*inode, 0));
  }
  return inode;
}

Result<std::size_t> Disk::read(const Inode& inode, uint64_t offset, MutableBytes into) {
  if (fails(settings_.read_error)) {
    BW_PROBE("sim: reading a file fails");
    return fail(Errc::kIo, "reading a file: input/output error");
  }
  if (offset >= inode.seen_.size()) return std::size_t{0};
  const std::size_t count = std::min<std::size_t>(into.size(), inode.seen_.size() - offset);
  std::memcpy(into.data(), inode.seen_.data() + offset, count);
  return count;
}

Status Disk::write(Inode& inode, uint64_t offset, Bytes bytes) {
  Status status;
  const uint64_t growth = offset + bytes.size() > inode.size() ? offset + bytes.size() - inode.size() : 0;
  if (growth > 0 && used() + growth > settings_.capacity) {
    BW_PROBE("sim: the disk is full");
    status = fail(Errc::kNoSpace, "writing a file: no space left on the disk");
  } else if (fails(settings_.write_error)) {
    BW_PROBE("sim: writing a file fails");
    status = fail(Errc::kIo, "writing a file: input/output error");
  }
  if (!status) {  // the part of the failed write that fits is there nevertheless
    const uint64_t used_now = used();
    const uint64_t room = settings_.capacity > used_now ? settings_.capacity - used_now : 0;
    const uint64_t old = bytes.size() - std::min<uint64_t>(growth, bytes.size());
    bytes = bytes.first(timeline_.prng().below(std::min<uint64_t>(bytes.size(), old + room) + 1));
  }
  if (bytes.empty()) return status;
  inode.unsafe_.push_back({++changes_, false, offset, {bytes.begin(), bytes.end()}});
  Inode::apply(inode.unsafe_.back(), inode.seen_);
  return status;
}

Status Disk::truncate(Inode& inode, uint64_t size) {
  if (fails(settings_.write_error)) return fail(Errc::kIo, "truncating a file: input/output error");
  inode.unsafe_.push_back({++changes_, true, size, {}});
  Inode::apply(inode.unsafe_.back(), inode.seen_);
  return {};
}

Status Disk::sync(Inode& inode, uint64_t upto) {
  const auto covered = [upto](const Inode::Change& change) { return change.number <= upto; };
  if (fails(settings_.sync_error)) {
    // The pages that could not be written count as clean: the system does not try again, and reads still show them.
    BW_PROBE("sim: a sync fails");
    std::erase_if(inode.unsafe_, [&](const auto& change) { return covered(change) && timeline_.prng().chance(0.5); });
    return fail(Errc::kIo, "syncing a file: input/output error");
  }
  for (const Inode::Change& change : inode.unsafe_) {
    if (covered(change)) Inode::apply(change, inode.safe_);
  }
  std::erase_if(inode.unsafe_, covered);
  return {};
}

void Disk::apply(const NameChange& change, Names& to) {
  if (!change.old_path.empty()) to.erase(change.old_path);
  if (change.inode != nullptr) {
    to.insert_or_assign(change.path, change.inode);
  } else {
    to.erase(change.path);
  }
}

void Disk::change_name(std::string_view path, std::shared_ptr<Inode> inode, std::string_view old_path) {
  unsafe_names_.push_back({++changes_, std::string(path), std::move(inode), std::string(old_path)});
  apply(unsafe_names_.back(), names_);
}

Status Disk::rename(std::string_view from, std::string_view to) {
  const auto found = names_.find(from);
  if (found == names_.end()) return fail(Errc::kNotFound, "renaming {}: no such file", quoted(from));
  if (from != to) change_name(to, found->second, from);
  return {};
}

Status Disk::remove(std::string_view path) {
  if (!exists(path)) return fail(Errc::kNotFound, "removing {}: no such file", quoted(path));
  change_name(path, nullptr, {});
  return {};
}

Status Disk::make_directory(std::string_view path) {
  path = without_slash(path);
  if (fails(settings_.write_error)) return fail(Errc::kIo, "making folder {}: input/output error", quoted(path));
  if (exists(path)) return fail(Errc::kExists, "making folder {}: there is a file of that name", quoted(path));
  for (; path.size() > 1; path = folder_of(path)) folders_.emplace(path);
  return {};
}

Result<std::vector<std::string>> Disk::list_directory(std::string_view path) {
  if (fails(settings_.read_error)) return fail(Errc::kIo, "reading folder {}: input/output error", quoted(path));
  const std::string folder(without_slash(path));
  const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  std::set<std::string> found;
  const auto note = [&](std::string_view below) {
    if (!below.starts_with(prefix) || below.size() == prefix.size()) return;
    below.remove_prefix(prefix.size());
    found.emplace(below.substr(0, below.find('/')));
  };
  for (const auto& [name, inode] : names_) note(name);
  for (const std::string& name : folders_) note(name);
  if (found.empty() && !folders_.contains(folder)) {
    return fail(Errc::kNotFound, "opening folder {}: no such folder", quoted(path));
  }
  return std::vector<std::string>(found.begin(), found.end());
}

bool Disk::try_lock(Inode& inode, const void* owner) {
  if (inode.locked_by_ == nullptr) inode.locked_by_ = owner;
  if (inode.locked_by_ == owner) return true;
  BW_PROBE("sim: a file's lock is not free");
  return false;
}

bool Disk::try_hold(Inode& inode, const void* owner) {
  if (inode.held_by_ == nullptr) inode.held_by_ = owner;
  return inode.held_by_ == owner;
}

bool Disk::held_by_another(const Inode& inode, const void* owner) const {
  return inode.held_by_ != nullptr && inode.held_by_ != owner;
}

void Disk::close(Inode& inode, const void* owner) {
  unlock(inode, owner);
  if (inode.held_by_ == owner) inode.held_by_ = nullptr;
}

bool Disk::is_at(std::string_view path, const Inode& inode) const {
  const auto found = names_.find(path);
  return found != names_.end() && found->second.get() == &inode;
}

Status Disk::sync_directory(std::string_view path, uint64_t upto) {
  if (fails(settings_.sync_error)) {
    BW_PROBE("sim: syncing a folder fails");
    return fail(Errc::kIo, "syncing folder {}: input/output error", quoted(path));
  }
  const std::string_view folder = without_slash(path);
  const auto covered = [&](const NameChange& change) {
    return change.number <= upto && folder_of(change.path) == folder;
  };
  for (const NameChange& change : unsafe_names_) {
    if (covered(change)) apply(change, safe_names_);
  }
  std::erase_if(unsafe_names_, covered);
  return {};
}

// Each sector that a torn write touches is either the new one or the old one.
Inode::Change Disk::tear(const Inode& inode, const Inode::Change& change) {
  Inode::Change torn = change;
  const uint64_t end = change.offset + change.data.size();
  for (uint64_t sector = change.offset / kSector; sector * kSector < end; ++sector) {
    if (timeline_.prng().chance(0.5)) continue;
    const uint64_t from = std::max(sector * kSector, change.offset);
    const uint64_t to = std::min((sector + 1) * kSector, end);
    for (uint64_t i = from; i < to; ++i) {
      torn.data[i - change.offset] = i < inode.safe_.size() ? inode.safe_[i] : std::byte{0};
    }
  }
  return torn;
}

void Disk::settle(Inode& inode) {
  for (const Inode::Change& change : inode.unsafe_) {
    const uint64_t fate = timeline_.prng().below(3);
    if (fate == 0) {
      BW_PROBE("sim: a write that was not synced is lost");
    } else if (fate == 1 && change.data.size() > 1) {
      BW_PROBE("sim: a write that was not synced is torn");
      Inode::apply(tear(inode, change), inode.safe_);
    } else {
      Inode::apply(change, inode.safe_);
    }
  }
  inode.unsafe_.clear();
  inode.seen_ = inode.safe_;
}

void Disk::lose_power() {
  for (const NameChange& change : unsafe_names_) {
    if (timeline_.prng().chance(0.5)) {
      apply(change, safe_names_);
    } else {
      BW_PROBE("sim: a change of a name that was not synced is lost");
    }
  }
  unsafe_names_.clear();
  names_ = safe_names_;
  // In order of names. A file that has two of them after a lost half of two renames is settled once: the second time,
  // nothing is unsafe.
  for (const auto& [path, inode] : names_) settle(*inode);
}

std::string Disk::text_of(std::string_view path) const {
  const auto found = names_.find(path);
  if (found == names_.end()) return {};
  return std::string(as_text(found->second->seen_));
}

using runtime::task;

task<Result<std::size_t>> DiskFile::read_at(uint64_t offset, MutableBytes into) {
  co_await runtime_.sleep(disk_.draw_latency());
  co_return disk_.read(*inode_, offset, into);
}

// The effect comes first and the answer later: a process that dies in between has written.
task<Status> DiskFile::write_at(uint64_t offset, Bytes bytes) {
  Status written = writable_ ? disk_.write(*inode_, offset, bytes) : fail(Errc::kIo, "writing a file: read only");
  co_await runtime_.sleep(disk_.draw_latency());
  co_return written;
}

task<Status> DiskFile::truncate(uint64_t size) {
  Status done = writable_ ? disk_.truncate(*inode_, size) : fail(Errc::kInvalid, "truncating a file: read only");
  co_await runtime_.sleep(disk_.draw_latency());
  co_return done;
}

// Covers earlier writes, and is done only at its end.
task<Status> DiskFile::sync() {
  const uint64_t upto = disk_.last_change();
  co_await runtime_.sleep(disk_.draw_sync_latency());
  co_return disk_.sync(*inode_, upto);
}

task<Status> DiskFile::lock(Instant deadline, runtime::Cancellation* cancel) {
  Duration pause = kShortestPause;
  while (true) {
    co_await runtime_.sleep(disk_.draw_latency());
    if (disk_.try_lock(*inode_, this)) co_return Status();
    if (runtime_.now() >= deadline) co_return fail(Errc::kTimeout, "locking a file: somebody else has the lock");
    const Instant next = runtime_.now() + runtime_.prng().between(pause / 2, pause);
    const bool go_on = co_await runtime_.sleep_until(std::min(next, deadline), cancel);
    if (!go_on) co_return fail(Errc::kCancelled, "locking a file was cancelled");
    pause = std::min(pause * 2, kLongestPause);
  }
}

task<Status> DiskFile::unlock() {
  disk_.unlock(*inode_, this);
  co_await runtime_.sleep(disk_.draw_latency());
  co_return Status();
}

task<Result<bool>> DiskFile::try_hold() {
  co_await runtime_.sleep(disk_.draw_latency());
  if (!writable_) co_return fail(Errc::kIo, "holding a file: read only");
  co_return disk_.try_hold(*inode_, this);
}

task<Result<bool>> DiskFile::is_held() {
  co_await runtime_.sleep(disk_.draw_latency());
  co_return disk_.held_by_another(*inode_, this);
}

task<Result<bool>> DiskFile::is_at(std::string path) {
  co_await runtime_.sleep(disk_.draw_latency());
  co_return disk_.is_at(path, *inode_);
}

}  // namespace bellwether::sim
