"""Stories in a run that is there for longer, and shared."""

import hashlib
import threading
import time

from world import Down


def stream(client, rng, run):
    """Every line arrives, in order, and then the exit."""
    lines = rng.randrange(1, 400)
    _, out = client.execute(
        run, f"i=0; while [ $i -lt {lines} ]; do echo line $i; i=$((i+1)); done")
    if out != "".join(f"line {i}\n" for i in range(lines)):
        client.fault(f"lines are missing: {len(out)} bytes of {lines} lines")


def leave(client, rng, run):
    """A client that leaves takes its command along."""
    began = time.monotonic()
    mark = f"{rng.randrange(10**6, 10**7)}"
    for event in client.events("POST", f"/v1/runs/{run}/exec",
                               {"cmd": f"echo go; exec sleep {mark}"}):
        if event["event"] == "stdout":
            break
    for _ in range(80):
        _, out = client.execute(run, "ps -o args")
        if f"sleep {mark}\n" not in out:
            return
        time.sleep(0.25)
    client.fault(f"sleep {mark} outlived its client in {run}", began)


# -- files ------------------------------------------------------------------------

def files(client, rng, run):
    """What was put is what is got; a tree comes back whole, elsewhere too."""
    top = f"/v1/runs/{run}/files"
    mine = f"d/{threading.get_ident()}"
    name = f"f{rng.randrange(50)}"
    data = rng.randbytes(rng.choice([0, 10, 4096, 300_000, 3_000_000]))
    client.call("PUT", f"{top}/{mine}/{name}", data)
    same(client, f"{top}/{mine}/{name}", data)
    if len(data) > 100:
        part = client.call("GET", f"{top}/{mine}/{name}", headers={"Range": "bytes=10-99"})
        if part != data[10:100]:
            client.fault(f"a range of {name} is another one")
    client.call("GET", f"{top}/{mine}?list=1")
    client.call("GET", f"{top}?list=1")
    client.call("POST", f"{top}/{mine}/sub/dir?mkdir=1")
    tar = client.call("GET", f"{top}/{mine}?archive=tar")
    client.call("POST", f"{top}/{mine}/{name}?move={mine}/moved")
    same(client, f"{top}/{mine}/moved", data)
    client.call("PUT", f"{top}?archive=tar", tar)
    same(client, f"{top}/{name}", data, shared=True)
    client.call("DELETE", f"{top}/{mine}?recursive=1", ok=(204, 404))


def same(client, path, data, shared=False):
    back = client.call("GET", path)
    if shared:  # others unpack there as well: whole, but maybe theirs
        return
    if hashlib.sha256(back).digest() != hashlib.sha256(data).digest():
        client.fault(f"{path}: {len(data)} bytes put, {len(back)} other ones got")


def torn(client, rng, run):
    """An upload that breaks off changes nothing; a download may."""
    path = f"/v1/runs/{run}/files/torn/{threading.get_ident()}"
    data = rng.randbytes(2_000_000)
    client.call("PUT", path, data)
    client.cut("PUT", path, b"x" * rng.randrange(500_000), 4_000_000, None)
    client.cut("GET", path, b"", 0, 0.01)
    same(client, path, data)
    entries = client.call("GET", f"/v1/runs/{run}/files/torn?list=1")["entries"]
    if len(entries) > 8:
        client.fault(f"uploads that broke off have left {len(entries)} files")


# -- execs that are objects ---------------------------------------------------------

def begin(client, run, **body):
    return client.call("POST", f"/v1/runs/{run}/exec", {"detach": True, **body}, ok=(202,),
                       codes=("too_many_execs",)).get("exec", {}).get("id")


def background(client, rng, run):
    """A detached command goes on, can be read, and is ended."""
    exec_ = begin(client, run, cmd="while :; do echo x; sleep 0.1; done", timeoutSec=60)
    if exec_ is None:
        return
    time.sleep(rng.random())
    path = f"/v1/runs/{run}/execs/{exec_}"
    client.call("GET", f"/v1/runs/{run}/execs")
    if client.call("GET", path)["state"] != "running":
        client.fault(f"exec {exec_} of {run} has ended by itself")
    if rng.random() < 0.5:
        client.call("DELETE", path)
    else:
        client.call("POST", path + "/signal", {"signal": "KILL"})
        end = ended(client, path)
        if end.get("signal") != "SIGKILL":
            client.fault(f"killed with SIGKILL: {end}")


