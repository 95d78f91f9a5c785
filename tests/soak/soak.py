"""Mixed load on a real stack, with all kinds of trouble, and what must hold.

Actors are threads, each telling one kind of story again and again and checking
every answer (lives.py, calls.py, hostile.py). Meanwhile things are killed,
stopped, filled up (chaos.py), and somebody looks at what is there all the time
(checks.py). tests/soak/run starts it.
"""

import argparse
import http.server
import os
import random
import signal
import sys
import threading
import time

import calls
import lives
from box import Box
from chaos import Chaos
from checks import Monitor, routes, settle
from hostile import crowd, eat, hostile
from world import Client, Down, World


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
                began = self.world.runs.get(self.run, 0)
                if began >= self.world.engine_felt and found.get("state") != "exited":
                    raise Down()  # not there just now: the monitor looks at that
                client.end(self.run)
            self.run = client.make(**self.more)
            return self.run


def cast(world):
    """Who tells what, and in which run."""
    calm, rough, rougher = Resident(world), Resident(world), Resident(world, network="allowlist")
    held, tight = Resident(world), Resident(world)
    netted, crowded = (Resident(world, network="allowlist") for _ in range(2))
    return [(lives.whole_life, None)] * 2 + [
        (lives.keyed, None), (lives.away, None), (lives.expire, None), (lives.expire, None),
        (lives.kept_alive, None), (lives.murdered, None), (lives.snapshot, None),
        (lives.warm, None), (lives.warm, None)] + [(lives.lease, held)] * 3 + [
        (lives.pull, None)] * bool(world.args.pulled) + [
        (calls.stream, calm), (calls.stream, calm), (calls.leave, calm), (calls.files, calm),
        (calls.files, calm), (calls.torn, calm), (calls.background, calm), (calls.follow, calm),
        (calls.terminal, calm), (calls.egress, netted), (calls.look, None),
        (hostile, rough), (hostile, rougher), (crowd, crowded), (eat, tight)]


def act(world, story, resident, number):
    rng = random.Random(world.args.seed * 1000 + number)
    while not world.over():
        client = Client(world, story.__name__)
        try:
            if resident is None:
                story(client, rng)
            else:
                story(client, rng, resident.get(client))
            world.count(story.__name__)
        except Down:
            time.sleep(0.2)
        except Exception as error:  # a fault of this program, or an odd answer
            client.fault(f"{error!r}")
            time.sleep(0.2)


class Origin(http.server.BaseHTTPRequestHandler):
    """/N is N bytes: what runs reach through their proxies."""

    def do_GET(self):
        size = int(self.path.strip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b"o" * size)

    def log_message(self, *_):
        pass


def serve_origin(box):
    """HOST:PORT of it: on the engine's bridge, as no proxy dials its own loopback."""
    host = box.docker("GET", "/networks/bridge")["IPAM"]["Config"][0]["Gateway"]
    server = http.server.ThreadingHTTPServer((host, 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{host}:{server.server_port}"


def soak(world):
    monitor = Monitor(world)
    jobs = [threading.Thread(target=act, args=(world, story, resident, i))
            for i, (story, resident) in enumerate(cast(world))]
    jobs.append(threading.Thread(target=monitor))
    if not world.args.calm:
        jobs.append(threading.Thread(target=Chaos(world)))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    time.sleep(max(0, world.felt - time.monotonic()))
    monitor.growth.judge()
    routes(world)
    settle(world)
    for kind, lines in sorted(monitor.growth.kinds.items()):
        print(f"soak: {kind}\n  " + "\n  ".join(lines))
    print("soak: lasted longest (s):", dict(monitor.worst))
    print("soak:", ", ".join(f"{k} {v}" for k, v in sorted(world.done.items())))
    print(f"soak: {len(world.faults)} faults in {world.args.seconds:.0f} s, "
          f"{world.calm:.0f} of them calm")


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "base", "build", "engine"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--pulled", default="", help="an image of a registry")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calm", action="store_true", help="load alone")
    args = parser.parse_args()
    sys.setswitchinterval(0.0005)  # many threads that mostly wait, one that looks
    box = Box(args)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(box.stop() or 1))
    args.origin = serve_origin(box)
    try:
        if not box.start():
            print("soak: the stack does not start: see serve.out")
            return 1
        args.token = box.token()
        world = World(args)
        world.box = box
        print(f"soak: seed {args.seed}, {args.seconds:.0f} s", flush=True)
        soak(world)
        return 1 if world.faults else 0
    finally:
        box.stop()


if __name__ == "__main__":
    sys.exit(main())
