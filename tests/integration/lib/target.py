"""`bellwether target`, which counts what it answers."""

import re

from lib import product


class Target:
    def __init__(self, test, *arguments):
        self.process = test.start("target", "--listen", "127.0.0.1:0", *arguments)
        self.said = product.Reader(self.process.stdout)
        self.url = re.search(r"http://[\d.:]+", self.said.wait_for("listening on")).group()

    def answered(self):
        """Ends it; gives the number of requests that it says it has answered."""
        product.interrupt(self.process)
        return int(re.search(r"answered ([\d,]+) request", self.said.wait_for("answered ")).group(1).replace(",", ""))
