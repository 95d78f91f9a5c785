"""Whether what was asked and answered is what /openapi.json says."""
import json
import os
import re
import subprocess
from urllib.parse import unquote, urlsplit

TYPES = {"object": dict, "array": list, "string": str, "integer": int,
         "number": (int, float), "boolean": bool}


class Document:
    def __init__(self, url, token):
        text = subprocess.check_output(
            ["curl", "-sS", "-H", f"Authorization: Bearer {token}", url + "/openapi.json"])
        self.all = json.loads(text)
        self.asked = set()

    def resolved(self, node):
        while "$ref" in node:
            at = self.all
            for part in node["$ref"][2:].split("/"):
                at = at[part]
            node = at
        return node

    def operation(self, method, path):
        """Longer templates first: {id}/files before {id}."""
        for template, methods in sorted(self.all["paths"].items(),
                                        key=lambda t: t[0].count("{")):
            rule = re.sub(r"\\{(path|repo)\\}", ".+", re.escape(template))
            rule = re.sub(r"\\{\w+\\}", "[^/]+", rule)
            if re.fullmatch(rule, path) and method in methods:
                self.asked.add((method, template))
                return methods[method]
        return None

    def misfit(self, node, value, at):
        """What of the value the schema does not say."""
        node = self.resolved(node)
        if "anyOf" in node:
            wrongs = [self.misfit(part, value, at) for part in node["anyOf"]]
            return None if None in wrongs else wrongs[-1]
        if "const" in node and value != node["const"]:
            return f"{at} is {value!r}, not {node['const']!r}"
        if "enum" in node and value not in node["enum"]:
            return f"{at} is {value!r}, none of {node['enum']}"
        kind = node.get("type")
        if kind and not isinstance(value, TYPES[kind]):
            return f"{at} is no {kind}"
        missing = set(node.get("required", [])) - (value.keys() if kind == "object" else set())
        if kind == "object" and missing:
            return f"{at} lacks {missing}"
        for i, item in enumerate(value if kind == "array" else []):
            if wrong := self.misfit(node.get("items", {}), item, f"{at}[{i}]"):
                return wrong
        return self.misfit_members(node, value, at) if "properties" in node else None

    def misfit_members(self, node, value, at):
        for name, member in value.items():
            if name not in node["properties"] and not node.get("additionalProperties"):
                return f"{at} has {name}, which the document does not know"
            if wrong := self.misfit(node["properties"].get(name, {}), member, f"{at}.{name}"):
                return wrong
        return None

    def check(self, method, path, status, kind, body):
        if body.startswith(b"HTTP/"):
            body = body.partition(b"\r\n\r\n")[2]
        operation = self.operation(method.lower(), path)
        if operation is None:
            return None if status == "404" else "no such operation"
        answers = operation["responses"]
        if status not in answers and int(status) < 400:
            return f"no {status} is described"
        answer = self.resolved(answers.get(status) or answers["default"])
        content = answer.get("content", {})
        if not body:
            return None
        if kind not in content and "*/*" not in content:
            return f"{status} with {kind} is not described, but {list(content)}"
        if not kind.endswith(("/json", "+json")):
            return None
        return self.misfit(content[kind].get("schema", {}), json.loads(body), "the answer")


def check(calls, all_of_it):
    """calls: what curl's stand-in noted. What is wrong; None for nothing."""
    url = os.environ["DOCS_URL"]
    with open(os.environ["DOCS_TOKEN_FILE"]) as file:
        document = Document(url, file.readline().strip())
    wrongs = set()
    for note in calls.iterdir():
        said = (note / "said").read_text().split(" ", 3)
        if len(said) < 4 or not said[2].startswith(url):
            continue
        method, status, whole, kind = said
        path = unquote(urlsplit(whole).path)
        wrong = document.check(method, path, status, kind.partition(";")[0],
                               (note / "body").read_bytes())
        if wrong:
            wrongs.add(f"{method} {path}: /openapi.json: {wrong}")
    every = {(m, p) for p, methods in document.all["paths"].items() for m in methods}
    if all_of_it:
        wrongs |= {f"{m.upper()} {p}: has no example" for m, p in every - document.asked}
    return "\n".join(sorted(wrongs)) or None
