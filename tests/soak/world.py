"""What all of a soak share: its clock, its faults, and a caller of the API.

Something may be felt for a while after it was done to the stack: an answer
that says that something is down (5xx as a problem, a connection that breaks
off) is a fault only where its request began after that. A restart of the
engine ends runs: stories that had begun before are excused for what they find.
"""

import collections
import contextlib
import http.client
import json
import re
import socket
import struct
import threading
import time

IMAGE = "teploy-busybox"
FAULTS_MAX = 40  # enough to read


class Down(Exception):
    """The stack is not whole just now, and says so or shows it."""


class World:
    """What all actors share."""

    def __init__(self, args):
        self.args = args
        self.end = time.monotonic() + args.seconds
        self.felt = time.monotonic() + 5  # what was done is felt until then
        self.engine_felt = 0.0  # stories begun before that may lose their runs
        self.faults = []
        self.done = collections.Counter()
        self.told = collections.defaultdict(collections.Counter)  # route -> story
        self.runs = {}  # id -> what its maker knows of it
        self.lock = threading.RLock()
        self.token = args.token
        self.outages = 0
        self.healthy = 0.0  # s without an outage, so far: the monitor's clock
        self.calm = 0.0  # s in which nothing was felt

    def over(self):
        return time.monotonic() > self.end or len(self.faults) >= FAULTS_MAX

    def fault(self, text):
        with self.lock:
            self.faults.append(text)
        print(f"FAULT {time.strftime('%T')} {text}", flush=True)

    def count(self, what):
        with self.lock:
            self.done[what] += 1

    def feel(self, seconds):
        with self.lock:
            self.felt = max(self.felt, time.monotonic() + seconds)

    def feel_engine(self, seconds):
        self.feel(seconds)
        with self.lock:
            self.engine_felt = max(self.engine_felt, time.monotonic() + seconds)

    @contextlib.contextmanager
    def outage(self):
        """Nothing can be mended meanwhile, so the monitor's clock stands."""
        with self.lock:
            self.outages += 1
        try:
            yield
        finally:
            with self.lock:
                self.outages -= 1


# A path as the routes have it.
SHAPES = [(re.compile(pattern), shape) for pattern, shape in (
    (r"\?.*", ""),
    (r"/runs/[0-9A-Z]{26}", "/runs/{id}"),
    (r"/execs/[0-9A-Z]{26}", "/execs/{eid}"),
    (r"/files/.+", "/files/{path}"),
    (r"/warmcache/.+", "/warmcache/{repo}"))]


def shape_of(path):
    for pattern, shape in SHAPES:
        path = pattern.sub(shape, path, count=1)
    return path


