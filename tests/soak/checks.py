"""What must hold, looked at every few seconds, and once more at the end.

What is amiss for a moment is no fault: each kind has a bound, on a clock that
stands while nothing can be mended (World.healthy)."""

import collections
import os
import time

from world import Client, Down

ROUND = 3  # s between two looks
RUN = "teploy-sbx-"
LOST = "lost: its maker never ended it, and it is not listed"
ENDED = "ended, though nobody ended it"
ZOMBIE = "a zombie"
# Kind -> s it may last. The grace of what has no owner is 60 s, a creating mark
# is as long, a teardown's next try at most 60 s away.
BOUNDS = {
    LOST: 90,
    ENDED: 0,
    "stuck": 180,
    "a record without a container": 180,
    "a container without a record": 180,
    "a proxy without a run": 120,
    "an allowlist run without a proxy": 60,
    "a directory without a run": 180,
    "a volume without a run": 180,
    "a network without a run": 180,
    "a mount without a run": 180,
    "a mark that lapsed": 90,
    ZOMBIE: 30,
    "paused": 90,
    "held": 120,
}


class Monitor:
    def __init__(self, world):
        self.world, self.box = world, world.box
        self.since = {}  # (kind, whose) -> healthy s when it was seen first
        self.told = set()
        self.growth, self.crashes = Growth(world), Crashes(world)
        self.worst = collections.Counter()  # kind -> longest, s

    def __call__(self):
        last = time.monotonic()
        while not self.world.over():
            time.sleep(ROUND)
            now = time.monotonic()
            with self.world.lock:
                if not self.world.outages:
                    self.world.healthy += min(now - last, 2 * ROUND)
                if now > self.world.felt:
                    self.world.calm += now - last
            last = now
            self.look()
            self.growth.sample()
            self.crashes.look()

    def look(self):
        """One look: what is amiss now, of which kinds something could be seen."""
        amiss, seen = [], set()
        for look in (self.listed, self.records, self.processes):
            try:
                kinds, found = look()
                seen.update(kinds)
                amiss.extend(found)
            except (OSError, ValueError, KeyError, TypeError, Down):
                pass  # something is down: nothing is known of it
        self.judge(amiss, seen)

    def judge(self, amiss, seen):
        now = self.world.healthy
        for key in [k for k in self.since if k[0] in seen and k not in amiss]:
            del self.since[key]
        for key in amiss:
            kind, whose = key
            lasted = now - self.since.setdefault(key, now)
            self.worst[kind] = max(self.worst[kind], round(lasted))
            if lasted >= BOUNDS[kind] and key not in self.told:
                self.told.add(key)
                self.world.fault(f"{kind}: {whose} (for {lasted:.0f} s)")

    # -- the API's view ----------------------------------------------------------

    def listed(self):
        """Whose maker has not ended it is there, and runs."""
        client = Client(self.world, "monitor")
        with self.world.lock:
            before = dict(self.world.runs)
        runs = {r["id"]: r for r in client.call("GET", "/v1/runs")["runs"]}
        found = []
        for run, made in before.items():
            if run not in self.world.runs or made < self.world.engine_felt:
                continue
            if run not in runs:
                found.append((LOST, run))
            elif runs[run]["state"] == "exited":
                found.append((ENDED, f"{run}: {runs[run].get('exit')}"))
        return (LOST, ENDED), found

    # -- Redis' and the engine's --------------------------------------------------

    def records(self):
        found = []
        with self.box.redis() as redis:
            keys = redis.ask("KEYS", "sbx:run:*")
            records = {k[8:]: redis.ask("HMGET", k, "state", "network", "hold", "leaseHolder")
                       for k in keys}
            now = int(redis.ask("TIME")[0]) * 1000
            for key in redis.ask("KEYS", "sbx:inflight:*"):
                marks = redis.ask("ZRANGE", key, 0, -1, "WITHSCORES")
                found += [("a mark that lapsed", f"{key} {op}") for op, until
                          in zip(marks[::2], marks[1::2]) if float(until) < now]
        containers = self.box.containers()
        volumes = [v["Name"] for v in self.box.docker("GET", "/volumes")["Volumes"] or []]
        networks = [n["Name"] for n in self.box.docker("GET", "/networks")]
        for run, (state, _, hold, _) in records.items():
            if state in ("creating", "destroying"):
                found.append(("stuck", f"{run} {state}"))
            elif run not in containers:
                found.append(("a record without a container", run))
            if hold:
                found.append(("held", run))
        found += [("a container without a record", r) for r in containers if r not in records]
        found += [("paused", r) for r, c in containers.items() if c["State"] == "paused"]
        found += [("a volume without a run", v) for v in volumes
                  if self.owner(v) not in records]
        found += [("a network without a run", n) for n in networks
                  if n.startswith(RUN) and self.owner(n) not in records]
        found += [("a directory without a run", d) for d in self.box.directories()
                  if d not in records]
        found += [("a mount without a run", m) for m in self.box.mounts()
                  if RUN in m and self.owner(m[m.index(RUN):]) not in records]
        found += self.proxies(records)
        return set(BOUNDS) - {LOST, ENDED, ZOMBIE}, found

    @staticmethod
    def owner(name):
        """The run of a thing that is called teploy-sbx-<id>-…"""
        return name[len(RUN):len(RUN) + 26].upper() if name.startswith(RUN) else name

    def proxies(self, records):
        lines = [p.line for p in self.box.by_kind()["proxy"]]
        served = {run: any(run in line for line in lines) for run in records}
        found = [("an allowlist run without a proxy", r) for r, v in records.items()
                 if v[1] == "allowlist" and v[0] == "running" and not served[r]]
        return found + [("a proxy without a run", line) for line in lines
                        if not any(run in line for run in records)]

    # -- the kernel's -----------------------------------------------------------------

    def processes(self):
        return (ZOMBIE,), [(ZOMBIE, f"{p.pid} {p.name} of {p.parent}")
                           for p in self.box.processes() if p.state == "Z"]


