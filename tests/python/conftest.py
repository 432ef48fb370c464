"""What the tests of the Python package share. KVRM_DEVICE in the environment says where they run (default: cpu)."""

import os
import pathlib
import subprocess

import pytest

os.environ.setdefault("KVRM_DEVICE", "cpu")

SUM = r"""
#include <stdio.h>
int main(int argc, char** argv) {
  long sum = 0, n;
  while (scanf("%ld", &n) == 1) sum += n;
  printf("%ld, %d arguments\n", sum, argc - 1);
  fprintf(stderr, "done\n");
  return sum % 3;
}
"""


def pytest_addoption(parser):
    parser.addoption("--build", type=pathlib.Path, help="the build folder, for the test of the installed package")


@pytest.fixture(scope="session")
def device():
    return os.environ["KVRM_DEVICE"]


@pytest.fixture
def on_host(device):
    if device != "cpu":
        pytest.skip("views without copies are the CPU device's")


@pytest.fixture(scope="session")
def sum_program(tmp_path_factory):
    """A Linux program that adds up the numbers on its stdin; KVRM_SUM_PROGRAM is one built elsewhere."""
    if ready := os.environ.get("KVRM_SUM_PROGRAM"):
        return pathlib.Path(ready)
    folder = tmp_path_factory.mktemp("guest")
    (folder / "sum.c").write_text(SUM)
    subprocess.run(["aarch64-linux-gnu-gcc", "-O2", "-static", "-o", folder / "sum", folder / "sum.c"], check=True)
    return folder / "sum"
