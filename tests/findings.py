#!/usr/bin/env python3
"""Findings as JSON (docs/reference/findings.md), checked against the schema.

    findings.py GORDIAN          every command that needs no server, and the examples of the document
    findings.py --check FILE...  the lines of files
"""
import json
import os
import re
import subprocess
import sys
import tempfile

REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "reference")
with open(os.path.join(REFERENCE, "finding.schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "type", "required", "additionalProperties",
         "properties", "items", "enum", "const", "pattern", "minimum", "anyOf"}


def fault(value, schema, path="finding"):
    """What is wrong with a value, or None. The part of JSON Schema that our schema uses."""
    assert not schema.keys() - KNOWN, f"unknown keywords: {schema.keys() - KNOWN}"
    if "$ref" in schema:
        return fault(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
    if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
        return f"{path}: {value!r} is not allowed"
    if "type" in schema:
        wanted = TYPES[schema["type"]]
        if not isinstance(value, wanted) or isinstance(value, bool) and wanted is not bool:
            return f"{path}: {value!r} is no {schema['type']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        return f"{path}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"{path}: {value!r} is below {schema['minimum']}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        missing = [key for key in schema.get("required", []) if key not in value]
        strange = [] if schema.get("additionalProperties", True) else [key for key in value if key not in properties]
        if missing or strange:
            return f"{path}: missing {missing}, unknown {strange}"
        for key, member in value.items():
            why = fault(member, properties.get(key, {}), f"{path}.{key}")
            if why:
                return why
    if isinstance(value, list):
        for number, member in enumerate(value):
            why = fault(member, schema.get("items", {}), f"{path}[{number}]")
            if why:
                return why
    if "anyOf" in schema and all(fault(value, other, path) for other in schema["anyOf"]):
        return f"{path}: none of anyOf"
    return None


def check_finding(finding):
    """Raises unless it follows the schema and its edges name what is there."""
    why = fault(finding, SCHEMA)
    assert not why, f"{why}\n{json.dumps(finding)}"
    parties = {party["name"] for party in finding["parties"]}
    resources = {resource["name"] for resource in finding["resources"]}
    for edge in finding["edges"]:
        assert {edge.get("waiter"), edge.get("holder")} - {None} <= parties, edge
        assert {edge["resource"], edge.get("released", edge["resource"])} <= resources, edge
    cycle = finding.get("cycle", [])
    assert len(cycle) % 2 == 0 and set(cycle[::2]) <= parties and set(cycle[1::2]) <= resources, cycle
    proof = {(edge.get("waiter"), edge["resource"], edge.get("holder")) for edge in finding["edges"] if edge["witness"]}
    for i in range(0, len(cycle), 2):
        assert (cycle[i], cycle[i + 1], cycle[(i + 2) % len(cycle)]) in proof, finding
    return finding


def check_lines(lines):
    """The findings among objects that a command has written, checked."""
    found = [line.get("finding", line) for line in lines]
    return [check_finding(line) for line in found if "schema" in line]


def check_text(text):
    return check_lines([json.loads(line) for line in text.splitlines() if line])


SNAPSHOTS = {
    "cycle": "resource fork\nresource spoon\nhold ann fork\nhold bob spoon\nwait ann spoon\nwait bob fork\n",
    "itself": "resource fork\nhold ann fork\nwait ann fork\n",
    "units": "resource c 3\nresource d 2\nhold p5 c=2\nhold p6 c\nhold p6 d\nwait p5 d=2\nwait p6 c=2\n",
    "acts": "await ann bob\nawait bob any of cal ann\nawait cal 2 of bob ann eve\n",
}
TRACE = "resource q0\nresource q1\nresource q2\n" + "".join(f"request p{i} q{i}\n" for i in range(3)) + "".join(f"request p{i} q{(i + 1) % 3}\n" for i in range(3))


def main(gordian):
    with open(os.path.join(REFERENCE, "findings.md"), encoding="utf-8") as document:
        for example in re.findall(r"```json\n(.*?)```", document.read(), re.DOTALL):
            check_finding(json.loads(example))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "input")
        for command, text in [("check", text) for text in SNAPSHOTS.values()] + [("detect", TRACE)]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([gordian, command, "--json", path], capture_output=True, text=True, check=False)
            found = check_text(done.stdout)
            assert done.returncode == 1 and found and found[0]["source"] == command, done
    for wrong in ({"kind": "deadlock"}, {"schema": "gordian-finding/0"}):
        assert fault(wrong, SCHEMA), wrong


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        for name in sys.argv[2:]:
            with open(name, encoding="utf-8") as lines_file:
                assert check_text(lines_file.read()), f"{name}: no finding"
    else:
        main(sys.argv[1])
