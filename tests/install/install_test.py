#!/usr/bin/env python3
"""Installs the library into a folder with a space in its name, builds users' projects against it, and runs them.

    install_test.py --build DIR --generator G --compiler C [--flags=F]

The projects are examples/, and the program that README.md prints, with the libraries that are installed: the shared one
must do without LLVM, show nothing but the public API, and keep programs small.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

EXPECTED = {
    "raw_loop": "halt after 301 instructions, x0 = 5050\n",
    "system_call_hook": "the guest says 3\nthe guest says 2\nthe guest says 1\nsystem call at 0x10014\n",
}
NO_LLVM = "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON"
MOST_BYTES = 1 << 20
# Translates before anything runs, or says that it cannot.
TRANSLATES = """
#include <kvrm/machine.h>

#include <cstdint>
#include <cstdio>
#include <span>

int main() {
  const std::uint32_t code[] = {0xd2800c81, 0x8b010000, 0xf1000421, 0x54ffffc1, 0xd4400000};
  kvrm::Options options;
  options.device = kvrm::Device::kCpu;
  options.engine = kvrm::Engine::kJit;
  options.jit_threshold = 0;
  auto machine = kvrm::Machine::create(options);
  const bool can = kvrm::information().translator_problem.empty();
  if (can != machine.ok()) return 1;
  if (!can) return 0;
  if (!machine->load(std::as_bytes(std::span(code)), 0x1000)) return 2;
  machine->set_pc(0x1000);
  machine->run();
  return machine->x(0) == 5050 && machine->statistics().regions > 0 ? 0 : 3;
}
"""


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"install: {' '.join(map(str, command))}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def expect(condition, message):
    if not condition:
        sys.exit(f"install: {message}")


def expect_output(program, expected):
    output = run(program)
    expect(output == expected, f"{program.name} printed\n{output}instead of\n{expected}")


class Consumer:
    """Configures and builds projects that use what is installed."""

    def __init__(self, arguments, prefix):
        self.options = [
            "-G", arguments.generator, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={arguments.compiler}",
            f"-DCMAKE_CXX_FLAGS={arguments.flags}",
        ]  # fmt: skip

    def build(self, sources, *more):
        build = sources.with_name(sources.name + " build")
        run("cmake", "-S", sources, "-B", build, *self.options, *more)
        run("cmake", "--build", build)
        return build


def printed_in_readme():
    """README's program, and its CMakeLists.txt."""
    text = (SOURCE / "README.md").read_text()
    blocks = {kind: re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S) for kind in ("cpp", "cmake")}
    expect(all(len(found) == 1 for found in blocks.values()), "README.md has not one cpp and one cmake block")
    return blocks["cpp"][0], blocks["cmake"][0]


def check_examples(folder, consumer, options):
    sources = folder / "examples"
    run("cp", "-r", SOURCE / "examples", sources)  # so that nothing of the tree can be found by a relative path
    build = consumer.build(sources, *options)
    for example, expected in EXPECTED.items():
        expect_output(build / example, expected)
    refused = subprocess.run([build / "run_program", sources / "CMakeLists.txt"], capture_output=True, text=True)
    expect(
        refused.returncode == 1 and refused.stderr.startswith("run_program: "),
        f"run_program should refuse a text file: {refused.returncode}, {refused.stderr!r}",
    )


def check_readme(folder, consumer, component, options):
    program, project = printed_in_readme()
    sources = folder / f"readme {component}"
    sources.mkdir()
    (sources / "sum.cpp").write_text(program)
    (sources / "translates.cpp").write_text(TRANSLATES)
    if component:
        project = project.replace("find_package(kvrm REQUIRED)", f"find_package(kvrm REQUIRED COMPONENTS {component})")
    project += "add_executable(translates translates.cpp)\ntarget_link_libraries(translates PRIVATE kvrm::kvrm)\n"
    (sources / "CMakeLists.txt").write_text(project)
    build = consumer.build(sources, *options)
    expect_output(build / "sum", "halt, x0 = 5050\n")
    run(build / "translates")
    return build / "sum"


def check_shared(library, program):
    expect(program.stat().st_size < MOST_BYTES, f"a program has {program.stat().st_size} bytes")
    shown = [line.split(maxsplit=2)[2] for line in run("nm", "-DC", "--defined-only", library).splitlines()]
    public = re.compile(r"kvrm::((Machine|Lane|LoopGuesser|LoopProver|Fleet|Weights|Program|ProgramFile|Tier|\w*Statistics)::|\w+(\[abi:cxx11\])?\()")
    more = [name for name in shown if not public.match(name) or "::Parts::" in name]
    expect(shown and not more, f"libkvrm.so shows more than the public API: {more[:5]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--flags", default="", help="what the library was built with beside its own flags")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kvrm install ") as temporary:
        folder = pathlib.Path(temporary)
        prefix = folder / "the prefix"
        run("cmake", "--install", arguments.build, "--prefix", prefix)
        consumer = Consumer(arguments, prefix)
        shared = next(prefix.glob("lib*/**/libkvrm.so"), None)
        options = [NO_LLVM] if shared else []
        check_examples(folder, consumer, options)
        program = check_readme(folder, consumer, "", options)
        if shared:
            check_shared(shared, program)
            check_readme(folder, consumer, "static", [])
    print(f"install: {len(EXPECTED)} examples and README's program print what they should")


if __name__ == "__main__":
    main()
