"""What the benchmark's runners share: messages, the measured run of a command, medians and means, the machine."""

import hashlib
import json
import math
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import NamedTuple

REPO = pathlib.Path(__file__).resolve().parents[1]
# Where everything that is built or written goes; a test has a folder of its own.
OUT = pathlib.Path(os.environ.get("KVRM_BENCH_OUT", REPO / "build" / "bench")).absolute()
QEMU = ["qemu-aarch64", "-cpu", "neoverse-n1"]


def fail(message):
    sys.exit(f"bench: {message}")


def note(message):
    print(message, file=sys.stderr, flush=True)


class Run(NamedTuple):
    """One finished process: seconds by the wall clock, seconds of its CPUs, and what it wrote."""

    wall: float
    user: float
    system: float
    digest: str
    stderr: bytes

    @property
    def cpu(self):
        return self.user + self.system


def measured(command, folder, environment=None, may_stop=False):
    """Runs a command to its end. One that fails ends the benchmark; it may stop because it has run enough."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, env=environment
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        digest, stderr = hashlib.sha256(out.read()).hexdigest(), err.read()
    stopped = may_stop and process.returncode == 125 and b"stopped after" in stderr
    if process.returncode and not stopped:
        last = stderr.decode(errors="replace").strip().splitlines()[-1:] or [""]
        fail(f"exit status {process.returncode}: {shlex.join(command)}: {last[0]}")
    return Run(wall, usage.ru_utime, usage.ru_stime, digest, stderr)


def statistics(run, command, *names):
    """What kvrm counted in a run with --stats=json, at least under these names."""
    try:
        counted = json.loads(run.stderr.splitlines()[-1])
    except (IndexError, ValueError):
        counted = {}
    if any(name not in counted for name in names):
        fail(f"no statistics from: {command}")
    return counted


def spread(values):
    return {"median": median(values), "min": min(values), "max": max(values), "runs": len(values)}


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def version(tool):
    return subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.splitlines()[0]


def machine():
    model = platform.processor() or platform.machine()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "qemu": version(QEMU[0]),
        "gcc": version("aarch64-linux-gnu-gcc"),
    }
