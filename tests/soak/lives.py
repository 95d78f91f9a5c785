"""Stories with a run of their own, from its making to its end."""

import datetime
import os
import signal
import threading
import time

from world import Down, IMAGE

EXPIRED_LATE = 60  # s, of a whole stack, that a run may outlive its deadline


def whole_life(client, rng):
    """Make, use, extend, look, destroy; nothing answers afterwards."""
    with client.one(network=rng.choice(["none", "none", "allowlist"]),
                    env={"WHO": "soak"}, labels={"story": "life"},
                    init={"cmd": "echo made >made"}) as run:
        code, out = client.execute(run, "cat made; echo $WHO; exit 3")
        if (code, out) != (3, "made\nsoak\n"):
            client.fault(f"exec said {code} {out!r}")
        client.call("POST", f"/v1/runs/{run}/extend", {"ttlSec": 4000})
        shown = client.call("GET", f"/v1/runs/{run}")
        if shown["state"] != "running":
            client.fault(f"{run} is {shown}")
    client.call("GET", f"/v1/runs/{run}", ok=(404,))


def keyed(client, rng):
    """However often it is asked for, a run of one key is one run."""
    mark = f"k{rng.randrange(10**9)}"
    body = {"image": IMAGE, "labels": {"mark": mark}, "limits": {"memoryMb": 64},
            "ttlSec": 900}
    found = None
    for _ in range(60):
        try:
            found = client.call("POST", "/v1/runs", body, headers={"Idempotency-Key": mark},
                                ok=(200, 201))["id"]
            break
        except Down:
            time.sleep(0.5)
    if found is None:
        client.fault(f"no run of the key {mark} in 60 tries")
        return
    try:
        again = client.call("POST", "/v1/runs", body, headers={"Idempotency-Key": mark})["id"]
        same = client.call("GET", f"/v1/runs?label=mark:{mark}")["runs"]
        # One whose making failed may be on its way out.
        stay = [r["id"] for r in same if r["state"] != "destroying"]
        if again != found or stay != [found]:
            client.fault(f"of one key: {found}, {again}, {stay}")
    finally:
        client.end(found)
    client.call("POST", "/v1/runs", body, headers={"Idempotency-Key": mark}, ok=(410,))


def away(client, rng):
    """Who leaves while a run is made has none, unless that was just made."""
    mark = f"a{rng.randrange(10**9)}"
    body = (f'{{"image":"{IMAGE}","ttlSec":600,"limits":{{"memoryMb":64}},'
            f'"labels":{{"mark":"{mark}"}},"network":"allowlist"}}').encode()
    client.cut("POST", "/v1/runs", body, len(body), rng.uniform(0.01, 0.7))
    time.sleep(5)
    for run in client.call("GET", f"/v1/runs?label=mark:{mark}")["runs"]:
        client.world.count("away, and a run was made")
        client.end(run["id"])


def expire(client, rng):
    """A run ends at its deadline, not before and not much after, busy or not."""
    ttl = rng.randrange(3, 15)
    run = client.make(ttl=ttl)
    shown = client.call("GET", f"/v1/runs/{run}", codes=("run_not_found",))
    if "id" not in shown:
        return  # its making took longer
    left = datetime.datetime.fromisoformat(shown["expiresAt"]).timestamp() - time.time()
    deadline = time.monotonic() + left
    if rng.random() < 0.5:
        client.call("POST", f"/v1/runs/{run}/exec",
                    {"cmd": "trap '' TERM; while :; do sleep 1; done", "detach": True},
                    ok=(202,), codes=("run_not_found", "run_not_running", "run_exhausted"))
    health = None  # the monitor's clock when the deadline had passed
    while True:
        asked = time.monotonic()
        try:
            if not _there(client, run):
                break
        except Down:
            pass
        if health is None and asked > deadline:
            health = client.world.healthy
        if health is not None and client.world.healthy > health + EXPIRED_LATE:
            client.fault(f"{run} outlives its deadline by {EXPIRED_LATE} s")
            client.end(run)
            return
        time.sleep(0.5)
    if asked < deadline - 1:
        client.fault(f"{run} is gone {deadline - asked:.1f} s before its deadline")


def _there(client, run):
    return "id" in client.call("GET", f"/v1/runs/{run}", codes=("run_not_found",))


def kept_alive(client, rng):
    """With autoExtend a command keeps its run alive beyond its first deadline."""
    made = time.monotonic()
    run = client.make(ttl=25, autoExtend=True)
    try:
        if time.monotonic() > made + 20:
            return  # it is hardly there any more
        code, out = client.execute(run, "sleep 30; echo still here", timeoutSec=60)
        if (code, out) != (0, "still here\n"):
            client.fault(f"in {run}, which extends itself: {code} {out!r}")
    finally:
        client.end(run)


def murdered(client, rng):
    """PID 1 killed from outside: the run has exited, its files can be read."""
    with client.one() as run:
        client.call("PUT", f"/v1/runs/{run}/files/last", b"word")
        with client.world.lock:
            client.world.runs.pop(run, None)  # it may end now
        box = client.world.box
        pid = box.docker("GET", f"/containers/teploy-sbx-{run.lower()}/json")["State"]["Pid"]
        if pid > 0:  # 0 is all of us
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 40
        while client.call("GET", f"/v1/runs/{run}")["state"] != "exited":
            if time.monotonic() > deadline:
                client.fault(f"{run} lost its PID 1 and is not exited", deadline - 40)
                return
            time.sleep(0.3)
        if client.call("GET", f"/v1/runs/{run}/files/last") != b"word":
            client.fault(f"{run} has exited and its file is another one")