def ended(client, path):
    for event in client.events("GET", path + "/stream", codes=("exec_not_found",)):
        if event["event"] in ("exit", "problem"):
            return event["data"]
    raise Down()


def follow(client, rng, run):
    """What was cut goes on where it was cut, by its offset."""
    lines = rng.randrange(50, 2000)
    exec_ = begin(client, run, cmd=f"i=0; while [ $i -lt {lines} ]; do echo line $i; "
                                   "i=$((i+1)); done", timeoutSec=60)
    if exec_ is None:
        return
    got, offset, began = [], 0, time.monotonic()
    while time.monotonic() < began + 60:
        try:
            for event in client.events("GET", f"/v1/runs/{run}/execs/{exec_}/stream"
                                              f"?offset={offset}"):
                if event["event"] == "exit":
                    break
                if event["event"] == "stdout":
                    got.append(event["data"])
                    offset = event["offset"]
                    if rng.random() < 0.2:
                        raise Down()
            break
        except Down:
            time.sleep(0.1)
    if "".join(got) != "".join(f"line {i}\n" for i in range(lines)):
        client.fault(f"{lines} lines followed with cuts are {len(''.join(got))} bytes",
                     began)


def terminal(client, rng, run):
    """A terminal has the size it was given last, and hears what is typed."""
    exec_ = begin(client, run, argv=["sh"], tty={"cols": 80, "rows": 24}, timeoutSec=60)
    if exec_ is None:
        return
    path = f"/v1/runs/{run}/execs/{exec_}"
    rows, cols = rng.randrange(10, 99), rng.randrange(10, 99)
    client.call("POST", path + "/resize", {"rows": rows, "cols": cols})
    client.call("POST", path + "/stdin", b"stty size\nexit 7\n")
    out = []
    for event in client.events("GET", path + "/stream"):
        if event["event"] == "stdout":
            out.append(event["data"])
        if event["event"] == "exit" and (event["data"]["exitCode"] != 7 or
                                         f"{rows} {cols}" not in "".join(out)):
            client.fault(f"a terminal of {rows} {cols}: {''.join(out)!r} {event['data']}")


# -- egress -------------------------------------------------------------------------

def fetch(origin, size):
    """A command: the answer of the proxy. (BusyBox's static wget crashes.)"""
    return (f"printf 'GET http://{origin}/{size} HTTP/1.1\\r\\nHost: {origin}\\r\\n"
            "Connection: close\\r\\n\\r\\n' | nc -w 20 127.0.0.1 3128")


def egress(client, rng, run):
    """What is on the list is reached, and comes whole; what is not is refused."""
    began = time.monotonic()
    origin = client.world.args.origin
    size = rng.choice([0, 1000, 1_000_000])
    path = f"/v1/runs/{run}/egress"
    client.call("PUT", path, {"egressAllow": [origin]})
    _, out = client.execute(run, fetch(origin, size) + " | sed '1,/^.$/d' | sha256sum")
    if hashlib.sha256(b"o" * size).hexdigest() not in out:
        client.fault(f"{size} bytes through the proxy of {run}: {out!r}", began)
    client.call("PUT", path, {"egressAllow": []})
    _, out = client.execute(run, fetch(origin, 5) + " | head -n 1")
    if not out.startswith("HTTP/1.1 403 "):
        client.fault(f"{origin}, which {run} may not reach: {out!r}", began)
    client.call("GET", path)
    for event in client.events("GET", path + "/log?follow=0", last=("end", "error")):
        if event["event"] == "error":
            client.fault(f"log of {run}: {event}", began)
    check = client.call("POST", "/v1/egress/check", {"host": origin, "egressAllow": [origin]})
    if not check["allowed"]:
        client.fault(f"egress/check: {check}")


# -- all of it ----------------------------------------------------------------------

def look(client, rng):
    """Everybody may look at any time."""
    for path in ("/v1/runs", "/v1/runs?limit=2", "/v1/usage", "/metrics", "/health",
                 "/health/ready", "/v1/warmcache", "/v1/snapshots", "/openapi.json"):
        client.call("GET", path)
    time.sleep(rng.uniform(0, 0.2))
