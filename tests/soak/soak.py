"""Mixed load on a real stack, things killed at random, and what must hold.

Actors are threads, each telling one kind of story again and again and checking
every answer. A third of the time something is killed meanwhile. An answer that
says that something is down (5xx as a problem, a connection that breaks off) is
fine for DOWN seconds after a kill, and a fault at any other time. In the end
the API's list, Docker's containers and Redis' records must name the same runs,
and workers must not have grown. tests/soak/run starts it.
"""

import argparse
import collections
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

DOWN = 25  # s that a kill may be felt
IMAGE = "teploy-busybox"


class Down(Exception):
    """The stack is not whole just now, and says so or shows it."""


class World:
    """What all actors share."""

    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.felt = time.monotonic() + 5  # kills are felt until then
        self.faults = []
        self.done = collections.Counter()
        self.lock = threading.Lock()
        self.rng = random.Random(args.seed)
        self.engine_restarts = 0

    def over(self):
        return time.monotonic() > self.end or len(self.faults) > 20

    def fault(self, text):
        with self.lock:
            self.faults.append(text)
        print(f"FAULT {time.strftime('%T')} {text}", flush=True)

    def count(self, what):
        with self.lock:
            self.done[what] += 1

    def kill_is_felt(self, seconds=DOWN):
        self.felt = max(self.felt, time.monotonic() + seconds)

    def calm(self):
        return time.monotonic() > self.felt


class Client:
    """One caller of the API."""

    def __init__(self, world):
        self.world = world
        self.address = world.args.url.split("//")[1]

    def send(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.address, timeout=90)
        head = {"Authorization": "Bearer " + self.world.args.token}
        head.update(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, head)
        return connection.getresponse()

    def call(self, method, path, body=None, ok=(200, 201, 202, 204)):
        """The answer's object or bytes; Down where something is."""
        began = time.monotonic()
        try:
            response = self.send(method, path, body)
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            if self.world.calm():
                self.world.fault(f"{method} {path}: {error!r}")
            raise Down() from error
        if response.status in ok:
            kind = response.getheader("Content-Type", "")
            return json.loads(data) if "json" in kind else data
        self.refused(method, path, response.status, data, began)
        raise Down()

    def refused(self, method, path, status, data, began):
        try:
            problem = json.loads(data)
        except ValueError:
            problem = {}
        if not problem.get("detail") or not problem.get("code"):
            self.world.fault(f"{method} {path}: {status} is no problem: {data[:200]!r}")
        elif status < 500 or self.world.calm():
            spent = time.monotonic() - began
            self.world.fault(f"{method} {path}: {status} {problem['detail']} ({spent:.1f} s)")

    def events(self, run, body):
        """The events of an exec; Down where the stream is cut."""
        try:
            response = self.send("POST", f"/v1/runs/{run}/exec", body,
                                 {"Accept": "application/x-ndjson"})
            if response.status != 200:
                self.refused("POST", "exec", response.status, response.read(), time.monotonic())
                raise Down()
            for line in response:
                event = json.loads(line)
                yield event
                if event["event"] == "exit":
                    return
        except (OSError, http.client.HTTPException, ValueError) as error:
            if self.world.calm():
                self.world.fault(f"exec in {run}: {error!r}")
            raise Down() from error
        if self.world.calm():
            self.world.fault(f"exec in {run}: the stream was cut")
        raise Down()

    def execute(self, run, command, **more):
        """Exit code and standard output of a command."""
        out = []
        for event in self.events(run, {"cmd": command, **more}):
            if event["event"] == "stdout":
                out.append(event["data"])
            if event["event"] == "exit":
                data = event["data"]
                if data.get("error"):
                    if self.world.calm():
                        self.world.fault(f"exec in {run}: {data}")
                    raise Down()
                return data["exitCode"], "".join(out)
        raise Down()

    def make(self, **more):
        run = self.call("POST", "/v1/runs", {"image": IMAGE, "ttlSec": 3600,
                                             "limits": {"memoryMb": 64}, **more})
        return run["id"]

    def end(self, run):
        """Until it is gone: a DELETE that is lost is said again."""
        for _ in range(60):
            try:
                self.call("DELETE", f"/v1/runs/{run}", ok=(204, 404))
                return
            except Down:
                time.sleep(1)
        self.world.fault(f"run {run} cannot be destroyed")


# -- the stories --------------------------------------------------------------

