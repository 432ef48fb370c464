#!/usr/bin/env python3
"""bash-static, script by script: the same output, status and files as under QEMU.

    tests/conformance/bash.py                all scripts
    tests/conformance/bash.py --quick        every third
"""

import bash_scenarios
import common
import packaged


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a share of the scripts")
    options = common.parse(parser)
    scripts = bash_scenarios.SCRIPTS[:: 3 if options.quick else 1]
    scenarios = [(name, ["-c", text, "bash", "one", "two words"], stdin) for name, text, stdin in scripts]
    packaged.run(options, "bash-static", "bin/bash-static", bash_scenarios.FILES, scenarios)


if __name__ == "__main__":
    main()
