"""What the conformance suites share: the two runners, and the way results are told."""

import argparse
import concurrent.futures
import os
import pathlib
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
REPO = HERE.parents[1]
BUILD = REPO / "build"
CROSS_GCC = "aarch64-linux-gnu-gcc"
QEMU = ["qemu-aarch64", "-cpu", "neoverse-n1"]
ENVIRONMENT = {"PATH": "/bin", "LC_ALL": "C", "TZ": "UTC"}


def fail(message):
    """One clear line, and out."""
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {message}")


def arguments(description):
    """The options every suite takes; a suite adds its own and calls parse()."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kvrm", default=str(BUILD / "kvrm"), help="the kvrm binary")
    parser.add_argument("--kvrm-options", default="", help='options for kvrm run, e.g. "--engine interp"')
    parser.add_argument("--only", default="", help="run only the cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time")
    parser.add_argument("--timeout", type=float, default=60, help="seconds a case may take")
    return parser


def parse(parser):
    options = parser.parse_args()
    for tool in (CROSS_GCC, QEMU[0]):
        if not shutil.which(tool):
            fail(f"{tool} is needed (packages gcc-aarch64-linux-gnu and qemu-user)")
    found = shutil.which(options.kvrm)
    if not found:
        fail(f"no kvrm at {options.kvrm} (build it, or say --kvrm PATH)")
    options.kvrm = os.path.abspath(found)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    heed_signals()
    return options


def heed_signals():
    """A shell ignores SIGINT and SIGQUIT for what it runs in the background; a guest under QEMU would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def kvrm_command(options, program, arguments=(), root=None):
    granted = ["--root", str(root)] if root else []
    return [options.kvrm, "run", *shlex.split(options.kvrm_options), *granted, str(program), *arguments]


def run(command, timeout, stdin=b"", cwd=None, environment=ENVIRONMENT):
    """(status, stdout, stderr). Death by signal N is status 128+N, as a shell says it."""
    try:
        done = subprocess.run(
            command, input=stdin, capture_output=True, timeout=timeout, cwd=cwd, env=environment
        )
    except subprocess.TimeoutExpired:
        return "timeout", b"", b""
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return status, done.stdout, done.stderr


def own_words(stderr):
    """The guest's stderr: without the line an emulator adds when a signal ends the guest."""
    lines = stderr.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith((b"qemu: ", b"kvrm: ")))


def shown(text, limit=600):
    """Bytes for a failure report."""
    told = text.decode("utf-8", "backslashreplace")
    return told if len(told) <= limit else told[:limit] + f"... ({len(text)} bytes)"


def difference(name, qemu, kvrm):
    """One line or a few that say how two results differ; None when they are equal."""
    if qemu == kvrm:
        return None
    if isinstance(qemu, bytes) and isinstance(kvrm, bytes):
        return f"  {name}, qemu:\n{shown(qemu)}\n  {name}, kvrm:\n{shown(kvrm)}"
    return f"  {name}: qemu {qemu}, kvrm {kvrm}"


def tree(root):
    """Everything below a folder: path -> (kind, mode, content)."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = pathlib.Path(folder, name)
            mode = oct(path.lstat().st_mode)
            if path.is_symlink():
                content = os.fsencode(os.readlink(path))
            else:
                content = path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(root))] = (mode, content)
    return found


def tree_difference(qemu, kvrm):
    lines = []
    for path in sorted(qemu.keys() | kvrm.keys()):
        left, right = qemu.get(path, ("absent", b"")), kvrm.get(path, ("absent", b""))
        if left[0] != right[0]:
            lines.append(f"  {path}: mode {left[0]} under qemu, {right[0]} under kvrm")
        elif left[1] != right[1]:
            lines.append(difference(path, left[1], right[1]))
    return "\n".join(lines) or None


def compare(options, name, program, arguments, folders, stdin=b""):
    """Run a guest under both in a folder each; (name, outcome, detail).

    Under QEMU the folder is the working directory, under kvrm it is the root: relative paths
    mean the same to both.
    """
    qemu_command = QEMU + [str(program), *arguments]
    kvrm = kvrm_command(options, program, arguments, folders["kvrm"])
    qemu_result = run(qemu_command, options.timeout, stdin, cwd=folders["qemu"])
    kvrm_result = run(kvrm, options.timeout, stdin, cwd=folders["kvrm"])
    if qemu_result[0] == "timeout":
        return name, "skip", "too slow under QEMU"
    found = [
        difference("status", qemu_result[0], kvrm_result[0]),
        difference("stdout", qemu_result[1], kvrm_result[1]),
        difference("stderr", own_words(qemu_result[2]), own_words(kvrm_result[2])),
        tree_difference(tree(folders["qemu"]), tree(folders["kvrm"])),
    ]
    found = [line for line in found if line]
    if not found:
        return name, "pass", ""
    found.append(f"  kvrm says: {shown(kvrm_result[2])}")
    found.append(f"  qemu:   {shlex.join(qemu_command)}")
    found.append(f"  kvrm:   {shlex.join(kvrm)}")
    return name, "fail", "\n".join(found)


class Tally:
    """Counts, prints failures as they come, and closes with `N passed, M failed, K skipped`."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = {}
        self.began = time.monotonic()

    def add(self, name, outcome, detail=""):
        if outcome == "pass":
            self.passed += 1
        elif outcome == "skip":
            self.skipped[detail] = self.skipped.get(detail, 0) + 1
        else:
            self.failed += 1
            print(f"FAIL {name}\n{detail}", flush=True)

    def close(self):
        for reason, count in sorted(self.skipped.items(), key=lambda item: -item[1]):
            print(f"skipped {count}: {reason}")
        print(f"{time.monotonic() - self.began:.1f} s")
        print(f"{self.passed} passed, {self.failed} failed, {sum(self.skipped.values())} skipped")
        sys.exit(1 if self.failed else 0)


def each(cases, work, jobs, tally):
    """work(case) -> (name, outcome, detail), several at a time; Ctrl-C still tells the count."""
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=max(1, jobs))
    try:
        for result in pool.map(work, cases):
            tally.add(*result)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        print("interrupted")
        tally.failed += 1
    tally.close()
