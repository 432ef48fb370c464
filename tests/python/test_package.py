"""The package as it is installed: everything is there, typed, and works away from the tree."""

import ast
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import kvrm

CODE = """
import kvrm, kvrm_metal, mlx_kernel.cpu_kernel_v2
machine = kvrm.Machine(device="cpu", dispatch="neural")
machine.load(bytes.fromhex("400580d2000040d4"), 0x1000)
machine.pc = 0x1000
print(kvrm.__file__, machine.run().reason, machine.get_x(0))
"""


def test_everything_is_documented_and_typed():
    stub = ast.parse((pathlib.Path(kvrm.__file__).parent / "_kvrm.pyi").read_text())
    typed = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for name in set(kvrm.__all__) - {"__version__"}:
        assert name in typed
        assert name == "Error" or inspect.getdoc(getattr(kvrm, name)), name
    for member in typed["Machine"].body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            assert inspect.getdoc(getattr(kvrm.Machine, member.name)) or member.name == "lanes", member.name
            assert member.returns is not None


def test_installed(request, tmp_path):
    build = request.config.getoption("--build")
    if build is None:
        pytest.skip("no --build")
    subprocess.run(
        ["cmake", "--install", build, "--component", "python", "--prefix", tmp_path], check=True, capture_output=True
    )
    assert (tmp_path / "kvrm" / "py.typed").exists() and (tmp_path / "kvrm" / "_kvrm.pyi").exists()
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd="/", env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == f"{tmp_path}/kvrm/__init__.py halt 42\n"
