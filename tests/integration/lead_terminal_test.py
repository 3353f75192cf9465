#!/usr/bin/env python3
"""`bellwether lead` on a terminal: the command is what the user talks to."""

import os
import pty
import threading

from lib import leading, product
from lib.daemon import destroy, until


class Terminal(leading.Test):
    """On a terminal the command is what the user talks to."""

    def open(self, *command, options=()):
        """A candidate in the foreground of a terminal of its own; gives the terminal."""
        return self.on_terminal([product.binary, *self.arguments(*options), "--", *command])

    def on_terminal(self, words):
        words = list(map(str, words))
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe(words[0], words, {**os.environ, **self.environment(), "PS1": "$ "})
        self.pid = pid
        self.code = None
        self.screen = ""

        def wait():
            self.code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

        def read():
            try:
                while data := os.read(terminal, 4096):
                    self.screen += data.decode(errors="replace")
            except OSError:
                pass  # the last process that had it open is gone
        threads = [threading.Thread(target=one, daemon=True) for one in (wait, read)]

        def finish():
            if self.code is None:
                destroy(pid)
            for thread in threads:
                thread.join(10)
            os.close(terminal)
        self.addCleanup(finish)
        for thread in threads:
            thread.start()
        return terminal

    def shows(self, text):
        until(f"'{text}' on the screen", lambda: text in self.screen)

    def ended(self):
        until("its end", lambda: self.code is not None)
        return self.code

    def test_the_command_reads_what_is_typed(self):
        terminal = self.open("sh", "-c", "echo ready; read line; echo got $line; exit 4")
        self.shows("ready")
        os.write(terminal, b"hello\n")
        self.shows("got hello")
        self.assertEqual(self.ended(), 4)

    def test_ctrl_c_ends_the_command(self):
        terminal = self.open("sh", "-c", "trap 'echo bye; exit 9' INT; echo ready; while :; do sleep 0.01; done")
        self.shows("ready")
        os.write(terminal, b"\x03")
        self.shows("bye")
        self.assertEqual(self.ended(), 9)

    def test_ctrl_c_ends_a_candidate_that_waits(self):
        self.leads()
        terminal = self.open("true", options=["-v"])
        self.shows("leader of")
        os.write(terminal, b"\x03")
        self.assertEqual(self.ended(), 128 + 2)

    def test_ctrl_c_ends_a_candidate_that_waits_again_after_a_term(self):
        terminal = self.open("sh", "-c", "echo ready; sleep 1000", options=[
            "--health-cmd", "test ! -e sick", "--health-every", "1s"])
        self.shows("ready")
        self.write("sick", "")
        self.shows("lost the leadership")
        until("the terminal listens to the candidate again", lambda: os.tcgetpgrp(terminal) == self.pid)
        os.write(terminal, b"\x03")
        self.assertEqual(self.ended(), 128 + 2)

    def test_ctrl_z_does_not_stop_a_leader(self):
        """Stopped, it would lose the key; and a command that stood still would leave nobody to type to."""
        terminal = self.open("sh", "-c", "echo ready; read line; echo got $line; exit 4")
        self.shows("ready")
        os.write(terminal, b"\x1a")
        self.shows("^Z")
        os.write(terminal, b"hello\n")
        self.shows("got hello")
        self.assertEqual(self.ended(), 4)

    def test_one_in_the_background_leaves_the_terminal_to_its_shell(self):
        terminal = self.on_terminal(["bash", "--norc", "-i"])
        lead = " ".join(map(str, [product.binary, *self.arguments("-q")]))
        os.write(terminal, f"{lead} -- sh -c 'echo re''ady; sleep 1000' &\n".encode())
        self.shows("ready")
        os.write(terminal, b"echo mine''own\n")
        self.shows("mineown")


if __name__ == "__main__":
    product.main()
