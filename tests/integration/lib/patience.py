"""How tests of real processes bear a machine that is busy with other things: they wait long for what they want to see,
and use times with which nobody is taken for dead, and no term ends, because a process waits for a processor."""

import time

PATIENCE = 300  # seconds; on an idle machine hardly anything takes more than one

# For commands of operators: a node of a busy machine may answer late, and what nobody answers fails at once.
ANSWERED = ["--timeout", "60s"]

# Settings of nodes: leases of seconds where nothing else is looked at.
PATIENT = {"profile": "wan"}
# … in a group that votes by scores; what is not said here is for people, and takes longer.
PATIENT_VOTE = {"profile": "wan", "security": {"election_config": {
    "heartbeat_timeout": "3s", "gather_timeout": "400ms", "election_timeout": "8s", "discovery_timeout": "1s",
    "discovery_backoff": "500ms", "transfer_timeout": "15s", "stop_grace": "300ms"}}}


def patient(leadership):
    """Settings of a node of a cluster that elects so."""
    return PATIENT_VOTE if leadership == "vote" else PATIENT


def until(what, condition, seconds=PATIENCE):
    """Waits until `condition()` is true and gives what it returned; complains about `what` when it never is.

    Nine tenths of the time it is idle: some conditions start a program, and many tests wait at once. What does not come
    soon is asked for ten times a second at most.
    """
    deadline, pause = time.monotonic() + seconds, 0.01
    while True:
        begun = time.monotonic()
        if answer := condition():
            return answer
        now = time.monotonic()
        if now > deadline:
            raise AssertionError(f"this never came: {what() if callable(what) else what}")
        time.sleep(min(0.5, max(pause, 9 * (now - begun))))
        pause = min(0.1, 1.5 * pause)
