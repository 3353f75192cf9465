#include "node/local_cluster/process_mark.h"

#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/processes.h"

namespace bellwether::local_cluster {

using runtime::ProcessSight;

ProcessMark mark_of(int64_t pid) {
  const runtime::ProcessIdentity self = runtime::identify_self();
  return {pid, runtime::look_at_process(pid).start_time.value_or(0), self.boot_id, self.pid_namespace};
}

bool lives(const ProcessMark& mark) {
  if (mark.pid <= 0 || mark.start_time == 0) return false;
  const runtime::ProcessIdentity self = runtime::identify_self();
  if (mark.boot_id != self.boot_id || mark.pid_namespace != self.pid_namespace) return false;
  const ProcessSight sight = runtime::look_at_process(mark.pid);
  return sight.state == ProcessSight::State::kAlive && sight.start_time == mark.start_time;
}

Status signal_process(const ProcessMark& mark, int number) {
  // The descriptor stays with the process that has the id now: what is looked at is what is signalled.
  const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(mark.pid), 0));
  if (fd < 0 && errno == ESRCH) return fail(Errc::kNotFound, "it has ended");
  if (fd < 0) return fail_errno(errno, "looking at process " + std::to_string(mark.pid));
  Status done;
  if (!lives(mark)) {
    done = fail(Errc::kNotFound, "it has ended");
  } else if (::syscall(SYS_pidfd_send_signal, fd, number, nullptr, 0) != 0) {
    done = errno == ESRCH ? fail(Errc::kNotFound, "it has ended")
                          : fail_errno(errno, "signalling process " + std::to_string(mark.pid));
  }
  ::close(fd);
  return done;
}

}  // namespace bellwether::local_cluster
