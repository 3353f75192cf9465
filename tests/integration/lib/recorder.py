"""Guarded work at its worst, a program of its own: `recorder.py FILE`.

Writes (epoch, CLOCK_BOOTTIME in ns) to the end of a file every 2 ms for as long as it lives, and does not end when it
is asked to. Commands of all candidates write to one file, so its order is that of their acts, whatever any clock says.
"""

import os
import signal
import struct
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
epoch = int(os.environ["BELLWETHER_EPOCH"])
while True:
    os.write(out, struct.pack("=qq", epoch, time.clock_gettime_ns(time.CLOCK_BOOTTIME)))
    time.sleep(0.002)
