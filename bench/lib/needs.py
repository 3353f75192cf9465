"""What a bench needs, which stands in the head of its script: targets that are built, and Debian packages.

    # builds: bellwether floor
    # installs: nginx-light openssl wrk

`./dev bench` builds and installs that and no more. So whoever asks here for something else has forgotten to say so.
"""

import shutil
import sys
from pathlib import Path

from lib.processes import Failure

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = Path(sys.argv[0]).resolve()

# Where they lie in a build folder; others are bench/NAME.
PLACES = {"bellwether": "src/cli/bellwether", "cluster_router": "tests/cluster/router/cluster_router",
          "alloc_count": "bench/alloc_count.so"}
PACKAGES = {"h2load": "nghttp2-client", "nginx": "nginx-light", "perf": "linux-perf", "etcd": "etcd-server",
            "etcdctl": "etcd-client", "redis-cli": "redis-tools", "ip": "iproute2", "callgrind_annotate": "valgrind",
            "flock": "util-linux"}
ALWAYS_THERE = {"util-linux"}


class Missing(Failure):
    """This machine lacks something that is not ours."""


def declared(word, script=SCRIPT):
    lines = script.read_text(encoding="utf-8").splitlines()
    return {name for line in lines if line.startswith(f"# {word}: ") for name in line.split()[2:]}


def built(folder, target):
    """The path of what a target makes in this build folder, as text."""
    if target not in declared("builds"):
        raise Failure(f"{target} is not among what {SCRIPT.name} builds, as its head says")
    file = Path(folder, PLACES.get(target, f"bench/{target}")).resolve()
    if not file.exists():
        raise Failure(f"{file} does not exist; `./dev bench` builds it (or --build names another build folder)")
    return str(file)


def find(program, optional=False):
    """Its path. `optional`: for an option that has to be asked for, so that it is not installed beforehand."""
    package = PACKAGES.get(program, program)
    if not optional and package not in declared("installs") | ALWAYS_THERE:
        raise Failure(f"{package} is not among what {SCRIPT.name} installs, as its head says")
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if path is None:
        raise Missing(f"{program} is not installed: apt-get install {package}")
    return path
