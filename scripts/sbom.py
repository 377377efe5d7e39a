"""The bill of materials of the program: the crates that are in it, as CycloneDX 1.5.

Reads Cargo.lock, the answer of cargo metadata, for this platform, on standard input, and that of
cargo tree from the file that is named: only the latter leaves out what features bring that tests
alone turn on. The same lock gives the same bytes: there is no date and no path in it.
"""

import json
import sys
import tomllib

metadata = json.load(sys.stdin)
with open("Cargo.lock", "rb") as lock:
    locked = tomllib.load(lock)["package"]
checksums = {(it["name"], it["version"]): it.get("checksum") for it in locked}
packages = {it["id"]: it for it in metadata["packages"]}
with open(sys.argv[1], encoding="utf-8") as tree:
    # Name and version, with a "v" before it.
    compiled = {tuple(line.split()[:2]) for line in tree}


def is_linked(dep: dict) -> bool:
    """Not what tests a crate, builds it, or writes a part of it."""
    package = packages[dep["pkg"]]
    kinds = [kind for it in package["targets"] for kind in it["kind"]]
    is_compiled = (package["name"], f"v{package['version']}") in compiled
    is_normal = any(it["kind"] is None for it in dep["dep_kinds"])
    return is_compiled and is_normal and "proc-macro" not in kinds


edges = {
    node["id"]: [dep["pkg"] for dep in node["deps"] if is_linked(dep)]
    for node in metadata["resolve"]["nodes"]
}


def reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, kind: str) -> dict:
    found = {
        "type": kind,
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
    }
    if package["license"]:
        # Older manifests have a slash.
        expression = package["license"].replace("/", " OR ")
        found["licenses"] = [{"expression": expression}]
    checksum = checksums[package["name"], package["version"]]
    if checksum:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


[root] = [it for it in metadata["packages"] if it["name"] == "gridrig"]
reached, waiting = set(), [root["id"]]
while waiting:
    package = waiting.pop()
    if package not in reached:
        reached.add(package)
        waiting += edges[package]
inside = sorted((packages[it] for it in reached), key=lambda it: (it["name"], it["version"]))
document = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": component(root, "application")},
    "components": [component(it, "library") for it in inside if it is not root],
    "dependencies": [
        {
            "ref": reference(it),
            "dependsOn": sorted(reference(packages[to]) for to in edges[it["id"]]),
        }
        for it in inside
    ],
}
json.dump(document, sys.stdout, indent=1)
print()