def whole_life(client, rng):
    """Make, use, extend, look, destroy; nothing answers afterwards."""
    run = client.make(network=rng.choice(["none", "none", "allowlist"]),
                      env={"WHO": "soak"}, labels={"story": "life"})
    try:
        code, out = client.execute(run, "echo $WHO; exit 3")
        if (code, out) != (3, "soak\n"):
            client.world.fault(f"exec said {code} {out!r}")
        client.call("POST", f"/v1/runs/{run}/extend", {"ttlSec": 4000})
        client.call("GET", f"/v1/runs/{run}")
    finally:
        client.end(run)
    client.call("GET", f"/v1/runs/{run}", ok=(404,))


def stream(client, rng, run):
    """Every line arrives, in order, and then the exit."""
    lines = rng.randrange(1, 400)
    _, out = client.execute(
        run, f"i=0; while [ $i -lt {lines} ]; do echo line $i; i=$((i+1)); done")
    if out != "".join(f"line {i}\n" for i in range(lines)):
        client.world.fault(f"lines are missing: {len(out)} bytes of {lines} lines")


def leave(client, rng, run):
    """A client that leaves takes its command along."""
    mark = f"{rng.randrange(10**6, 10**7)}"
    for event in client.events(run, {"cmd": f"echo go; exec sleep {mark}"}):
        if event["event"] == "stdout":
            break
    for _ in range(40):
        _, out = client.execute(run, "ps -o args")
        if f"sleep {mark}\n" not in out:
            return
        time.sleep(0.25)
    if client.world.calm():
        client.world.fault(f"sleep {mark} outlived its client")


def files(client, rng, run):
    """What was put is what is got; a tree comes back whole."""
    name = f"f{rng.randrange(50)}"
    data = rng.randbytes(rng.choice([0, 10, 4096, 300_000, 3_000_000]))
    client.call("PUT", f"/v1/runs/{run}/files/d/{threading.get_ident()}/{name}", data)
    back = client.call("GET", f"/v1/runs/{run}/files/d/{threading.get_ident()}/{name}")
    if hashlib.sha256(back).digest() != hashlib.sha256(data).digest():
        client.world.fault(f"{len(data)} bytes put, {len(back)} other ones got")
    client.call("GET", f"/v1/runs/{run}/files/d?list=1")
    client.call("DELETE", f"/v1/runs/{run}/files/d/{threading.get_ident()}?recursive=1",
                ok=(204, 404))


def background(client, rng, run):
    """A detached command goes on, can be read, and is ended."""
    exec_ = client.call("POST", f"/v1/runs/{run}/exec",
                        {"cmd": "while :; do echo x; sleep 0.1; done", "detach": True,
                         "timeoutSec": 60}, ok=(202,))["exec"]["id"]
    time.sleep(rng.random())
    client.call("GET", f"/v1/runs/{run}/execs/{exec_}")
    client.call("DELETE", f"/v1/runs/{run}/execs/{exec_}", ok=(204, 404))


class Lease:
    """Two who want one run: never both at once, generations only rise."""

    def __init__(self):
        self.holder = None
        self.highest = 0
        self.lock = threading.Lock()

    def __call__(self, client, rng, run):
        me = str(threading.get_ident())
        answer = client.call("POST", f"/v1/runs/{run}/lease",
                             {"owner": me, "ttlSec": 30, "waitSec": 5}, ok=(200, 409))
        if "lease" not in answer:
            return
        generation = answer["lease"]["generation"]
        with self.lock:
            if generation <= self.highest:
                client.world.fault(f"generation {generation} after {self.highest}")
            self.highest = max(self.highest, generation)
        credential = {"owner": me, "generation": generation}
        client.execute(run, "mkdir /work/held && sleep 0.1; rmdir /work/held", **credential)
        client.call("POST", f"/v1/runs/{run}/lease/release", credential, ok=(204, 409))


def hostile(client, rng, run):
    """Floods, forks, fills, and connections without end; the next command works."""
    command = rng.choice([
        "yes | head -c 30000000",
        ":(){ :|:& };: ",
        "head -c 90000000 /dev/zero >/work/full; rm -f /work/full",
        "head -c 200000000 /dev/zero | tail",
        "i=0; while [ $i -lt 3000 ]; do nc 127.0.0.1 3128 </dev/null & i=$((i+1)); done",
        "kill -9 -1; kill -STOP 1; kill -9 $PPID",
        "trap '' TERM; (setsid sleep 600 &); sleep 600",
    ])
    for event in client.events(run, {"cmd": command, "timeoutSec": 3}):
        if event["event"] == "stdout" and rng.random() < 0.001:
            break  # and leaves
    for _ in range(40):
        try:
            if client.execute(run, "echo alive")[0] == 0:
                return
        except Down:
            pass
        time.sleep(0.5)


