"""What can be reached from here without the proxy: nothing, so no line.

    reach.py ADDRESS:PORT...
"""
import os
import pathlib
import socket
import sys


def tcp(address, port):
    try:
        socket.create_connection((address, port), timeout=3).close()
    except OSError:
        return
    print(f"{address} port {port} answers")


def names(address):
    """One DNS query for www.test."""
    query = b"\1\2\1\0\0\1\0\0\0\0\0\0\3www\4test\0\0\1\0\1"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        try:
            s.sendto(query, (address, 53))
            s.recv(512)
        except OSError:
            return
    print(f"{address} resolves names")


for name in os.listdir("/sys/class/net"):
    if name != "lo":
        print(f"there is an interface {name}")
for line in pathlib.Path("/proc/net/route").read_text().splitlines()[1:]:
    print(f"there is a route: {line}")
for line in pathlib.Path("/proc/net/ipv6_route").read_text().splitlines():
    if not line.endswith(" lo"):
        print(f"there is a route: {line}")
for argument in sys.argv[1:]:
    address, port = argument.rsplit(":", 1)
    tcp(address, int(port))
servers = [line.split()[1] for line in pathlib.Path("/etc/resolv.conf").read_text().splitlines()
           if line.startswith("nameserver ")]
for address in {*servers, "127.0.0.1", "127.0.0.11", "127.0.0.53", "192.0.2.53"}:
    names(address)
for name in ("www.test", "denied.test", "host.docker.internal"):
    try:
        print(f"{name} is {socket.getaddrinfo(name, 80)}")
    except OSError:
        pass