class Crashes:
    """Ends of our processes that were not of our making."""

    def __init__(self, world):
        self.world = world
        self.read = {}  # file -> how far

    def look(self):
        for name, mark, fine in (
                ("/state/log/app.log", b'"worker.died"', (b'"signal":9}', b'"exit":')),
                ("/serve.out", b"ended (killed by", (b"SIGKILL", b"SIGTERM"))):
            for line in self.fresh(self.world.box.base + name):
                if mark in line and not any(f in line for f in fine):
                    self.world.fault(f"it crashed: {line.decode(errors='replace').strip()}")

    def fresh(self, path):
        """Whole lines that were not read yet; a log begins anew when it is large."""
        offset = self.read.get(path, 0)
        with open(path, "rb") as f:
            if os.fstat(f.fileno()).st_size < offset:
                offset = 0
            f.seek(offset)
            lines = f.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        self.read[path] = offset + sum(map(len, lines))
        return lines


class Growth:
    """Memory and descriptors of each process of ours, over its life."""

    WARM = 120  # s of life that are not looked at: threads meet their first requests
    LEAST = 180  # s of life after that, to be judged

    def __init__(self, world):
        self.world, self.box = world, world.box
        self.series = collections.defaultdict(list)  # (kind, pid, start) -> samples
        self.kinds = {}

    def sample(self):
        now = time.monotonic()
        for p in self.box.processes():
            if not p.kind:
                continue
            try:
                self.series[p.kind, p.pid, p.started].append((now, p.memory(), p.descriptors()))
            except (OSError, StopIteration):
                pass

    def judge(self):
        """A line for each kind: what its longest-lived had in the first and in
        the last quarter of its life, and a fault for each that grew."""
        for (kind, pid, _), samples in sorted(self.series.items()):
            samples = [s for s in samples if s[0] > samples[0][0] + self.WARM]
            if not samples or samples[-1][0] - samples[0][0] < self.LEAST:
                continue
            quarter = len(samples) // 4
            first, last = samples[:quarter], samples[-quarter:]
            lived = samples[-1][0] - samples[0][0]
            self.kinds.setdefault(kind, []).append(
                f"{pid}: {lived:.0f} s, {_mid(first, 1)} → {_mid(last, 1)} KiB, "
                f"{_mid(first, 2)} → {_mid(last, 2)} descriptors")
            if min(s[1] for s in last) > max(s[1] for s in first) * 1.25 + 4096:
                self.world.fault(f"{kind} {pid} grew: {self.kinds[kind][-1]}")
            if min(s[2] for s in last) > max(s[2] for s in first) + 32:
                self.world.fault(f"{kind} {pid} holds more and more: {self.kinds[kind][-1]}")