def keep(client, rng):
    """A snapshot boots with what was written."""
    run, image, second = client.make(), None, None
    try:
        word = f"{rng.random()}"
        client.execute(run, f"echo {word} >/root/word || echo {word} >/work/word")
        image = client.call("POST", f"/v1/runs/{run}/snapshot")["image"]
        second = client.make(image=image)
        _, out = client.execute(second, "cat /root/word /work/word 2>/dev/null")
        if out.strip() != word:
            client.world.fault(f"snapshot: {out!r} is not {word!r}")
    finally:
        for one in (run, second):
            if one:
                client.end(one)
        if image:
            client.call("DELETE", f"/v1/snapshots?image={image}", ok=(204, 404))


def warm(client, rng):
    """Every template is of one piece: all its files carry one stamp."""
    run = client.make(warm={"repo": f"soak/repo{rng.randrange(3)}"})
    try:
        _, out = client.execute(run, "cat s* 2>/dev/null | sort -u | wc -l")
        if out.strip() not in ("0", "1"):
            client.world.fault(f"a template of {out.strip()} stamps")
        client.execute(run, f"for i in 1 2 3 4 5 6 7 8; do echo {rng.random()} >s$i; done; "
                            f"cp s1 s; for i in 1 2 3 4 5 6 7 8; do cp s s$i; done; rm s")
        client.call("POST", f"/v1/runs/{run}/warm-commit", {}, ok=(201, 409))
        if rng.random() < 0.2:
            client.call("DELETE", f"/v1/warmcache/soak/repo{rng.randrange(3)}",
                        ok=(204, 404, 409))
    finally:
        client.end(run)


def look(client, rng):
    """Everybody may look at any time."""
    for path in ("/v1/runs", "/v1/usage", "/metrics", "/health", "/v1/warmcache",
                 "/v1/snapshots"):
        client.call("GET", path)


# -- actors and residents ------------------------------------------------------

class Resident:
    """A run that several stories use; made again where an engine restart ended it."""

    def __init__(self, world, **more):
        self.world, self.more, self.run, self.lock = world, more, None, threading.Lock()

    def get(self, client):
        with self.lock:
            if self.run is not None:
                found = client.call("GET", f"/v1/runs/{self.run}", ok=(200, 404))
                if found.get("state") == "running":
                    return self.run
                if self.world.engine_restarts == 0:
                    self.world.fault(f"run {self.run} is lost: {found}")
                client.end(self.run)
            self.run = client.make(**self.more)
            return self.run


def act(world, story, resident, number):
    client, rng = Client(world), random.Random(world.args.seed * 1000 + number)
    while not world.over():
        try:
            if resident is None:
                story(client, rng)
            else:
                story(client, rng, resident.get(client))
            world.count(getattr(story, "__name__", "lease"))
        except Down:
            time.sleep(0.2)
        except Exception as error:  # a fault of this program, or an odd answer
            world.fault(f"{story}: {error!r}")


# -- killing -------------------------------------------------------------------