class Client:
    """One caller of the API, telling one story."""

    def __init__(self, world, story):
        self.world, self.story = world, story
        self.address = world.args.url.split("//")[1]
        self.began = time.monotonic()  # of the story

    def fault(self, text, began=None):
        """What an engine restart, or where `began` is given any other blow
        since then, does not excuse."""
        if self.began < self.world.engine_felt:
            self.world.count("excused by an engine restart")
        elif began is None or began >= self.world.felt:
            self.world.fault(f"{self.story}: {text}")

    # -- requests --------------------------------------------------------------

    def send(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        head = {"Authorization": "Bearer " + self.world.token, **(headers or {})}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, head)
        response = connection.getresponse()
        if response.status < 300:
            with self.world.lock:
                self.world.told[f"{method} {shape_of(path)}"][self.story] += 1
        return response

    def call(self, method, path, body=None, ok=(200, 201, 202, 204, 206), codes=(),
             headers=None):
        """The answer's object or bytes; Down where something is."""
        began, token = time.monotonic(), self.world.token
        try:
            response = self.send(method, path, body, headers)
            data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.fault(f"{method} {path}: {error!r}, {time.monotonic() - began:.1f} s", began)
            raise Down() from error
        kind = response.getheader("Content-Type", "")
        if response.status in ok:
            return json.loads(data) if "json" in kind else data
        if response.status == 401 and token != self.world.token:
            return self.call(method, path, body, ok, codes, headers)
        return self.refused(f"{method} {path}", response.status, data, began, codes)

    def refused(self, what, status, data, began, codes=()):
        """The problem, where it is one of these; else Down."""
        try:
            problem = json.loads(data)
        except ValueError:
            problem = {}
        if not problem.get("detail") or not problem.get("code"):
            self.world.fault(f"{what}: {status} is no problem: {data[:200]!r}")
            raise Down()
        if problem["code"] in codes:
            return problem
        self.fault(f"{what}: {status} {problem['code']}: {problem['detail']} "
                   f"({time.monotonic() - began:.1f} s)", began if status >= 500 else None)
        raise Down()

    def cut(self, method, path, body, length, after):
        """Begins a request and leaves: after `after` bytes of the body, or where
        that is None of the answer. A reset, or an orderly end, by turns."""
        began = time.monotonic()
        host, port = self.address.rsplit(":", 1)
        head = (f"{method} {path} HTTP/1.1\r\nHost: soak\r\nContent-Length: {length}\r\n"
                f"Authorization: Bearer {self.world.token}\r\n\r\n").encode()
        try:
            with socket.create_connection((host, int(port)), timeout=60) as s:
                s.sendall(head + body)
                if after is not None:
                    s.settimeout(after)
                    with contextlib.suppress(TimeoutError):
                        s.recv(4096)
                if int(began * 1000) % 2:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError as error:
            self.fault(f"{method} {path}, to be cut: {error!r}", began)

    # -- streams ---------------------------------------------------------------

    def events(self, method, path, body=None, last=("exit",), codes=()):
        """The events of a stream; Down where it is cut."""
        began = time.monotonic()
        response = None
        try:
            response = self.send(method, path, body, {"Accept": "application/x-ndjson"})
            if response.status != 200:
                problem = self.refused(f"{method} {path}", response.status, response.read(),
                                       began, codes)
                yield {"event": "problem", "data": problem}
                return
            for line in response:
                event = json.loads(line)
                yield event
                if event["event"] in last:
                    return
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.fault(f"{method} {path}: {error!r}", began)
            raise Down() from error
        finally:
            if response is not None:
                response.close()
        self.fault(f"{method} {path}: the stream was cut", began)
        raise Down()

    def execute(self, run, command, **more):
        """Exit code and standard output of a command."""
        began, out = time.monotonic(), []
        for event in self.events("POST", f"/v1/runs/{run}/exec", {"cmd": command, **more}):
            if event["event"] == "stdout":
                out.append(event["data"])
            if event["event"] == "exit":
                data = event["data"]
                if data.get("error"):
                    self.fault(f"exec in {run}: {data}", began)
                    raise Down()
                return data["exitCode"], "".join(out)
        raise Down()

    # -- runs ------------------------------------------------------------------

    def make(self, ttl=3600, codes=(), headers=None, **more):
        run = self.call("POST", "/v1/runs", {"image": IMAGE, "ttlSec": ttl,
                                             "limits": {"memoryMb": 64}, **more},
                        codes=codes, headers=headers)
        if "id" not in run:
            raise Down()
        if ttl >= 3600:  # it is to be there until its maker says otherwise
            with self.world.lock:
                self.world.runs[run["id"]] = time.monotonic()
        return run["id"]

    def end(self, run):
        """Until it is gone: a DELETE that is lost is said again."""
        with self.world.lock:
            self.world.runs.pop(run, None)
        for _ in range(90):
            try:
                self.call("DELETE", f"/v1/runs/{run}", ok=(204, 404))
                return
            except Down:
                time.sleep(1)
        self.world.fault(f"run {run} cannot be destroyed")

    @contextlib.contextmanager
    def one(self, **more):
        """A run of one's own."""
        run = self.make(**more)
        try:
            yield run
        finally:
            self.end(run)
