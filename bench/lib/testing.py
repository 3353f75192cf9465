"""What tests have that benches use, too: real servers (`integration`), nodes in network namespaces (`cluster`).

Their packages are named `lib`, as ours is, so they get names of their own here.
"""

import importlib
import importlib.util
import sys

from lib.needs import ROOT


def modules(room, *names):
    folder, package = ROOT / "tests" / room / "lib", f"{room}_lib"
    if package not in sys.modules:
        spec = importlib.util.spec_from_file_location(package, folder / "__init__.py",
                                                      submodule_search_locations=[str(folder)])
        sys.modules[package] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[package])
    return [importlib.import_module(f"{package}.{name}") for name in names]


free_port = modules("integration", "daemon")[0].free_port
