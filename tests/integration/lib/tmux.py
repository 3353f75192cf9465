"""A terminal with a shell in it, as a person has one: tmux, on a server of its own."""

import os
import signal
import subprocess
from contextlib import suppress

from lib.daemon import descendants, until
from lib.product import PATIENCE


class Tmux:
    """The shell is a plain one, whose prompt is '$ '. What is typed goes to it or to what it runs."""

    def __init__(self, folder, columns=80, rows=24, environment=None):
        self.command = ["tmux", "-u", "-S", f"{folder}/tmux", "-f", "/dev/null"]
        # Whatever the machine that tests has set says nothing about the people we build for.
        unset = {"CI", "NO_COLOR", "TMUX", "LC_CTYPE", "LANG"}
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        self.environment = {**kept, "LC_ALL": "C.UTF-8", **(environment or {})}
        self.ask("new-session", "-d", "-x", str(columns), "-y", str(rows), "exec env ENV= PS1='$ ' sh -i")
        self.shell = int(self.flag("pane_pid"))
        until("a prompt", lambda: self.lines()[-1:] == ["$"], PATIENCE)

    def ask(self, *words):
        return subprocess.run([*self.command, *words], env=self.environment, check=True, capture_output=True,
                              text=True, timeout=PATIENCE).stdout

    def flag(self, name):
        return self.ask("display-message", "-p", f"#{{{name}}}").strip()

    def text(self, *options):
        return self.ask("capture-pane", "-p", *options)

    def lines(self):
        return [line.rstrip() for line in self.text().splitlines() if line.strip()]

    def keys(self, *keys):
        self.ask("send-keys", *keys)

    def run(self, *words):
        """Types a command, on a cleared screen."""
        line = " ".join(map(str, words))
        self.ask("send-keys", "-l", f"clear; {line}")
        self.keys("Enter")

    def resize(self, columns, rows):
        self.ask("resize-window", "-x", str(columns), "-y", str(rows))

    def shows(self, *texts, without=(), seconds=PATIENCE):
        """Waits until all of that stands there, and nothing of `without`; gives the screen."""
        last = ""

        def there():
            nonlocal last
            last = self.text()
            return all(text in last for text in texts) and not any(text in last for text in without)
        try:
            until(f"{texts} without {without}", there, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{last}") from None
        return last

    def process(self):
        """The one that the shell runs."""
        return until("a process", lambda: descendants(self.shell), PATIENCE)[0]

    def modes(self):
        return subprocess.run(["stty", "-F", self.flag("pane_tty"), "-a"], check=True, capture_output=True,
                              text=True, timeout=PATIENCE).stdout.split()

    def on_screen_of_its_own(self):
        return self.flag("alternate_on") == "1"

    def sane(self):
        """Whether the terminal is as a shell wants it."""
        modes = self.modes()
        return (not self.on_screen_of_its_own() and self.flag("cursor_flag") == "1"
                and all(mode in modes for mode in ("icanon", "echo", "isig", "icrnl", "opost")))

    def close(self):
        running = [self.shell, *descendants(self.shell)]
        with suppress(subprocess.CalledProcessError, subprocess.TimeoutExpired):
            self.ask("kill-server")
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
