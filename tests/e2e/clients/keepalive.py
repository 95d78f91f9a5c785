"""Many requests on few connections: what is built on requests, as pip is.

    keepalive.py HTTP HTTPS DENIED
"""
import sys

from pip._vendor import requests

http, https, denied = sys.argv[1:]
session = requests.Session()


def get(url, times):
    for _ in range(times):
        answer = session.get(url, timeout=20)
        assert (answer.status_code, answer.text) == (200, "hello\n"), answer.text


def connections(url):
    """How many were made for that URL so far."""
    manager, = session.get_adapter(url).proxy_manager.values()
    return manager.connection_from_url(url).num_connections


get(http + "/hello", 50)
get(https + "/hello", 50)
assert connections(http) == 1, connections(http)
assert connections(https) == 1, connections(https)

# A refusal on the same connection, which it ends.
answer = session.get(denied, timeout=20)
assert answer.status_code == 403 and "egressAllow" in answer.text, answer.text
get(http + "/hello", 5)

sent = bytes(range(256)) * 4096
answer = session.post(http + "/sum", data=iter([sent[:1000], sent[1000:]]), timeout=20)
assert answer.status_code == 200 and len(answer.text) == 65, answer.text
print("kept alive")
