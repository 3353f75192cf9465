"""What the cluster tests assignment: worlds of network namespaces, and processes in them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # what they share with the tests of single processes: integration.lib
