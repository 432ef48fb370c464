#!/usr/bin/env python3
"""gcc.target/aarch64's run tests, under QEMU and under kvrm: every Advanced SIMD intrinsic, and what GCC vectorises.

Built static with the C library. The folders: advsimd-intrinsics (at -O0, -O2 and -O3, with half precision), simd, fp16,
aapcs64, torture, acle, and the tests directly in gcc.target/aarch64 (with the options they ask for). A test that
builds, and exits with 0 under QEMU, must end with the same status and output under kvrm.

    tests/conformance/simd.py                  everything
    tests/conformance/simd.py --share 1/10     one test in ten; advsimd-intrinsics at -O2
    tests/conformance/simd.py --only advsimd-intrinsics/vqdmull

Binaries and QEMU's verdicts are kept in build/simd.
"""

import re
import sys

import common
import dejagnu
import reference

WORK = common.BUILD / "simd"
SUITE = WORK / "suite" / "aarch64"
FLAGS = ["-w", "-static", "-Wl,-s"]
FP16 = "-march=armv8.2-a+fp16"
LEVELS = ["O0", "O2", "O3"]

# Folder -> (what dg-do means when absent, levels where a test asks for none, flags).
FOLDERS = {
    "": ("compile", [None], []),
    "simd": ("compile", [None], []),
    "fp16": ("compile", [None], []),
    "acle": ("compile", [None], []),
    "torture": ("compile", LEVELS, []),
    "aapcs64": ("run", LEVELS, ["-fno-ipa-ra"]),
    "advsimd-intrinsics": ("run", LEVELS, [FP16]),
}
# Effective targets that a Neoverse N1 with Linux and a static C library has.
HAVE = set(
    """
    aarch64_asm_crc_ok aarch64_asm_crypto_ok aarch64_asm_dotprod_ok aarch64_asm_fp_ok aarch64_asm_lse_ok
    aarch64_asm_simd_ok aarch64_little_endian aarch64_tlsle32 aarch64_variant_pcs arm_crypto_ok arm_neon_fp16_hw
    arm_neon_fp16_ok arm_v8_1a_neon_hw arm_v8_1a_neon_ok arm_v8_2a_dotprod_neon_hw arm_v8_2a_dotprod_neon_ok
    arm_v8_2a_fp16_neon_hw arm_v8_2a_fp16_neon_ok arm_v8_2a_fp16_scalar_hw arm_v8_2a_fp16_scalar_ok arm_v8_neon_hw
    arm_v8_neon_ok fenv_exceptions fstack_protector static stdint_types_mbig_endian supports_stack_clash_protection
    tls_native vect_condition vect_float vect_int
    """.split()
)
FEATURES = {
    "arm_crypto": ["-march=armv8-a+crypto"],
    "arm_v8_1a_neon": ["-march=armv8.1-a"],
    "arm_v8_2a_dotprod_neon": ["-march=armv8.2-a+dotprod"],
    "arm_v8_2a_fp16_neon": [FP16],
    "arm_v8_2a_fp16_scalar": [FP16],
    "arm_v8_neon": [],
}
# Flags that only write files beside the test.
IDLE = re.compile(r"--?save-temps|-fdump-.*|-d[A-Zp]")


def more_sources(source, text):
    found = re.findall(r'dg-additional-sources\s+"([^"]+)"', text)
    if source.parent.name == "aapcs64" and not source.stem.startswith("rec_"):
        found.append("abitest.S")
    return [source.parent / name for name in dict.fromkeys(" ".join(found).split())]


def make_cases(folder, source):
    """The builds of one source file; none when it is no run test."""
    default, levels, flags = FOLDERS[folder]
    text = source.read_text(encoding="latin-1")
    asked = dejagnu.read(text, flags, HAVE)
    if (asked.action or default) != "run" or source.stem.startswith("ice_"):
        return
    unknown = [name for name in asked.features if name not in FEATURES]
    skip = asked.skip or (f"needs {unknown[0]}" if unknown else None)
    wanted = [flag for name in asked.features for flag in FEATURES.get(name, [])]
    wanted += [flag for flag in asked.flags if not IDLE.fullmatch(flag)]
    if any(re.fullmatch(r"-O\w*", flag) for flag in wanted):
        levels = [None]
    name = str(source.relative_to(SUITE).with_suffix(""))
    sources = [source, *more_sources(source, text)]
    for level in levels:
        options = [f"-{level}"] if level else []
        yield reference.Case(
            label=" ".join([name, *options]),
            command=[common.CROSS_GCC, *FLAGS, *options, *flags, *wanted, *map(str, sources), "-lm"],
            text=text,
            stem=WORK / (level or "own") / name.replace("/", "-"),
            skip=skip,
        )


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--share", help="a fixed choice of this share of the tests, e.g. 1/10; levels: -O2 alone")
    options = common.parse(parser)
    reference.unpack(SUITE.parent, 4, ["gcc.target/aarch64/*"])
    cases = [
        case
        for folder in FOLDERS
        for source in sorted((SUITE / folder).glob("*.c"))
        for case in make_cases(folder, source)
        if options.only in case.label
    ]
    if options.share:
        cases = [case for case in cases if case.stem.parent.name in ("own", "O2")]
        cases = [case for case in cases if reference.in_share(case.label, options.share)]
    print(f"simd: {len(cases)} builds", file=sys.stderr)
    common.each(cases, lambda case: reference.check(case, options), options.jobs, common.Tally())


if __name__ == "__main__":
    main()
