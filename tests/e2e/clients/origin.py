"""What the clients of test_egress_clients.c talk to, on this box's loopback.

    origin.py DIR

Serves the same over HTTP and HTTPS: plain files, uploads, a Git repository
(git-http-backend), a Python index, a Debian repository, a WebSocket that
echoes. A name server says that every name below .test is at 127.0.0.1, but for
missing.test. DIR gets ca.pem, resolv.conf (for SBX_EGRESS_RESOLV), and
queries, the names that were asked for. Tells its ports on standard output once
it serves, and ends when its standard input does.
"""
import base64
import hashlib
import http.server
import os
import pathlib
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import zipfile

TOP = pathlib.Path(sys.argv[1])
WWW = TOP / "www"
NAMES = ["www.test", "git.test", "index.test", "mirror.test", "socket.test"]


def run(*argv, cwd=None):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(TOP),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@www.test",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@www.test",
    }
    subprocess.run(argv, check=True, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


# -- what there is to fetch ----------------------------------------------------
def make_certificates():
    """A CA, and a certificate of its for all the names."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=CA of a test", "-keyout", TOP / "ca.key", "-out", TOP / "ca.pem",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    run("openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=www.test",
        "-keyout", TOP / "key.pem", "-out", TOP / "request.pem")
    names = ",".join("DNS:" + name for name in NAMES)
    (TOP / "names").write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    run("openssl", "x509", "-req", "-in", TOP / "request.pem", "-days", "2", "-CA", TOP / "ca.pem",
        "-CAkey", TOP / "ca.key", "-set_serial", "1", "-extfile", TOP / "names",
        "-out", TOP / "cert.pem")


def make_files():
    WWW.mkdir()
    (WWW / "hello").write_text("hello\n")
    (WWW / "large").write_bytes(os.urandom(8 << 20))


def make_repository():
    """One commit, and whoever likes may push."""
    work = TOP / "work"
    run("git", "init", "-q", "-b", "main", work)
    (work / "README").write_text("cloned\n")
    run("git", "add", ".", cwd=work)
    run("git", "commit", "-q", "-m", "first", cwd=work)
    run("git", "clone", "-q", "--bare", work, WWW / "project.git")
    run("git", "config", "http.receivepack", "true", cwd=WWW / "project.git")


def make_index():
    """The simple repository API (PEP 503) with one wheel."""
    index = WWW / "simple" / "sbx-hello"
    index.mkdir(parents=True)
    wheel = "sbx_hello-1.0-py3-none-any.whl"
    with zipfile.ZipFile(index / wheel, "w") as z:
        info = "sbx_hello-1.0.dist-info/"
        z.writestr("sbx_hello.py", "print('installed by pip')\n")
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: sbx-hello\nVersion: 1.0\n")
        z.writestr(info + "WHEEL",
                   "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "RECORD", f"sbx_hello.py,,\n{info}METADATA,,\n{info}WHEEL,,\n{info}RECORD,,\n")
    (index / "index.html").write_text(f'<!DOCTYPE html><a href="{wheel}">{wheel}</a>\n')


def make_mirror():
    """A flat Debian repository with one package."""
    mirror, tree = WWW / "debian", TOP / "package"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "usr/bin").mkdir(parents=True)
    mirror.mkdir()
    control = ("Package: sbx-hello\nVersion: 1.0\nArchitecture: all\n"
               "Maintainer: a <a@mirror.test>\nDescription: says hello\n")
    (tree / "DEBIAN/control").write_text(control)
    program = tree / "usr/bin/sbx-hello"
    program.write_text("#!/bin/sh\necho installed by apt\n")
    program.chmod(0o755)
    deb = mirror / "sbx-hello.deb"
    run("dpkg-deb", "--build", "--root-owner-group", tree, deb)
    body = deb.read_bytes()
    packages = (f"{control}Filename: ./sbx-hello.deb\nSize: {len(body)}\n"
                f"SHA256: {hashlib.sha256(body).hexdigest()}\n").encode()
    (mirror / "Packages").write_bytes(packages)
    (mirror / "Release").write_text(
        "Date: Thu, 01 Jan 2026 00:00:00 UTC\nSHA256:\n"
        f" {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages\n")


# -- HTTP ------------------------------------------------------------------------
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        return b"".join(parts)

    def answer(self, status, body, fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.partition("?")[0]
        file = WWW / path.lstrip("/")
        if path.startswith("/project.git/"):
            self.git()
        elif path == "/socket":
            self.websocket()
        elif path == "/away":
            self.answer(302, b"", [("Location", self.headers.get("X-To", ""))])
        elif file.is_dir() and (file / "index.html").exists():
            self.answer(200, (file / "index.html").read_bytes(), [("Content-Type", "text/html")])
        elif file.is_file():
            self.answer(200, file.read_bytes())
        else:
            self.answer(404, b"there is no such thing\n")

    do_HEAD = do_GET

    def do_POST(self):
        if self.path.startswith("/project.git/"):
            self.git()
        else:
            self.answer(200, hashlib.sha256(self.body()).hexdigest().encode() + b"\n")

    do_PUT = do_POST

    def git(self):
        """RFC 3875, as far as git-http-backend(1) needs it."""
        path, _, query = self.path.partition("?")
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(WWW), "GIT_HTTP_EXPORT_ALL": "1",
            "HOME": str(TOP), "REQUEST_METHOD": self.command, "PATH_INFO": path,
            "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        body = self.body()
        env["CONTENT_LENGTH"] = str(len(body))
        done = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE)
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((int(v[:3]) for k, v in fields if k == "Status"), 200)
        self.answer(status, rest, [(k, v) for k, v in fields if k != "Status"])

    def websocket(self):
        """RFC 6455: frames come back unmasked, until one that closes."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept",
                         base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while head := self.rfile.read(2):
            size = head[1] & 127
            wide = self.rfile.read({126: 2, 127: 8}.get(size, 0))
            if wide:
                size = int.from_bytes(wide, "big")
            mask = self.rfile.read(4) * (size // 4 + 1)
            text = bytes(a ^ b for a, b in zip(self.rfile.read(size), mask))
            self.wfile.write(bytes([head[0], head[1] & 127]) + wide + text)
            if head[0] & 15 == 8:
                break


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # a client that left


def serve(address, tls=None):
    server = Server((address, 0), Handler)
    if tls:
        # The handshake is the connection's thread's business.
        server.socket = tls.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


# -- names -----------------------------------------------------------------------
class Names(socketserver.BaseRequestHandler):
    def handle(self):
        """RFC 1035: an A record for what is below .test, nothing else."""
        query, sock = self.request
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = struct.unpack(">H", query[at + 1:at + 3])[0]
        name = ".".join(labels).lower()
        with open(TOP / "queries", "a") as log:
            log.write(name + "\n")
        known = name.endswith(".test") and name != "missing.test"
        records = b""
        if known and kind == 1:
            records = struct.pack(">HHHIH4B", 0xC00C, 1, 1, 60, 4, 127, 0, 0, 1)
        head = query[:2] + struct.pack(">HHHHH", 0x8580 if known else 0x8583, 1,
                                       1 if records else 0, 0, 0)
        sock.sendto(head + query[12:at + 5] + records, self.client_address)


def serve_names():
    server = socketserver.ThreadingUDPServer(("127.0.0.1", 0), Names)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (TOP / "queries").touch()
    (TOP / "resolv.conf").write_text(f"nameserver 127.0.0.1:{server.server_address[1]}\n")


def main():
    make_certificates()
    make_files()
    make_repository()
    make_index()
    make_mirror()
    serve_names()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(TOP / "cert.pem", TOP / "key.pem")
    refused = socket.socket()
    refused.bind(("127.0.0.1", 0))  # taken, and nobody listens
    print(serve("127.0.0.1"), serve("127.0.0.1", tls), serve("0.0.0.0"),
          refused.getsockname()[1], flush=True)
    sys.stdin.read()
    os._exit(0)


main()