def _mid(samples, field):
    return sorted(s[field] for s in samples)[len(samples) // 2]


# -- at the end ---------------------------------------------------------------------

def settle(world):
    """The three views name the same runs; when those are ended nothing is left."""
    client, views = Client(world, "end"), None
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        try:
            views = [sorted(r["id"] for r in client.call("GET", "/v1/runs")["runs"]),
                     sorted(world.box.containers()), sorted(_records(world.box))]
            if views[0] == views[1] == views[2]:
                break
        except (Down, OSError, ValueError):
            pass
        time.sleep(1)
    else:
        world.fault(f"the views differ: {views}")
    for run in views[0] if views else []:
        client.end(run)
    for one in client.call("GET", "/v1/snapshots")["snapshots"]:
        client.call("DELETE", f"/v1/snapshots?image={one['image']}", ok=(204, 404))
    _await_nothing(world)


def _records(box):
    with box.redis() as redis:
        return [k[8:] for k in redis.ask("KEYS", "sbx:run:*")]


def _left(world):
    box = world.box
    with box.redis() as redis:
        keys = [k for k in redis.ask("KEYS", "*") if int(redis.ask("PTTL", k)) == -1]
    images = [t for i in box.docker("GET", "/images/json") for t in i["RepoTags"] or []]
    found = {
        "volumes": [v["Name"] for v in box.docker("GET", "/volumes")["Volumes"] or []],
        "networks": [n["Name"] for n in box.docker("GET", "/networks")
                     if n["Name"].startswith(RUN)],
        "containers": list(box.containers()),
        "directories": box.directories(),
        "images": [t for t in images if t.startswith("teploy-sbx-snap")],
        "proxies": [p.line for p in box.by_kind()["proxy"]],
        "mounts": [m for m in box.mounts() if RUN in m],
        "keys": [k for k in keys if k.startswith(("sbx:run:", "sbx:inflight:", "sbx:runs",
                                                  "sbx:ids", "sbx:idem:", "sbx:gone:"))],
        "zombies": [p.pid for p in box.processes() if p.state == "Z"],
        "of crashes": [f for f in os.listdir(box.base) if f.startswith("core")],
    }
    return {what: names for what, names in found.items() if names}


def _await_nothing(world):
    deadline = time.monotonic() + 120
    left = "?"
    while time.monotonic() < deadline:
        try:
            left = _left(world)
            if not left:
                return
        except (OSError, ValueError):
            pass
        time.sleep(1)
    world.fault(f"is left: {left}")


def routes(world):
    """Every route is told by some story, and answered it well."""
    paths = Client(world, "end").call("GET", "/openapi.json")["paths"]
    all_ = {f"{method.upper()} {path}" for path, methods in paths.items()
            for method in methods if method in ("get", "put", "post", "delete")}
    for route in sorted(all_ - set(world.told)):
        world.fault(f"no story tells {route}")
    print("soak: routes")
    for route, stories in sorted(world.told.items(), key=lambda x: x[0].split()[::-1]):
        print(f"  {route:46} " + ", ".join(f"{s} {n}" for s, n in stories.most_common(4)))
