"""A WebSocket handshake and echoes, through the proxy of the environment.

    websocket.py HOST PORT          GET http://HOST:PORT/socket with Upgrade
    websocket.py HOST PORT CA.PEM   the same in TLS, after CONNECT
"""
import os
import socket
import ssl
import sys
import urllib.parse

host, port = sys.argv[1], sys.argv[2]
proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
s = socket.create_connection((proxy.hostname, proxy.port), timeout=20)


def head():
    """Up to the empty line, and no byte more."""
    text = b""
    while not text.endswith(b"\r\n\r\n"):
        byte = s.recv(1)
        assert byte, text
        text += byte
    return text.decode()


def take(size):
    text = b""
    while len(text) < size:
        part = s.recv(size - len(text))
        assert part, "it was cut"
        text += part
    return text


target = f"http://{host}:{port}/socket"
if len(sys.argv) > 3:
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    answer = head()
    assert answer.startswith("HTTP/1.1 200"), answer
    s = ssl.create_default_context(cafile=sys.argv[3]).wrap_socket(s, server_hostname=host)
    target = "/socket"
s.sendall((f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
           "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
answer = head()
assert answer.startswith("HTTP/1.1 101"), answer
# RFC 6455 1.3 has this very key.
assert "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in answer, answer

# One short text, one binary message of 70000 bytes; masked with zeros.
s.sendall(b"\x81\x85\0\0\0\0hello")
assert take(7) == b"\x81\x05hello"
large = os.urandom(70000)
s.sendall(b"\x82\xff" + len(large).to_bytes(8, "big") + b"\0\0\0\0" + large)
assert take(10)[2:] == len(large).to_bytes(8, "big") and take(len(large)) == large
s.sendall(b"\x88\x80\0\0\0\0")
assert take(2) == b"\x88\x00"
assert s.recv(1) == b"", "it was to close"
print("echoed")
