"""How tests of real processes bear a machine that is busy with other things: they wait long for what they want to see,
and use times with which nobody is taken for dead, and no term ends, because a process waits for a processor."""

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
