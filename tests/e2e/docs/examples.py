"""Does what a document shows, and looks whether what comes of it is shown, too.

    examples.py DOCUMENT.md

The examples are the indented blocks in which a line begins with "$ ": commands,
each with what it prints below it. They are one session of one shell, from the
top of the document to its end. What NOT_DONE names is left out; a block that
shows something without a command must be named there, too. What is shown stands
for what comes as a reader takes it: see match.py.

The stack is the one that test_docs.c started: environment variables named
DOCS_* say what stands for what in the document. Every HTTP request made by curl
is held against /openapi.json (see schema.py), and with DOCS_ALL every operation
in there must have been asked for.
"""
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile

import match
import schema

DOCUMENT = pathlib.Path(sys.argv[1])
PATIENCE_SEC = 120
PROBLEM = "https://neutron.dev/errors/"

# What cannot be done here, by how it begins, and where it is done instead.
NOT_DONE = {
    "README.md": {
        "your platform ──HTTP": "a picture",
        "apt-get update": "images/newcomer.sh",
        "git clone": "images/newcomer.sh",
        "make serve": "images/newcomer.sh",
        "teploy-sandbox: version": "images/newcomer.sh shows it",
        "sbxctl exec $R -t": "e2e/test_sbxctl has a terminal",
        "sbxctl logs $R": "e2e/test_sbxctl leaves one by a signal",
    },
    "API.md": {},
}

# What the document calls it, and what it is here.
NAMES = {
    "http://127.0.0.1:7439": os.environ["DOCS_URL"],
    "/deployments/sandbox/token": os.environ["DOCS_TOKEN_FILE"],
    "/run/teploy-sandbox": os.environ["DOCS_RUN_DIR"],
    "teploy-busybox": os.environ["DOCS_IMAGE"],
    "debian:12": os.environ["DOCS_IMAGE"],
}

# Each command in the same shell, which is told them one by one.
SHELL = r"""
status() { return $1; }
rc=0
while IFS= read -r -d '' -u "$DOCS_COMMANDS" command; do
    eval "status $rc
$command" </dev/null
    rc=$?
    printf '\0%d\0' $rc
done
"""

# What curl does, and a note of it.
CURL = r"""#!/bin/bash
note=$(mktemp -d "$DOCS_CALLS/XXXXXXXX")
"$DOCS_CURL" "$@" -w '%{stderr}%{method} %{http_code} %{url_effective} %{content_type}' \
    2>"$note/said" | tee "$note/body"
exit "${PIPESTATUS[0]}"
"""


def blocks(text):
    """(number of its first line, lines) of each block, indented or fenced."""
    block, begun, before, fenced = [], 0, "", False
    for number, line in enumerate(text.split("\n") + ["."], 1):
        fence = line.startswith("```")
        inside = line.startswith("    ") and (block or not before.strip())
        if not fence and (fenced or inside or (block and not line.strip())):
            begun = begun if block else number
            block.append(line)
        elif block:
            while not block[-1].strip():
                block.pop()
            margin = min(len(l) - len(l.lstrip()) for l in block if l.strip())
            yield begun, [l[margin:] for l in block]
            block = []
        fenced ^= fence
        before = line


def is_whole(command):
    if command.endswith("\\"):
        return False
    check = subprocess.run(["bash", "-n", "-c", command], capture_output=True)
    return check.returncode == 0


def steps(first, lines):
    """(line number, command, lines shown below it); command None: only shown."""
    number, found = 0, []
    while number < len(lines):
        line, at = lines[number], first + number
        number += 1
        if not line.startswith("$ "):
            if not found:
                return [(at, None, lines)]
            found[-1][2].append(line)
            continue
        command = line[2:]
        while not is_whole(command) and number < len(lines):
            command += "\n" + lines[number]
            number += 1
        found.append((at, command, []))
    return found


class Session:
    def __init__(self, directory):
        calls = directory / "calls"
        (directory / "bin").mkdir()
        (directory / "work").mkdir()
        calls.mkdir()
        curl = directory / "bin" / "curl"
        real = shutil.which("curl")
        curl.write_text(CURL)
        curl.chmod(0o755)
        self.calls = calls
        # redis-cli: as on a terminal.
        reader, self.writer = os.pipe()
        env = dict(os.environ, DOCS_COMMANDS=str(reader), DOCS_CALLS=str(calls), DOCS_CURL=real, FAKETTY="1",
                   PATH=f"{curl.parent}:{os.environ['PATH']}", TERM="dumb")
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-c", SHELL],
            cwd=directory / "work", env=env, pass_fds=[reader],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.close(reader)

    def do(self, command):
        """(exit status, output)"""
        os.write(self.writer, command.encode() + b"\0")
        said = b""
        while not (end := re.search(rb"\0(\d+)\0$", said)):
            more = self.read()
            if not more:
                return None, said.decode("utf-8", "replace")
            said += more
        return int(end[1]), said[:end.start()].decode("utf-8", "replace")

    def read(self):
        ready, _, _ = select.select([self.shell.stdout], [], [], PATIENCE_SEC)
        return os.read(self.shell.stdout.fileno(), 65536) if ready else b""

    def end(self):
        os.close(self.writer)
        try:
            self.shell.wait(5)
        except subprocess.TimeoutExpired:
            self.shell.kill()


def left_out(text, used):
    for start in NOT_DONE[DOCUMENT.name]:
        if text.startswith(start):
            used.add(start)
            return True
    return False


def fault(status, said):
    """Of a command that the document shows no output of."""
    if status != 0 or PROBLEM in said:
        return "it was to be done, whatever it prints"
    return None


def do_examples(session, known):
    """What is wrong, in words; None where nothing is."""
    text = DOCUMENT.read_text()
    for name, here in NAMES.items():
        text = text.replace(name, here)
    used, done = set(), 0
    for first, lines in blocks(text):
        for number, command, shown in steps(first, lines):
            if left_out(command or shown[0].lstrip(), used):
                continue
            where = f"{DOCUMENT.name}:{number}"
            if command is None:
                return f"{where}: no command ('$ ') says where this comes from: {shown[0]}"
            status, said = session.do(known.told(command))
            wrong = match.differs("\n".join(shown), said, known) if shown else \
                fault(status, said)
            if wrong is not None:
                return f"{where}: $ {known.told(command)}\nshown:\n" + \
                    "\n".join(shown) + f"\ncame (status {status}):\n{said}\n{wrong}"
            done += 1
    stale = NOT_DONE[DOCUMENT.name].keys() - used
    if stale:
        return f"NOT_DONE names what is not there: {stale}"
    print(f"{DOCUMENT.name}: {done} commands", flush=True)
    return None


def main():
    with tempfile.TemporaryDirectory(prefix="docs.") as directory:
        session = Session(pathlib.Path(directory))
        wrong = do_examples(session, match.Known())
        session.end()
        if wrong is None:
            wrong = schema.check(session.calls, bool(os.environ.get("DOCS_ALL")))
    if wrong is not None:
        sys.exit(wrong)


main()
