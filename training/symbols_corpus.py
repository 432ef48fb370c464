#!/usr/bin/env python3
"""Fetch the static libraries that names of routines are learned from and tested on.

    training/symbols_corpus.py [--out build/symbols] [--only LIBRARY,...]

Downloads arm64 packages of two Debian releases by name (training/symbols_packages.json) from the mirror that this
machine's apt is configured for, and unpacks their static libraries:

    OUT/RELEASE/LIBRARY/*.a   OUT/RELEASE/LIBRARY/version   OUT/plan.json

The host's apt and dpkg keep their state: apt runs with a private configuration, as an ordinary user too.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PACKAGES = pathlib.Path(__file__).with_name("symbols_packages.json")
ROOT = pathlib.Path(__file__).resolve().parents[1]


def mirror():
    """The URI that the host's apt has for Debian's main component, and the keyring that signs it."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(COMPONENT)|$(REPO_URI)|$(SIGNED_BY)", "Created-By: Packages"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for line in listed.stdout.splitlines():
        origin, component, uri, keys = line.split("|", 3)
        if (origin, component) == ("Debian", "main"):
            return uri, keys if keys.startswith("/") else ""
    sys.exit("symbols_corpus: this host's apt has no Debian mirror")


class Apt:
    """apt with a state of its own, for arm64 packages of one release."""

    def __init__(self, folder, release):
        self.folder = folder
        for name in ("lists/partial", "archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        uri, keys = mirror()
        keys = keys or "/usr/share/keyrings/debian-archive-keyring.gpg"
        signed = f" signed-by={keys}" if pathlib.Path(keys).exists() else ""
        (folder / "sources.list").write_text(f"deb [arch=arm64{signed}] {uri} {release} main\n")
        (folder / "status").write_text("")
        settings = {
            "APT::Architecture": "arm64", "APT::Architectures": "arm64", "Acquire::Languages": "none", "Acquire::Retries": "3",
            "APT::Sandbox::User": "", "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status", "Dir::Cache": folder,
        }  # fmt: skip
        self.options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
        if self.run("apt-get", "update").returncode:
            sys.exit(f"symbols_corpus: the mirror does not serve {release}")

    def run(self, tool, *arguments):
        return subprocess.run([tool, *self.options, "-q", *arguments], cwd=self.folder, capture_output=True, text=True)

    def has(self, package):
        return "Version:" in self.run("apt-cache", "show", package).stdout

    def fetch(self, package):
        """The package's file."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            done = subprocess.run(
                ["apt-get", *self.options, "-q", "download", package], cwd=folder, capture_output=True, text=True
            )
            found = list(pathlib.Path(folder).glob("*.deb"))
            if done.returncode or not found:
                sys.exit(f"symbols_corpus: cannot download {package}: {done.stderr.strip()}")
            return shutil.move(found[0], self.folder / found[0].name)


def unpack(package, archives, folder):
    """The package's static libraries with one of the names; the version goes beside them."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as whole:
        subprocess.run(["dpkg", "-x", package, whole], check=True)
        found = {path.name: path for name in archives for path in pathlib.Path(whole).rglob(name) if path.is_file()}
        # A linker script has the name of a library, too.
        found = {name: path for name, path in found.items() if path.read_bytes()[:8] == b"!<arch>\n"}
        folder.mkdir(exist_ok=True)
        for name, path in found.items():
            shutil.copyfile(path, folder / name)
    version = subprocess.run(["dpkg-deb", "-f", package, "Version"], capture_output=True, text=True, check=True)
    (folder / "version").write_text(version.stdout)
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "symbols")
    parser.add_argument("--only", default="", help="libraries, separated by commas")
    arguments = parser.parse_args()
    os.environ["LC_ALL"] = "C"
    plan = json.loads(PACKAGES.read_text())
    wanted = set(filter(None, arguments.only.split(","))) or set(plan["libraries"])
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(PACKAGES, out / "plan.json")
    for release in plan["releases"]:
        apt = None
        for library, facts in plan["libraries"].items():
            folder = out / release / library
            if library not in wanted or (folder / "version").exists():
                continue
            folder.parent.mkdir(parents=True, exist_ok=True)
            apt = apt or Apt(out / "apt" / release, release)
            package = next((name for name in facts["packages"] if apt.has(name)), None)
            if not package:
                print(f"{release} {library}: none of {facts['packages']}")
                continue
            found = unpack(apt.fetch(package), facts["archives"], folder)
            print(f"{release} {library} {(folder / 'version').read_text().strip()}: {' '.join(found) or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