# -- copies ---------------------------------------------------------------------

def snapshot(client, rng):
    """A snapshot boots with what was written; one whose client left is none."""
    images = []
    with client.one() as run:
        word = f"{rng.random()}"
        client.execute(run, f"echo {word} >/root/word; head -c 4000000 /dev/zero >/root/more")
        try:
            if rng.random() < 0.4:
                client.cut("POST", f"/v1/runs/{run}/snapshot", b"", 0, rng.uniform(0.01, 1))
                client.execute(run, "true")
            image = client.call("POST", f"/v1/runs/{run}/snapshot", codes=("conflict",))
            if "image" not in image:
                return  # the one that was cut is on its way yet
            images.append(image["image"])
            with client.one(image=image["image"]) as second:
                _, out = client.execute(second, "cat /root/word")
                if out.strip() != word:
                    client.fault(f"snapshot: {out!r} is not {word!r}")
        finally:
            _drop_snapshots(client, run)


def _drop_snapshots(client, run):
    """Also where a run was made of one, whose maker got no answer."""
    for _ in range(30):
        try:
            mine = [s["image"] for s in client.call("GET", "/v1/snapshots")["snapshots"]
                    if s["run"] == run]
            kept = [image for image in mine if client.call(
                "DELETE", f"/v1/snapshots?image={image}", ok=(204, 404), codes=("conflict",))]
            if not kept:
                return
        except Down:
            pass
        time.sleep(1)


def warm(client, rng):
    """Every template is of one piece: all its files carry one stamp."""
    repo = f"soak/repo{rng.randrange(3)}"
    with client.one(warm={"repo": repo}) as run:
        _, out = client.execute(run, "cat s* 2>/dev/null | sort -u | wc -l")
        if out.strip() not in ("0", "1"):
            client.fault(f"a template of {out.strip()} stamps")
        client.execute(run, f"echo {rng.random()} >s; "
                            "for i in 1 2 3 4 5 6 7 8; do cp s s$i; done; rm s")
        client.call("GET", f"/v1/runs/{run}/warm")
        if rng.random() < 0.2:
            client.cut("POST", f"/v1/runs/{run}/warm-commit", b"", 0, rng.uniform(0.001, 0.2))
        client.call("POST", f"/v1/runs/{run}/warm-commit", {}, codes=("conflict",))
        client.call("GET", f"/v1/warmcache/{repo}", codes=("not_found",))
        if rng.random() < 0.2:
            client.call("DELETE", f"/v1/warmcache/{repo}", codes=("not_found", "conflict"))


def pull(client, rng):
    """An image that is not here is pulled; who leaves meanwhile has no run."""
    image = client.world.args.pulled
    if rng.random() < 0.5:
        body = f'{{"image":"{image}","ttlSec":600,"limits":{{"memoryMb":64}}}}'.encode()
        client.cut("POST", "/v1/runs", body, len(body), rng.uniform(0.01, 1))
        time.sleep(1)
    else:
        with client.one(image=image) as run:
            client.execute(run, "true")
    try:
        client.world.box.docker("DELETE", f"/images/{image}")  # or it is in use
    except (OSError, ValueError):
        pass
    time.sleep(rng.uniform(0, 3))


# -- a lease ----------------------------------------------------------------------

HELD = """if p=$(cat held 2>/dev/null) && [ "$p" ] && s=$(cat /proc/$p/stat 2>/dev/null); then
	case $s in *") Z "*|*") X "*) ;; *) echo "beside $p: $s" ;; esac
fi
echo $$ >held; sleep 0.%d; [ "$(cat held)" = $$ ] || echo "beside $(cat held)"; rm -f held"""


class Lease:
    """Some who want one run: commands of two generations are never there at
    once, generations only rise, and what was superseded is refused."""

    def __init__(self):
        self.highest = {}
        self.lock = threading.Lock()

    def __call__(self, client, rng, run):
        me = str(threading.get_ident())
        force = rng.random() < 0.1
        before = self.highest.get(run, 0)
        answer = client.call("POST", f"/v1/runs/{run}/lease",
                             {"owner": me, "ttlSec": rng.choice([1, 5, 30]), "force": force,
                              "waitSec": rng.randrange(1, 6)},
                             codes=("lease_held", "run_busy", "lease_pending"))
        if "lease" not in answer:
            return
        generation = answer["lease"]["generation"]
        with self.lock:
            self.highest[run] = max(self.highest.get(run, 0), generation)
        if generation <= before:
            client.fault(f"generation {generation} after {before} in {run}")
        credential = {"owner": me, "generation": generation}
        self.hold(client, rng, run, credential)
        client.call("POST", f"/v1/runs/{run}/lease/release", credential,
                    codes=("lease_superseded",))

    def hold(self, client, rng, run, credential):
        body = {"cmd": HELD % rng.choice([1, 1, 1, 9]), **credential}
        for event in client.events("POST", f"/v1/runs/{run}/exec", body,
                                   codes=("lease_superseded", "lease_held", "lease_pending")):
            if event["event"] == "stdout":
                client.fault(f"overlap in {run}, generation {credential['generation']}: "
                             f"{event['data']}")
        client.call("POST", f"/v1/runs/{run}/lease/renew", {**credential, "ttlSec": 30},
                    codes=("lease_superseded",))
        client.call("POST", f"/v1/runs/{run}/extend", {**credential, "ttlSec": 3600},
                    codes=("lease_superseded", "lease_held", "lease_pending"))


lease = Lease()
lease.__name__ = "lease"
