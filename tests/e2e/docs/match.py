"""Whether what came is what a document shows.

Ids, times, hashes, sizes and large numbers are not the same twice: one stands
for any other of its kind, and an id, once seen, for itself from there on. The
name of the box is any. An ellipsis stands for whatever is there: in a line, in a
string, for members, for elements; alone in a line, for lines. White space is as
wide as it likes, blank lines do not count, and JSON may be written in any way.
"""
import json
import re

KINDS = [
    ("ulid", r"\b(?:[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-7][0-9a-hjkmnp-tv-z]{25})\b"),
    ("time", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    ("hash", r"\b[0-9a-f]{64}\b"),
    ("size", r"\b\d+(?:\.\d+)? (?:B|[KMG]iB)(?!\w)"),
    ("span", r"\b\d+[smhd]\b"),
    ("large", r"\b\d{5,}\b"),
    ("any", "…"),
    ("space", r"\s+"),
]
TOKEN = re.compile("|".join(f"(?P<{kind}>{rule})" for kind, rule in KINDS))
ANY_LINES = "…"


class Known:
    """Which id of the document is which here."""

    def __init__(self):
        self.ids = {}

    def pattern(self, text):
        """A regular expression for a shown text, and the ids it binds."""
        rule, ids, at = "", [], 0
        for token in TOKEN.finditer(text):
            rule += re.escape(text[at:token.start()])
            at = token.end()
            rule += self.token(token, ids)
        return re.compile(rule + re.escape(text[at:]), re.S), ids

    def token(self, token, ids):
        kind, word = token.lastgroup, token[0]
        if kind == "any":
            return ".*"
        if kind == "space":
            return r"\s+"
        if kind != "ulid":
            return dict(KINDS)[kind]
        if self.here(word) is None:
            ids.append(word.upper())
            return f"({dict(KINDS)['ulid']})"
        return self.here(word)

    def same(self, shown, came):
        rule, ids = self.pattern(shown)
        found = rule.fullmatch(came)
        if found:
            self.ids.update(zip(ids, (i.upper() for i in found.groups())))
        return bool(found)

    def told(self, command):
        """The command with the ids that are meant."""
        return re.sub(dict(KINDS)["ulid"], lambda id: self.here(id[0]) or id[0], command)

    def here(self, word):
        """The id that a shown one stands for, in the same case; None yet."""
        id = self.ids.get(word.upper())
        return id.lower() if id and not word.isupper() else id


def with_members(text):
    """JSON in which … stands anywhere, as JSON."""
    out, string, nest = "", False, []
    for i, c in enumerate(text):
        if c == '"' and (i == 0 or text[i - 1] != "\\"):
            string = not string
        elif not string and c in "[{":
            nest.append(c)
        elif not string and c in "]}" and nest:
            nest.pop()
        elif not string and c == "…":
            value = not nest or nest[-1] == "[" or out.rstrip()[-1:] == ":"
            c = '"…"' if value else '"…":0'
        out += c
    return out


def documents(text):
    """The JSON documents that a text consists of; None where it is no such."""
    found, decoder = [], json.JSONDecoder()
    text = text.strip()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except ValueError:
            return None
        found.append(value)
        text = text[end:].lstrip()
    return found or None


def same_list(shown, came, known):
    if not shown:
        return not came
    if shown[0] == "…":
        return any(same_list(shown[1:], came[i:], known) for i in range(len(came) + 1))
    return bool(came) and same(shown[0], came[0], known) and \
        same_list(shown[1:], came[1:], known)


def same_object(shown, came, known):
    open_ended = "…" in shown
    members = {k: v for k, v in shown.items() if k != "…"}
    return (open_ended or came.keys() <= members.keys()) and all(
        k in came and (k == "server" or same(v, came[k], known))
        for k, v in members.items())


def same(shown, came, known):
    if shown == "…":
        return True
    if isinstance(shown, bool) or type(shown) is not type(came):
        return shown is came
    if isinstance(shown, str):
        return known.same(shown, came)
    if isinstance(shown, list):
        return same_list(shown, came, known)
    if isinstance(shown, dict):
        return same_object(shown, came, known)
    return shown == came or shown >= 10000


def same_line(shown, came, known):
    """A line may have words before its JSON: "data: {…}"."""
    head, brace, rest = shown.partition("{")
    json_shown = documents(with_members(brace + rest)) if brace else None
    if json_shown is not None and came.startswith(head):
        json_came = documents(came[len(head):])
        return json_came is not None and same_list(json_shown, json_came, known)
    return known.same(shown, came)


def same_lines(shown, came, known):
    if not shown:
        return not came
    if shown[0] == ANY_LINES:
        return any(same_lines(shown[1:], came[i:], known) for i in range(len(came) + 1))
    return bool(came) and same_line(shown[0], came[0], known) and \
        same_lines(shown[1:], came[1:], known)


def lines_of(text):
    return [line.rstrip() for line in text.split("\n")
            if line.strip() and line != ": keep-alive"]


def differs(shown, came, known):
    """What is wrong; None where came is what is shown."""
    json_shown, json_came = documents(with_members(shown)), documents(came)
    if json_shown is not None and json_came is not None:
        fits = same_list(json_shown, json_came, known)
    else:
        fits = same_lines(lines_of(shown), lines_of(came), known)
    return None if fits else "that is not what is shown"
