"""What is done to the stack meanwhile: kills, stops, reloads, a full disk, no
memory. Each blow says how long it may be felt."""

import contextlib
import os
import random
import signal
import subprocess
import time

SETTLE = {"worker": 5, "workers' master": 15, "reaper": 2, "proxy": 15, "redis": 12,
          "nginx": 5, "nginx' master": 12}  # s until all is as before, on a busy box
ENGINE = 40


class Chaos:
    def __init__(self, world):
        self.world, self.box = world, world.box
        self.rng = random.Random(world.args.seed)

    def __call__(self):
        """Until the end: rough times, and calm ones in which nothing is excused."""
        blows = [blow for blow, weight in BLOWS for _ in range(weight)]
        while not self.world.over():
            time.sleep(self.rng.choice([1, 3, 8, 15, 35]))
            if not self.world.over():
                self.strike(self.rng.choice(blows))

    def strike(self, blow):
        self.world.count("blow: " + (blow.__doc__ or ""))
        print(f"{time.strftime('%T')} {blow.__doc__}", flush=True)
        try:
            blow(self)
        except OSError as error:  # of this program: a process that has ended, say
            print(f"{time.strftime('%T')} {blow.__doc__}: {error!r}", flush=True)

    def signal(self, kind, what):
        """To one of them; of workers never to the eldest of a pool, so that
        somebody grows old enough to be seen growing."""
        choice = self.box.by_kind()[kind]
        if kind == "worker":
            for pool in ("control", "stream"):
                old = min((p for p in choice if f"--pool {pool}" in p.line),
                          key=lambda p: (p.started, p.pid), default=None)
                choice = [p for p in choice if p is not old]
        if not choice:
            return None
        one = self.rng.choice(choice)
        print(f"{time.strftime('%T')}   {kind} {one.pid} {signal.Signals(what).name}", flush=True)
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, what)
        return one.pid

    # -- kills -------------------------------------------------------------------

    def kill(self, kind):
        self.world.feel(SETTLE[kind])
        self.signal(kind, signal.SIGKILL)
        self.world.feel(SETTLE[kind])

    def kill_worker(self):
        """a worker killed"""
        self.kill("worker")

    def kill_reaper(self):
        """the reaper killed"""
        self.kill("reaper")

    def kill_proxy(self):
        """a proxy killed"""
        self.kill("proxy")

    def kill_redis(self):
        """Redis killed"""
        self.kill("redis")

    def kill_nginx(self):
        """an nginx worker killed"""
        self.kill("nginx")

    def kill_master(self):
        """a master killed"""
        self.kill(self.rng.choice(["workers' master", "nginx' master"]))

    def kill_some(self):
        """several killed at once"""
        for kind in self.rng.sample(list(SETTLE), 4):
            self.kill(kind)

    def kill_serve(self):
        """serve killed, and started again"""
        self.world.feel(60)
        with self.world.outage():
            self.box.serve.kill()
            self.box.serve.wait()
            if not self.box.start():
                self.world.fault("serve does not start again")
        self.world.feel(10)

    def kill_engine(self):
        """the engine killed"""
        self.world.feel_engine(ENGINE)
        with self.world.outage():
            os.kill(self.box.engine_pid(), signal.SIGKILL)
            time.sleep(self.rng.uniform(0, 5))
            subprocess.run([self.world.args.engine, "resume", self.box.base + "/engine"],
                           check=False)
            self.world.feel_engine(ENGINE)
            time.sleep(20)  # runs that ended with it are seen to

    # -- stops -------------------------------------------------------------------

    def stop(self, kind, seconds):
        self.world.feel(seconds + SETTLE[kind])
        with self.world.outage():
            pid = self.signal(kind, signal.SIGSTOP)
            time.sleep(seconds)
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        self.world.feel(SETTLE[kind])

    def stop_worker(self):
        """a worker stopped for a while"""
        self.stop("worker", self.rng.uniform(2, 30))  # beyond its marks, too

    def stop_other(self):
        """Redis, the reaper, a proxy or nginx stopped for a while"""
        self.stop(self.rng.choice(["redis", "reaper", "proxy", "nginx"]),
                  self.rng.uniform(2, 8))

    def stop_engine(self):
        """the engine stopped for a while"""
        seconds = self.rng.uniform(2, 12)
        self.world.feel(seconds + 15)
        with self.world.outage():
            pid = self.box.engine_pid()
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
        self.world.feel(15)

    # -- what an operator does -------------------------------------------------------

    def reload_workers(self):
        """workers replaced"""
        self.signal("workers' master", signal.SIGHUP)
        self.world.feel(15)  # what does not end in the drain is cut

    def reload_nginx(self):
        """nginx reloaded"""
        self.signal("nginx' master", signal.SIGHUP)

    def rotate(self):
        """tokens rotated"""
        if not self.box.command("token", "rotate"):
            raise OSError("no rotation")
        time.sleep(1)
        self.world.token = self.box.token()
        time.sleep(self.rng.uniform(1, 3))
        self.box.command("token", "drop-old")

    # -- what a box runs out of ------------------------------------------------------

    def fill(self, directory, seconds):
        """All that is free there, by one file."""
        name = directory + "/filled"
        with contextlib.suppress(OSError), open(name, "wb") as f:
            for size in (1 << 30, 1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while True:
                        os.posix_fallocate(f.fileno(), os.fstat(f.fileno()).st_size, size)
        time.sleep(seconds)
        os.unlink(name)

    def full_disk(self):
        """the disk full"""
        self.world.feel(60)
        with self.world.outage():
            self.fill(self.box.base, self.rng.uniform(3, 15))
            self.world.feel(20)
            time.sleep(15)

    def full_run_dir(self):
        """RUN_DIR full"""
        self.world.feel(60)
        with self.world.outage():
            self.fill(self.box.base + "/run", self.rng.uniform(3, 15))
        self.world.feel(10)

    def no_memory(self):
        """no memory left for the stack"""
        own = "/sys/fs/cgroup/memory" + self.own_cgroup()
        cgroup = f"{own}/sbx-soak-{os.getpid()}"
        ours = [p for p in self.box.processes() if p.kind]
        self.world.feel(60)
        with self.world.outage():
            os.makedirs(cgroup, exist_ok=True)
            with open(cgroup + "/memory.limit_in_bytes", "w", encoding="ascii") as f:
                f.write(str(self.rng.choice([2, 8, 16]) << 20))
            self.move(ours, cgroup)
            time.sleep(self.rng.uniform(3, 10))
            self.move([p for p in self.box.processes() if p.kind], own)
            os.rmdir(cgroup)
        self.world.feel(20)

    @staticmethod
    def own_cgroup():
        with open("/proc/self/cgroup", encoding="ascii") as f:
            return next((x.strip().split(":", 2)[2].rstrip("/") for x in f
                         if ":memory:" in x), "")

    @staticmethod
    def move(processes, cgroup):
        for one in processes:
            with contextlib.suppress(OSError), \
                    open(cgroup + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(one.pid))


BLOWS = [(Chaos.kill_worker, 4), (Chaos.kill_reaper, 2), (Chaos.kill_proxy, 3),
         (Chaos.kill_redis, 2), (Chaos.kill_nginx, 2), (Chaos.kill_master, 1),
         (Chaos.kill_some, 2), (Chaos.kill_serve, 1), (Chaos.kill_engine, 2),
         (Chaos.stop_worker, 2), (Chaos.stop_other, 2), (Chaos.stop_engine, 1),
         (Chaos.reload_workers, 1), (Chaos.reload_nginx, 2), (Chaos.rotate, 2),
         (Chaos.full_disk, 2), (Chaos.full_run_dir, 1), (Chaos.no_memory, 2)]
