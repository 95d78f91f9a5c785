"""Workloads that do their worst to the run they are in."""

import os
import subprocess
import time

from calls import fetch
from world import Down

COMMANDS = [
    "yes | head -c 30000000",
    "yes",
    "yes >&2 & yes",
    ":(){ :|:& };: ",
    "while :; do sleep 8 & done",
    "head -c 300000000 /dev/zero >/work/full; rm -f /work/full",
    "i=0; while [ $i -lt 5000 ]; do >/work/many$i; i=$((i+1)); done; rm -f /work/many*",
    "head -c 200000000 /dev/zero | tail",
    "while :; do head -c 50000000 /dev/zero | tail >/dev/null & done",
    "head -c 30000000 /dev/zero >/dev/shm/full",
    "kill -9 -1; kill -STOP 1; kill -9 $PPID",
    "while :; do kill -USR1 1; kill -HUP 1; done",
    "trap '' TERM; (setsid sleep 600 &); sleep 600",
    "mount -t tmpfs none /work; umount -a; mkdir /work/m; mount --bind /proc /work/m",
]

# What a run says that has neither processes nor memory left.
SPENT = ("run_exhausted", "guest_failed")


def hostile(client, rng, run):
    """Floods, forks, fills, eats; then the next command works as ever."""
    command = rng.choice(COMMANDS)
    left = rng.random() < 0.3
    for event in client.events("POST", f"/v1/runs/{run}/exec",
                               {"cmd": command, "timeoutSec": 3}, codes=SPENT):
        if event["event"] == "stdout" and left and rng.random() < 0.01:
            break  # and leaves
    alive(client, run, command)


def alive(client, run, after):
    began = time.monotonic()
    while time.monotonic() < began + 40:
        for event in client.events("POST", f"/v1/runs/{run}/exec",
                                   {"cmd": "rm -f /dev/shm/full; echo alive"},
                                   codes=SPENT):
            if event["event"] == "exit" and event["data"]["exitCode"] == 0:
                return
        time.sleep(0.5)
    client.fault(f"nothing works in {run} after {after!r}", began)


def crowd(client, rng, run):
    """10,000 connections to its proxy from inside; then it serves as ever."""
    origin = client.world.args.origin
    client.call("PUT", f"/v1/runs/{run}/egress", {"egressAllow": [origin]})
    box = client.world.box
    pid = box.docker("GET", f"/containers/teploy-sbx-{run.lower()}/json")["State"]["Pid"]
    here = os.path.dirname(os.path.abspath(__file__))
    if pid > 0:
        subprocess.run(["nsenter", "-t", str(pid), "-n", "python3", here + "/crowd.py",
                        "10000", str(rng.randrange(1, 5))], check=False,
                       stderr=subprocess.DEVNULL)
    began = time.monotonic()
    while time.monotonic() < began + 30:
        _, out = client.execute(run, fetch(origin, 5))
        if out.endswith("\nooooo"):
            return
        time.sleep(1)
    client.fault(f"the proxy of {run} does not serve after 10,000 connections: {out!r}", began)


def eat(client, rng, run):
    """A run near its memory's end: what is started there works, or says why."""
    command = f"head -c {rng.randrange(40, 64)}000000 /dev/zero | tail | wc -c"
    client.execute(run, command, timeoutSec=20)
    data = rng.randbytes(500_000)
    try:
        client.call("PUT", f"/v1/runs/{run}/files/eaten", data)
        if client.call("GET", f"/v1/runs/{run}/files/eaten") != data:
            client.fault("a file that was put is another one")
    except Down:
        time.sleep(1)