def processes(world):
    """pid -> name and arguments, of all below serve and of our programs."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{pid}/environ", "rb") as f:
                ours = world.args.base.encode() in f.read()
        except OSError:
            continue
        if ours or world.args.base in line:
            found[int(pid)] = line
    return found


def victims(world):
    kinds = collections.defaultdict(list)
    for pid, line in processes(world).items():
        for kind, mark in (("worker", "sbx-app --pool"), ("reaper", "sbx-reaper"),
                           ("proxy", "sbx-proxy"), ("redis", "redis-server"),
                           ("nginx", "nginx: worker")):
            if mark in line:
                kinds[kind].append(pid)
    return kinds


def chaos(world):
    rng = random.Random(world.args.seed)
    while not world.over():
        time.sleep(rng.uniform(8, 30))
        if world.over():
            return
        kinds = victims(world)
        choices = [k for k in kinds if kinds[k]] * 3 + ["reload", "engine"]
        kind = rng.choice(choices)
        world.kill_is_felt(60 if kind == "engine" else DOWN)
        print(f"{time.strftime('%T')} {kind}", flush=True)
        world.count("kill " + kind)
        if kind == "engine":
            world.engine_restarts += 1
            engine = world.args.base + "/engine"
            with open(engine + "/docker.pid", encoding="ascii") as f:
                os.kill(int(f.read()), signal.SIGKILL)
            time.sleep(1)
            subprocess.run([world.args.engine, "resume", engine], check=False)
            world.kill_is_felt(60)
        elif kind == "reload":
            for pid, line in processes(world).items():
                if "sbx-app --processes" in line:
                    os.kill(pid, signal.SIGHUP)
        else:
            try:
                os.kill(rng.choice(kinds[kind]), signal.SIGKILL)
            except ProcessLookupError:
                pass


# -- what must hold -------------------------------------------------------------

def sizes(world):
    """pid of each worker -> resident KiB, descriptors."""
    found = {}
    for pid, line in processes(world).items():
        if "sbx-app --pool" not in line and "sbx-reaper" not in line:
            continue
        try:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                rss = next(int(x.split()[1]) for x in f if x.startswith("VmRSS"))
            found[pid] = rss, len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            pass
    return found


def grew(world, before):
    for pid, (rss, fds) in sizes(world).items():
        if pid in before and rss > before[pid][0] + 40_000:
            world.fault(f"worker {pid} grew from {before[pid][0]} to {rss} KiB")
        if pid in before and fds > before[pid][1] + 64:
            world.fault(f"worker {pid} has {fds} descriptors, had {before[pid][1]}")


def docker(world, path):
    class Unix(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(world.args.base + "/engine/docker.sock")

    connection = Unix("engine")
    connection.request("GET", path)
    return json.loads(connection.getresponse().read())


def redis(world, *words):
    return subprocess.run(["redis-cli", "-s", world.args.base + "/run/redis.sock", *words],
                          capture_output=True, text=True, check=False).stdout.split()


def agree(world, client):
    """The three views, sorted; equal where all is well."""
    listed = sorted(r["id"] for r in client.call("GET", "/v1/runs")["runs"])
    contained = sorted(c["Labels"].get("teploy.sandbox.run", "?") for c in
                       docker(world, "/containers/json?all=1"))
    recorded = sorted(k.split(":")[2] for k in redis(world, "KEYS", "sbx:run:*"))
    return listed, contained, recorded


def settle(world, client):
    deadline = time.monotonic() + 120
    views = None
    while time.monotonic() < deadline:
        try:
            views = agree(world, client)
            if views[0] == views[1] == views[2]:
                break
        except Down:
            pass
        time.sleep(1)
    else:
        world.fault(f"the views differ: {views}")
    for run in views[0]:
        client.end(run)
    time.sleep(1)
    left = docker(world, "/volumes").get("Volumes") or []
    if left:
        world.fault(f"volumes are left: {[v['Name'] for v in left]}")
    if os.listdir(world.args.base + "/run/runs"):
        world.fault(f"directories are left: {os.listdir(world.args.base + '/run/runs')}")
    proxies = victims(world)["proxy"]
    if proxies:
        world.fault(f"proxies are left: {proxies}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "token", "base", "engine"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--serve", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    world = World(parser.parse_args())
    print(f"soak: seed {world.args.seed}, {world.args.seconds:.0f} s", flush=True)
    calm, rough = Resident(world), Resident(world, network="allowlist")
    held = Resident(world)
    lease = Lease()
    cast = [(whole_life, None)] * 3 + [(stream, calm)] * 4 + [(leave, calm)] * 2 + [
        (files, calm), (files, calm), (background, calm), (lease, held), (lease, held),
        (hostile, rough), (keep, None), (warm, None), (warm, None), (look, None)]
    threads = [threading.Thread(target=act, args=(world, story, resident, i))
               for i, (story, resident) in enumerate(cast)]
    threads.append(threading.Thread(target=chaos, args=(world,)))
    for t in threads:
        t.start()
    time.sleep(min(60, world.args.seconds / 4))
    before = sizes(world)
    for t in threads:
        t.join()
    time.sleep(max(0, world.felt - time.monotonic()))
    grew(world, before)
    settle(world, Client(world))
    print("soak:", ", ".join(f"{k} {v}" for k, v in sorted(world.done.items())))
    print(f"soak: {len(world.faults)} faults")
    return 1 if world.faults else 0


if __name__ == "__main__":
    sys.exit(main())
