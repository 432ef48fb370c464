#!/usr/bin/env python3
"""Installs the .deb, the .tar.gz and the wheel, each into a fresh Debian root, and runs a program there.

    package_test.py --packages build-package/packages [--make] [--skip]

The roots have neither LLVM nor a compiler. mmdebstrap makes them from the network and removes them; it needs no root
privileges. --make builds the packages where there are none, without cubins. --skip: exit status 77 where mmdebstrap,
the cross compiler or the network is missing.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
GUEST = SOURCE / "examples" / "guests" / "primes.c"
EXPECTED = "78498 primes up to 1000000, the last is 999983\n"
NO_COMPILER = "! ls /usr/bin | grep -E '^(gcc|cc|c\\+\\+|clang|llvm|opt)' && ! ls /usr/lib | grep llvm"
RUNS_GUEST = """
kvrm info
for engine in interp jit; do
  test "$(kvrm run --engine $engine /tmp/guest 1000000)" = "$(cat /tmp/expected)"
done
kvrm run --dispatch neural --stats /tmp/guest 1000000
"""
# A raw machine and a Linux program, through the package alone.
PYTHON = """
import kvrm
program = kvrm.Machine(device="cpu")
program.load_program("/tmp/guest", ["1000000"])
stop = program.run()
assert stop.reason == "exit" and stop.exit_status == 0, stop
print("kvrm", kvrm.__version__, program.statistics().instructions, "instructions")
"""
# kind: (pattern of its file, packages of the root, how it is installed, what must work)
KINDS = {
    "deb": ("*.deb", "", "apt-get install -y -q --no-install-recommends /tmp/package.deb && rm /tmp/package.deb", RUNS_GUEST),
    "tar": ("*.tar.gz", "", "tar xzf /tmp/package.tar.gz -C /usr --strip-components=1 && ldconfig", RUNS_GUEST),
    "wheel": ("*.whl", "python3,python3-numpy,python3-pip",
              "python3 -m pip install -q --no-index --break-system-packages --root-user-action=ignore /tmp/*.whl",
              "cd /; python3 /tmp/program.py"),
}  # fmt: skip


def skip(why, may_skip):
    print(f"packages: {why}")
    sys.exit(77 if may_skip else 1)


def suite():
    facts = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return facts.get("VERSION_CODENAME", "bookworm").strip('"')


def guest(folder):
    subprocess.run(["aarch64-linux-gnu-gcc", "-O2", "-static", GUEST, "-o", folder / "guest"], check=True)
    (folder / "expected").write_text(EXPECTED)
    (folder / "program.py").write_text(PYTHON)


def check(kind, packages, folder):
    pattern, include, install, test = KINDS[kind]
    found = sorted(packages.glob(pattern))
    if len(found) != 1:
        sys.exit(f"packages: {packages} has {len(found)} files {pattern}; make package builds them")
    target = {"deb": "package.deb", "tar": "package.tar.gz"}.get(kind, found[0].name)
    (folder / "test.sh").write_text(f"set -eu\n{NO_COMPILER}\n{install}\n{NO_COMPILER}\n{test}\n")
    hooks = [f"--customize-hook=upload '{found[0]}' /tmp/{target}"]
    hooks += [f"--customize-hook=upload '{folder / name}' /tmp/{name}" for name in ("guest", "expected", "program.py", "test.sh")]
    hooks += ['--customize-hook=chmod 755 "$1/tmp/guest"', '--customize-hook=chroot "$1" sh /tmp/test.sh']
    if include:
        hooks.append(f"--include={include}")
    command = ["mmdebstrap", "--variant=minbase", "--format=null", *hooks, suite(), "/dev/null"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"packages: {found[0].name}\n{done.stdout[-6000:]}\nexit status {done.returncode}")
    lines = [line for line in done.stdout.splitlines() if not line.startswith(("I: ", "Get:", "Selecting", "Preparing"))]
    print("\n".join(lines[-30:]))
    print(f"packages: {found[0].name} works in a fresh {suite()} root", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--only", choices=KINDS, action="append", help="instead of all kinds")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--skip", action="store_true")
    arguments = parser.parse_args()
    for tool in ("mmdebstrap", "aarch64-linux-gnu-gcc"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed", arguments.skip)
    if arguments.make and not arguments.packages.exists():
        subprocess.run(["make", "-C", SOURCE, "package", "PACKAGE_CUBINS="], check=True)
    with tempfile.TemporaryDirectory(prefix="kvrm-packages-") as temporary:
        folder = pathlib.Path(temporary)
        folder.chmod(0o755)
        guest(folder)
        for kind in arguments.only or KINDS:
            check(kind, arguments.packages.resolve(), folder)


if __name__ == "__main__":
    main()
