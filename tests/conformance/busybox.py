#!/usr/bin/env python3
"""busybox-static, scenario by scenario: the same output, status and files as under QEMU.

    tests/conformance/busybox.py                all scenarios
    tests/conformance/busybox.py --quick        two per applet of the first dozen
    tests/conformance/busybox.py --fp           those that need floating point, too
"""

import functools
import os
import pathlib
import subprocess
import tempfile

import busybox_scenarios as scenarios
import common

SYSROOT = common.BUILD / "arm64-sysroot"
BUSYBOX = SYSROOT / "bin" / "busybox"
NEEDS_FP = "fp: "


def fill(root):
    """Write the files; every time stamp is the same, folders last."""
    for name, content in scenarios.FILES.items():
        path = root / name
        if content is None:
            path.mkdir()
            path.chmod(0o755)
        elif isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            path.chmod(0o644)
    for name in sorted(scenarios.FILES, reverse=True):
        os.utime(root / name, (scenarios.MTIME,) * 2, follow_symlinks=False)
    os.utime(root, (scenarios.MTIME,) * 2)


def check(options, scenario):
    name, arguments, stdin = scenario
    if name.startswith(NEEDS_FP) and not options.fp:
        return name, "skip", "needs floating point"
    with tempfile.TemporaryDirectory(prefix="kvrm-busybox-") as folder:
        folders = {key: pathlib.Path(folder, key) for key in ("qemu", "kvrm")}
        for root in folders.values():
            root.mkdir()
            fill(root)
        return common.compare(options, name, BUSYBOX, arguments, folders, stdin)


def quick_share(every):
    """The first two scenarios of each of the main applets."""
    chosen = []
    for applet in scenarios.QUICK:
        chosen += [scenario for scenario in every if scenario[1][0] == applet][:2]
    return chosen


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a share of the scenarios")
    parser.add_argument("--fp", action="store_true", help="run the scenarios that use floating point, too")
    options = common.parse(parser)
    chosen = quick_share(scenarios.SCENARIOS) if options.quick else scenarios.SCENARIOS
    chosen = [scenario for scenario in chosen if options.only in scenario[0]]
    tally = common.Tally()
    fetch = [str(common.REPO / "tools" / "arm64_packages.sh"), "--root", str(SYSROOT), "busybox-static"]
    if subprocess.run(fetch).returncode:
        tally.skipped["no arm64 busybox-static from this host's package sources"] = len(chosen)
        tally.close()
    common.each(chosen, functools.partial(check, options), options.jobs, tally)


if __name__ == "__main__":
    main()
