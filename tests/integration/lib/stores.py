"""What the tests of all stores share."""

from . import product
from .certificates import Authority
from .conformance import conformance, probe
from .daemon import start_all


class Test(product.Test):
    def up(self, *daemons):
        start_all(*daemons)
        for daemon in daemons:
            self.addCleanup(daemon.stop)
        return daemons if len(daemons) > 1 else daemons[0]

    def conforms(self, served, skipped=()):
        self.addCleanup(served.close)
        passed, left_out = conformance(self, served)
        self.assertGreater(passed, 20)
        self.assertEqual(left_out, sorted(skipped))

    def certificates(self):
        """(certificate, key, authority) of a server on the loopback, also good for a client."""
        Authority(self.folder).issue("server", "IP:127.0.0.1")
        return [self.folder / name for name in ("server.pem", "server.key", "ca.pem")]

    def says(self, url, *words, key="probe", environment=None):
        text = probe(url, key, environment)
        for word in words:
            self.assertIn(word, text)
        return text


# Of those whose copies are taken in other ways: a standby that is promoted is one.
BLOBS = ["ServerTrouble.a_state_from_an_older_copy_shows_that_it_has_gone_back_and_takes_no_renewal_of_later_terms"]
