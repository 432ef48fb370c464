"""Programs that QEMU judges once: built, run under QEMU, remembered, then run under kvrm.

A Case is a program to build and what identifies it. Its build and QEMU's verdict are kept in a folder, under a digest
of the sources, the command and the tools' versions, so a second run compiles nothing.
"""

import dataclasses
import functools
import hashlib
import json
import pathlib
import re
import shlex
import subprocess
import tempfile

import common

TARBALLS = "gcc-12*/gcc-12*.tar.xz"


@dataclasses.dataclass
class Case:
    label: str  # what a report calls it
    command: list  # the compiler's, without "-o PROGRAM"
    text: str  # everything the build depends on
    stem: pathlib.Path  # of the program and the verdict
    skip: str = None  # a reason that is known before building
    files: bool = False  # it makes files: under kvrm its root is a folder with an empty /tmp
    environment: dict = dataclasses.field(default_factory=lambda: common.ENVIRONMENT)

    @property
    def program(self):
        return self.stem.with_name(self.stem.name + ".elf")

    @property
    def verdict(self):
        return self.stem.with_name(self.stem.name + ".json")


def unpack(to, strip, patterns):
    """Take these parts of the testsuite, and nothing else, out of the source package."""
    done = to / "complete"
    if done.exists():
        return
    tarballs = sorted(pathlib.Path("/usr/src").glob(TARBALLS))
    if not tarballs:
        common.fail("no GCC 12 sources below /usr/src (package gcc-12-source)")
    to.mkdir(parents=True, exist_ok=True)
    command = ["tar", "-C", str(to), f"--strip-components={strip}", "--wildcards", "-xf", str(tarballs[0])]
    if subprocess.run(command + [f"*/gcc/testsuite/{pattern}" for pattern in patterns]).returncode:
        common.fail(f"cannot unpack {tarballs[0]}")
    done.touch()


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


@functools.cache
def tools():
    """What compiles and what judges, with their versions."""
    told = []
    for tool in (common.CROSS_GCC, common.QEMU[0]):
        done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
        told.append(done.stdout.splitlines()[0])
    return " ".join(told + common.QEMU)


def in_share(name, share):
    """Whether a name belongs to a fixed choice of, say, 1/10 of all names."""
    part, whole = (int(number) for number in share.split("/"))
    return int(digest(name)[:8], 16) % whole < part


def why_not(stderr):
    """The reason a test does not build, in words that group well."""
    text = stderr.decode("utf-8", "replace")
    for sign in ("floating-point types", "vector types", "decimal floating-point"):
        if sign in text and "mgeneral-regs-only" in text:
            return f"does not build: {sign} without FP registers"
    return "does not link" if "undefined reference" in text else "does not build"


def reference(case, timeout):
    """Build the case and ask QEMU, or recall what came out earlier."""
    key = digest(tools(), case.text, *case.command)
    if case.verdict.exists():
        known = json.loads(case.verdict.read_text())
        if known["key"] == key and (known["skip"] or case.program.exists()):
            return known
    case.program.parent.mkdir(parents=True, exist_ok=True)
    known = {"key": key, "skip": None, "stdout": ""}
    built = subprocess.run(case.command + ["-o", str(case.program)], capture_output=True)
    if built.returncode:
        known["skip"] = why_not(built.stderr)
    else:
        status, stdout, _ = common.run(common.QEMU + [str(case.program)], timeout, environment=case.environment)
        if status == "timeout":
            return {"key": key, "skip": "too slow under QEMU", "stdout": ""}  # today; not for ever
        known["stdout"] = stdout.hex()
        if status != 0:
            known["skip"] = "fails under QEMU"
    if known["skip"]:
        case.program.unlink(missing_ok=True)
    case.verdict.write_text(json.dumps(known))
    return known


def without_addresses(text):
    """A few tests print where their stack is, which no standard promises."""
    return re.sub(rb"0x[0-9a-f]{9,}", b"0x(address)", text)


def check(case, options):
    """(label, outcome, detail): a case that exits with 0 under QEMU does so here, with the same output."""
    if case.skip:
        return case.label, "skip", case.skip
    known = reference(case, options.timeout)
    if known["skip"]:
        return case.label, "skip", known["skip"]
    with tempfile.TemporaryDirectory(prefix="kvrm-files-") as folder:
        pathlib.Path(folder, "tmp").mkdir()
        command = common.kvrm_command(options, case.program, root=folder if case.files else None)
        status, stdout, stderr = common.run(command, options.timeout, environment=case.environment)
    expected = without_addresses(bytes.fromhex(known["stdout"]))
    output = common.difference("stdout", expected, without_addresses(stdout))
    found = [common.difference("status", 0, status), output]
    found = [line for line in found if line]
    if not found:
        return case.label, "pass", ""
    found.append(f"  stderr: {common.shown(stderr)}")
    found.append(f"  build:  {shlex.join(case.command + ['-o', str(case.program)])}")
    found.append(f"  qemu:   {shlex.join(common.QEMU + [str(case.program)])}")
    found.append(f"  kvrm:   {shlex.join(command)}")
    return case.label, "fail", "\n".join(found)
