"""A server program of the distribution, run by a test: in a folder of its own, on a free port of the loopback.

It is started, killed, paused and started again at will; it ends with the test, even with one that is killed. All that
it writes goes to `folder/log`, the end of which is part of every complaint.
"""

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from .patience import PATIENCE, until


given = set()  # ports, whose servers may not listen yet


def free_port():
    """A port that nobody uses, from below those that the kernel gives to outgoing connections.

    So no client takes the port of a server that is down for a moment, nor meets itself there. No port is given twice.
    """
    for _ in range(1000):
        port = random.randrange(15000, 32000)
        if port in given:
            continue
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            given.add(port)
            return port
    raise AssertionError("no port is free")


def listens(process, port):
    """Whether this process, and not another one, listens on the port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, _, state, *_, inode = line.split()[:10]
        if state == "0A" and int(local.split(":")[1], 16) == port:
            with contextlib.suppress(OSError):
                return any(os.readlink(link) == f"socket:[{inode}]" for link in Path(f"/proc/{process}/fd").iterdir())
    return False


def descendants(pid):
    """The processes below one, children before grandchildren."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = [int(child) for child in (task / "children").read_text().split()]
            found += children + [deeper for child in children for deeper in descendants(child)]
    return found


def at_rest(pid):
    """Whether a process is stopped, or has ended, or waits for one that it begins and that is stopped (D)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "TtZXD"
    except OSError:
        return True


def freeze(pid):
    """Stops a process and everything below it, and gives their ids: none of them begins another one any more."""
    frozen = []

    def all_rest():
        restless = [one for one in frozen if not at_rest(one)]
        for one in restless:  # again: one that was still running may have let another one go on
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGSTOP)
        return not restless

    while new := [one for one in (pid, *descendants(pid)) if one not in frozen]:
        frozen += new
        until("their rest", all_rest)
    return frozen


def destroy(pid):
    """Kills a process with everything below it, and waits until nothing is left of what it began."""
    whole = freeze(pid)
    for one in whole:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    until("the end of its processes", lambda: not any(lives(one) for one in whole if one != pid))


class Daemon:
    """One server. A subclass says how it is started (`command`), when it is ready and where its data are.

    The data survive stop() and restart(); the port stays the same for ever.
    """

    user = None  # whom the program runs as, when the test runs as root

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = self.folder / "data"
        self.port = free_port()
        self.process = None
        if self.user and os.geteuid() == 0:
            entry = pwd.getpwnam(self.user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            for parent in (self.folder.parent, self.folder.parent.parent):
                if parent.stat().st_uid == 0 and parent.stat().st_mode & 0o777 == 0o700:
                    parent.chmod(0o711)  # so that this user can come as far as its own folder

    # --- what a subclass says ---

    def command(self):
        """The program and its arguments."""
        raise NotImplementedError

    def prepare(self):
        """Makes what must be there before a start, such as an empty database."""
        self.data.mkdir(exist_ok=True)

    def ready(self):
        """Whether it serves; asked again and again while it starts."""
        return listens(self.process.pid, self.port)

    # --- life ---

    def spawn(self):
        """Begins to start it; wait() waits for the rest. Others can be spawned meanwhile."""
        assert not self.runs(), "it runs already"
        self.prepare()
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(self.as_user(self.command()), cwd=self.folder, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, env=self.environment(), start_new_session=True)

    def wait(self):
        """Waits until it serves. One that does not is stopped, and the log says why."""
        try:
            until("its start", lambda: not self.runs() or self.ready())
            assert self.runs(), "it ended while it started"
        except AssertionError as error:
            self.stop()
            raise AssertionError(self.complaint(error)) from None

    def start(self):
        self.spawn()
        self.wait()
        return self

    def stop(self):
        """Ends it as a crash does (SIGKILL), with all its processes. It may have ended already."""
        if self.process is None:
            return
        if self.process.poll() is None:
            destroy(self.process.pid)
        self.process.wait()
        self.process = None

    def restart(self, lose_data=False):
        """Crashes it and starts it again on the same port, with its data or with none."""
        self.stop()
        if lose_data:
            self.forget()
        return self.start()

    def forget(self):
        """Removes the data of a server that is stopped."""
        shutil.rmtree(self.data, ignore_errors=True)

    def pause(self):
        """Freezes it (SIGSTOP): connections stand, new ones are taken by the kernel, nothing is answered."""
        freeze(self.process.pid)

    def resume(self):
        for pid in [*descendants(self.process.pid), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    # --- how the product is told of it ---

    @property
    def url(self):
        return self.url_at(self.port)

    def url_at(self, port, user=None):
        """The product's URL of it when it is reached through another port, such as a Cut's; as another user."""
        raise NotImplementedError

    def password_option(self, password, user=None):
        """The end of a URL that says where the password is; nothing when there is none."""
        if not password:
            return ""
        file = self.folder / f"password-of-{user or 'all'}"
        file.write_text(password)
        file.chmod(0o600)
        return f"?password_file={file}"

    # --- tools ---

    def run(self, *command, input=None, check=True, seconds=PATIENCE, transient=()):
        """Runs a program as this server's user and gives what it printed, without the last line's end.

        It is run again while it fails with one of the `transient` errors.
        """
        def once():
            done = subprocess.run(self.as_user(command), cwd=self.folder, env=self.environment(), input=input,
                                  text=True, stdin=None if input is not None else subprocess.DEVNULL,
                                  capture_output=True, timeout=seconds)
            return None if done.returncode != 0 and any(error in done.stderr for error in transient) else done

        done = until(f"an end of {command} without {transient}", once)
        if check and done.returncode != 0:
            raise AssertionError(self.complaint(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"))
        return done.stdout.rstrip("\n") if check else done

    def begin(self, *command):
        """Starts a client tool that goes on for a while; the caller ends it, and it dies with this process."""
        return subprocess.Popen(self.as_user(command), cwd=self.folder, env=self.environment(), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def as_user(self, command):
        """The command with the rights of `user`, which dies with the thread that starts it, so with this process."""
        rights = []
        if self.user and os.geteuid() == 0:
            rights = ["--reuid", self.user, "--regid", self.user, "--init-groups"]
        return ["setpriv", *rights, "--pdeathsig", "KILL", "--", *map(str, command)]

    def environment(self):
        """This environment without what would configure a server or its client tool behind the test's back."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("ETCD", "PG", "REDIS", "KUBE"))}
        return {**kept, "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}

    def complaint(self, what):
        log = self.folder / "log"
        text = log.read_text(errors="replace") if log.exists() else ""
        return f"{type(self).__name__} on port {self.port}: {what}\n--- the end of its log ---\n{text[-4000:]}"


def lives(pid):
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def start_all(*daemons):
    """Starts several at the same time."""
    try:
        for daemon in daemons:
            daemon.spawn()
        for daemon in daemons:
            daemon.wait()
    except BaseException:
        for daemon in daemons:
            daemon.stop()
        raise
