"""Programs from arm64 packages, scenario by scenario: each runs under both in a folder with the same files."""

import functools
import os
import pathlib
import subprocess
import tempfile

import common

SYSROOT = common.BUILD / "arm64-sysroot"
MTIME = 1_000_000_000


def fill(root, files):
    """Write the files: bytes, a folder for None, a symbolic link for a str. All time stamps are equal, folders last."""
    for name, content in files.items():
        path = root / name
        if content is None:
            path.mkdir()
            path.chmod(0o755)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            path.chmod(0o644)
    for name in sorted(files, reverse=True):
        os.utime(root / name, (MTIME,) * 2, follow_symlinks=False)
    os.utime(root, (MTIME,) * 2)


def check(options, program, files, scenario):
    name, arguments, stdin = scenario
    with tempfile.TemporaryDirectory(prefix="kvrm-packaged-") as folder:
        folders = {key: pathlib.Path(folder, key) for key in ("qemu", "kvrm")}
        for root in folders.values():
            root.mkdir()
            fill(root, files)
        return common.compare(options, name, program, arguments, folders, stdin)


def run(options, package, program, files, scenarios):
    """The whole suite; ends the process. A host without arm64 packages skips it."""
    chosen = [scenario for scenario in scenarios if options.only in scenario[0]]
    tally = common.Tally()
    fetch = [str(common.REPO / "tools" / "arm64_packages.sh"), "--root", str(SYSROOT), package]
    if subprocess.run(fetch).returncode:
        tally.skipped[f"no arm64 {package} from this host's package sources"] = len(chosen)
        tally.close()
    work = functools.partial(check, options, SYSROOT / program, files)
    common.each(chosen, work, options.jobs, tally)
