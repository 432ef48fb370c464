#!/usr/bin/env python3
"""busybox-static, scenario by scenario: the same output, status and files as under QEMU.

    tests/conformance/busybox.py                all scenarios
    tests/conformance/busybox.py --quick        two per applet of the first dozen
"""

import busybox_scenarios
import common
import packaged


def quick_share(every):
    """The first two scenarios of each of the main applets."""
    chosen = []
    for applet in busybox_scenarios.QUICK:
        chosen += [scenario for scenario in every if scenario[1][0] == applet][:2]
    return chosen


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a share of the scenarios")
    options = common.parse(parser)
    every = busybox_scenarios.SCENARIOS
    chosen = quick_share(every) if options.quick else every
    packaged.run(options, "busybox-static", "bin/busybox", busybox_scenarios.FILES, chosen)


if __name__ == "__main__":
    main()
