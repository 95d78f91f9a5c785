"""The box under the stack, as one who looks at it from outside sees it:
processes, Redis, the engine, and `teploy-sandbox serve` itself."""

import collections
import http.client
import json
import os
import socket
import subprocess
import time
import urllib.request

MARKS = (("worker", "sbx-app --pool"), ("workers' master", "sbx-app --processes"),
         ("reaper", "sbx-reaper"), ("proxy", "sbx-proxy "), ("redis", "redis-server"),
         ("nginx", "nginx: worker"), ("nginx' master", "nginx: master"))

NAMES = {"sbx-app", "sbx-reaper", "sbx-proxy", "redis-server", "nginx"}


class Process:
    def __init__(self, pid):
        self.pid = pid
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            head, tail = f.read().rsplit(")", 1)
        self.name = head.split("(", 1)[1]
        fields = tail.split()
        self.state, self.parent = fields[0], int(fields[1])
        self.started = int(fields[19])  # ticks: a pid with that is one process
        self.line, self.kind = "", ""
        if self.name in NAMES:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                self.line = f.read().replace(b"\0", b" ").decode(errors="replace")
            self.kind = next((k for k, mark in MARKS if mark in self.line), "")

    def memory(self):
        """KiB that are its own: what a program's file has is the kernel's."""
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            return next(int(x.split()[1]) for x in f if x.startswith("RssAnon"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Box:
    def __init__(self, args):
        self.args, self.base, self.serve = args, args.base, None

    # -- the stack ---------------------------------------------------------------

    def start(self):
        """serve, until it is ready."""
        with open(self.base + "/serve.out", "ab") as out:
            self.serve = subprocess.Popen([self.args.build + "/teploy-sandbox", "serve"],
                                          stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          start_new_session=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(self.args.url + "/health/ready", timeout=5):
                    return True
            except OSError:
                time.sleep(0.1)
        return False

    def stop(self):
        if self.serve and self.serve.poll() is None:
            self.serve.terminate()
            self.serve.wait(90)

    def command(self, *words):
        """Of teploy-sandbox: whether it went well."""
        with open(self.base + "/serve.out", "ab") as out:
            return subprocess.run([self.args.build + "/teploy-sandbox", *words], stdout=out,
                                  stderr=out, check=False).returncode == 0

    def token(self):
        with open(self.base + "/token", encoding="ascii") as f:
            return f.read().split()[0]

    # -- processes -----------------------------------------------------------------

    def processes(self):
        """Those below serve, and proxies, which are nobody's children."""
        everything = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                everything[int(pid)] = Process(int(pid))
            except OSError:
                pass  # it has ended meanwhile
        ours = {self.serve.pid}
        for pid in sorted(everything, key=lambda p: (everything[p].started, p)):
            one = everything[pid]
            if one.parent in ours or (one.kind and self.is_of_stack(one)):
                ours.add(pid)
        return [everything[pid] for pid in ours if pid in everything]

    def is_of_stack(self, process):
        """Also one whose parent was killed."""
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as f:
                return self.base in process.line or self.base.encode() in f.read()
        except OSError:
            return False

    def by_kind(self):
        kinds = collections.defaultdict(list)
        for one in self.processes():
            if one.kind and one.state != "Z":
                kinds[one.kind].append(one)
        return kinds

    def mounts(self):
        with open("/proc/self/mounts", encoding="utf-8") as f:
            return [x.split()[1] for x in f if self.base in x.split()[1]]

    def directories(self):
        return os.listdir(self.base + "/run/runs")

    # -- the engine ----------------------------------------------------------------

    def docker(self, method, path):
        connection = http.client.HTTPConnection("engine", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(60)
        try:
            connection.sock.connect(self.base + "/engine/docker.sock")
            connection.request(method, path)
            data = connection.getresponse().read()
        finally:
            connection.close()
        return json.loads(data) if data else None

    def containers(self):
        """id of run -> container, of those that are runs."""
        found = {}
        for c in self.docker("GET", "/containers/json?all=1"):
            found[c["Labels"].get("teploy.sandbox.run") or c["Names"][0]] = c
        return found

    def engine_pid(self):
        with open(self.base + "/engine/docker.pid", encoding="ascii") as f:
            return int(f.read())

    # -- Redis ---------------------------------------------------------------------

    def redis(self):
        return Redis(self.base + "/run/redis/redis.sock")


class Redis:
    """As much of its protocol as is needed (RESP2)."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def ask(self, *words):
        words = [str(w).encode() for w in words]
        self.socket.sendall(b"*%d\r\n" % len(words) +
                            b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.answer()

    def answer(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis went away")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ConnectionError(rest.decode())
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2].decode()
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        return rest.decode()
