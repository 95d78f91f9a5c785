"""crowd.py COUNT SECONDS: so many connections to 127.0.0.1:3128, and what to
it they send: nothing, half a head, a whole one, noise. Runs in the network
namespace of a run."""

import contextlib
import resource
import socket
import sys
import time

SAID = [b"", b"GET http://127.0.0.1/ HT", b"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example"
        b"\r\n\r\n", b"\x16\x03\x01" * 50, b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20]


def main():
    count, seconds = int(sys.argv[1]), float(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
    held = []
    for i in range(count):
        s = socket.socket()
        s.setblocking(False)
        with contextlib.suppress(BlockingIOError, OSError):
            s.connect(("127.0.0.1", 3128))
        held.append(s)
        with contextlib.suppress(OSError):
            held[i - i % 50].send(SAID[i % len(SAID)])
    for i, s in enumerate(held):
        with contextlib.suppress(OSError):
            s.send(SAID[i % len(SAID)])
    time.sleep(seconds)


main()
