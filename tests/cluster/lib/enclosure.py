"""Namespaces of its own for a test program, so that nothing it does reaches the machine or outlives it.

`enter()` runs the program again in new network, mount and process namespaces. Its processes end with it, even when it
is killed, for it is the first one of its process namespace; its network namespaces and devices end with its processes;
its mounts are seen by nobody else.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPED = 77  # the exit code of a test that cannot run here
MARK = "BELLWETHER_TEST_ENCLOSURE"
NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def command():
    own = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]
    return own if os.geteuid() == 0 else [*own, "--user", "--map-root-user"]


def lacking():
    """Why there can be no enclosure here; empty when there can."""
    for program in ("unshare", "nsenter", "ip"):
        if shutil.which(program) is None:
            return f"the program {program} is missing"
    tried = subprocess.run([*command(), "ip", "link"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if tried.returncode:
        return f"namespaces cannot be made: {tried.stderr.strip()}"
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        return f"/dev/net/tun cannot be opened: {error.strerror}"
    return ""


def inside():
    return os.environ.get(MARK) == os.readlink("/proc/self/ns/net")


def enter():
    """Returns inside an enclosure, or ends the program as skipped, with the reason."""
    if os.environ.get(MARK) == "new" and os.getpid() == 1:
        os.environ[MARK] = os.readlink("/proc/self/ns/net")
        # What is mounted here is seen here only, so that the machine's own list of namespaces is not touched.
        place = NAMESPACES if NAMESPACES.is_dir() else NAMESPACES.parent
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=True)
        NAMESPACES.mkdir(exist_ok=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    if reason := lacking():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    os.execvpe("unshare", [*command(), sys.executable, "-B", *sys.argv], {**os.environ, MARK: "new"})


class Visit:
    """`with Visit("a"):` this thread is in the network namespace `a`; sockets made there stay there."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(NAMESPACES / self.name, os.O_RDONLY)
        go(there)
        os.close(there)

    def __exit__(self, *_):
        go(self.home)
        os.close(self.home)


def go(namespace):
    if LIBC.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
