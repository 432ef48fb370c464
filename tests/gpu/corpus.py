"""A packed corpus: jobs with their expected outcomes, and the way a kvrm fleet runs them.

A job is one line of jobs.jsonl: set, name, program, args, stdin (a file), root (what the guest sees as /: "shared", the corpus's root/; or
"own", an empty folder for this job),
stop ("exit" or "signal"), status, stdout, instructions. Needs Python and kvrm, nothing else.
"""

import base64
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

JOBS = "jobs.jsonl"
OWN_WARP = 1024  # so many lanes have a warp of their own on any large GPU


def work_folder():
    """Where a corpus is packed and unpacked. Programs read their own path, so its length must not change: it decides, by
    a few instructions, how long copying it takes."""
    return tempfile.mkdtemp(prefix="kvrm-corpus-", dir="/tmp")


def find(program):
    """Its absolute path; None if there is no such program."""
    found = shutil.which(program)
    return found and os.path.abspath(found)


def stored(stdout):
    """Bytes as fields of JSON, the way a fleet's record has them."""
    try:
        return {"stdout": stdout.decode()}
    except UnicodeDecodeError:
        return {"stdout_base64": base64.b64encode(stdout).decode()}


def stdout_of(record):
    if "stdout_base64" in record:
        return base64.b64decode(record["stdout_base64"])
    return record.get("stdout", "").encode()


def quoted(word):
    """A word for a line of --programs."""
    return "'" + word.replace("'", "'\\''") + "'"


def command_line(entry):
    """One line of --programs, which is also what a shell takes. The paths are relative, so that they are the same
    everywhere: a program sees its own, and its length moves the stack."""
    words = [quoted(entry["program"]), *map(quoted, entry["args"])]
    if "stdin" in entry:
        words.append(f"<{entry['stdin']}")
    return " ".join(words)


def engine_options(engine, device):
    """kvrm's. On a GPU hot code is translated as soon as possible, and nothing of it is kept; on the CPU that would be all
    code there is, which takes long."""
    soon = ["--jit-threshold", "0"] if engine == "jit" and device == "cuda" else []
    return ["--engine", engine, *soon] if engine else []


def alone(kvrm, device, folder, entry, engine=None):
    """The command a person can run."""
    roots = {"shared": " --root root", "own": " --root $(mktemp -d)"}
    root = roots.get(entry.get("root"), "")
    nothing = "" if "stdin" in entry else " </dev/null"
    how = " ".join(["--device", device, *engine_options(engine, device)])
    return f"cd {folder} && {kvrm} run {how}{root} --stats {command_line(entry)}{nothing}"


def read_records(path, count):
    """A fleet's records in the order of its inputs, or None where there is none. The file's header has no index."""
    results = [None] * count
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line) if line.endswith("\n") else {}
                if "index" in record:
                    results[record["index"]] = record
    return results


def run_fleet(kvrm, device, folder, entries, root, budget, timeout, lanes=0, more=()):
    """A record (or None) per entry, and lines about what went wrong altogether. Lanes of different programs do not share
    a warp unless more are asked for than there are warps."""
    with tempfile.TemporaryDirectory(prefix="kvrm-gpu-") as work, tempfile.TemporaryDirectory() as empty:
        listed, out = os.path.join(work, "programs"), os.path.join(work, "results.jsonl")
        with open(listed, "w", encoding="utf-8") as file:
            file.writelines(command_line(entry) + "\n" for entry in entries)
        command = [kvrm, "fleet", "--device", device, "--programs", listed, "--out", out]
        command += ["--max-instructions", str(budget), "--lanes", str(lanes or min(len(entries), OWN_WARP)), *more]
        if root:
            command += ["--root", empty if root == "own" else "root"]
        problems = []
        try:
            done = subprocess.run(
                command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=timeout or None, cwd=folder
            )
            if done.returncode:
                told = done.stderr.decode(errors="replace").strip()
                problems.append(f"exit status {done.returncode}: {' '.join(command)}\n  {told}")
        except subprocess.TimeoutExpired:
            problems.append(f"not done after {timeout:.0f} s: {' '.join(command)}")
        return read_records(out, len(entries)), problems


def run_jobs(kvrm, device, folder, entries, budget, timeout, lanes=0, more=()):
    """The same for all entries: a process for those without a root, one for those that share one, and one for each other."""
    results, problems, fleets = [None] * len(entries), [], {}
    for index, entry in enumerate(entries):
        root = entry.get("root")
        fleets.setdefault((root, index if root == "own" else 0), []).append(index)
    for (root, _), indices in fleets.items():
        began = time.monotonic()
        chosen = [entries[index] for index in indices]
        found, wrong = run_fleet(kvrm, device, folder, chosen, root, budget, timeout, lanes, more)
        problems += wrong
        for index, result in zip(indices, found):
            results[index] = result
        took = time.monotonic() - began
        print(f"{len(indices)} jobs, root folder: {root or 'none'}: {took:.1f} s", flush=True)
    return results, problems


def without_addresses(text):
    """A few of GCC's tests print where their stack is, which no interface promises."""
    return re.sub(rb"0x[0-9a-f]{9,}", b"0x(address)", text)


def shown(text, limit=300):
    told = text.decode("utf-8", "backslashreplace")
    return repr(told if len(told) <= limit else told[:limit]) + ("" if len(told) <= limit else f"... ({len(text)} bytes)")


def differences(entry, result):
    """One line for everything in which a record is not what is expected; none: all is well."""
    if result is None:
        return ["no record"]
    lines = []
    if result.get("error"):
        lines.append(f"kvrm says: {result['error']}")
    ending = result.get("stop"), result.get("exit_status", result.get("signal"))
    if ending != (entry["stop"], entry["status"]):
        lines.append(f"ended with {ending[0]} {ending[1]}, expected {entry['stop']} {entry['status']}")
    expected, actual = without_addresses(stdout_of(entry)), without_addresses(stdout_of(result))
    if expected != actual:
        lines.append(f"stdout {shown(actual)}\n    expected {shown(expected)}")
    if result.get("instructions") != entry["instructions"]:
        lines.append(f"{result.get('instructions')} instructions, expected {entry['instructions']}")
    return lines


def summary(entries, failed=()):
    """A table: jobs, instructions and failures a set."""
    jobs = collections.Counter(entry["set"] for entry in entries)
    work = collections.Counter()
    for entry in entries:
        work[entry["set"]] += entry["instructions"]
    bad = collections.Counter(entry["set"] for entry in failed)
    rows = [f"{'set':<18}{'jobs':>7}{'M instructions':>16}{'failed':>8}"]
    for part in sorted(jobs):
        rows.append(f"{part:<18}{jobs[part]:>7}{work[part] / 1e6:>16.1f}{bad[part]:>8}")
    rows.append(f"{'all':<18}{sum(jobs.values()):>7}{sum(work.values()) / 1e6:>16.1f}{sum(bad.values()):>8}")
    return "\n".join(rows)
