"""kvrm.Machine: state in, state out, errors."""

import gc
import json
import os
import pathlib
import re
import subprocess
import sys
import types
import weakref

import numpy as np
import pytest

import kvrm
from words import BASE, add, b_ne, hlt, ldr_x, movk, movz, program, str_x, subs


@pytest.fixture
def machine(device):
    made = kvrm.Machine(device=device, lanes=3)
    made.load(program(movz(0, 42), hlt(7)), BASE)
    made.pc = BASE
    return made


def test_runs_a_program(machine):
    stop = machine.run()
    assert (stop.reason, stop.address, stop.pc, stop.instructions) == ("halt", 7, BASE + 4, 1)
    assert machine.get_x(0) == 42
    assert machine.get_x(0, lane=1) == 0, "only lane 0 was run"


def test_code_of_all_lanes(device):
    machine = kvrm.Machine(device=device, lanes=40)
    machine.load_code(program(add(0, 0, 7), hlt(1)), BASE)
    machine.pc = BASE
    machine.x = np.arange(40, dtype=np.uint64)[:, None] * np.ones(31, dtype=np.uint64)
    assert {stop.reason for stop in machine.run_all()} == {"halt"}
    assert machine.x[:, 0].tolist() == [lane + 7 for lane in range(40)]
    with pytest.raises(kvrm.Error, match="load code"):
        machine.load_code(program(hlt(1)), BASE + 4)


def test_registers_are_arrays_over_all_lanes(machine):
    assert machine.lanes == len(machine) == 3
    assert machine.x.shape == (3, 31) and machine.x.dtype == np.uint64
    assert machine.v.shape == (3, 32, 2)
    assert machine.sp.shape == machine.pc.shape == machine.nzcv.shape == (3,)
    machine.x = np.arange(93).reshape(3, 31)
    machine.v = np.arange(64).reshape(32, 2)
    machine.sp = [16, 32, 48]
    machine.nzcv = 0xF0000000
    assert (machine.x == np.arange(93).reshape(3, 31)).all()
    assert (machine.v[2] == np.arange(64).reshape(32, 2)).all()
    assert machine.sp.tolist() == [16, 32, 48]
    assert machine.nzcv.tolist() == [0xF0000000] * 3
    registers = machine.registers(1)
    assert registers.x.tolist() == list(range(31, 62)) and registers.sp == 32 and registers.pc == BASE
    machine.set_registers(registers, lane=0)
    assert machine.registers(0) == registers


def test_copies_refuse_to_be_written(machine):
    with pytest.raises(ValueError, match="read-only"):
        machine.x[0, 0] = 1


def test_values_of_wrong_shape_or_type_are_refused(machine):
    with pytest.raises(ValueError):
        machine.x = np.zeros((3, 30))
    with pytest.raises(TypeError):
        machine.set_x(0, 1.5)
    with pytest.raises(TypeError):
        machine.set_x(0, "1")


def test_registers_are_set_modulo_2_64(machine):
    machine.set_x(0, -1)
    machine.set_x(1, np.int64(-2), lane=1)
    machine.set_x(2, (1 << 64) + 5)
    assert [machine.get_x(0), machine.get_x(1, 1), machine.get_x(2)] == [(1 << 64) - 1, (1 << 64) - 2, 5]
    machine.set_pc(-4)
    machine.set_sp(-16)
    assert machine.pc.tolist() == [(1 << 64) - 4] * 3 and machine.sp.tolist() == [(1 << 64) - 16] * 3
    machine.sp = [-1, 1 << 63, (1 << 64) + 7]
    assert machine.sp.tolist() == [(1 << 64) - 1, 1 << 63, 7]
    registers = machine.registers()
    registers.pc = registers.tpidr_el0 = -8
    assert registers.pc == registers.tpidr_el0 == (1 << 64) - 8


def test_memory_in_and_out(machine):
    machine.map(0x20000, 8192, "rw")
    machine.write(0x20000, np.arange(4, dtype="<u4"))
    assert machine.read(0x20000, 8, lane=2) == bytes([0, 0, 0, 0, 1, 0, 0, 0])
    assert machine.read_array(0x20000, (2, 2), "<u4", lane=1).tolist() == [[0, 1], [2, 3]]
    machine.write(0x20000, b"\xff", lane=1)
    assert [machine.read(0x20000, 1, lane)[0] for lane in range(3)] == [0, 255, 0]
    machine.unmap(0x20000, 4096)
    with pytest.raises(kvrm.Error, match="read: no 1 bytes at 0x20000"):
        machine.read(0x20000, 1)
    with pytest.raises(kvrm.Error, match="read: no 12288 bytes at 0x21000"):
        machine.read(0x21000, 12288)
    with pytest.raises(kvrm.Error, match="read: no 8192 bytes at 0x20000"):
        machine.read_array(0x20000, 1024, "<u8")
    assert machine.read(0x21000, 2) == b"\0\0"


def test_protection_is_the_guests(device):
    machine = kvrm.Machine(device=device)
    machine.load(program(str_x(0, 1), hlt()), BASE)
    machine.map(0x20000, 4096, "rw")
    machine.protect(0x20000, 4096, "r")
    machine.pc, machine.x = BASE, np.full(31, 0x20000)
    stop = machine.run()
    assert (stop.reason, stop.fault, stop.fault_is_write, stop.address) == ("fault", "permission", True, 0x20000)
    machine.write(0x20000, b"1")  # a debugger may


def test_register_views_are_the_registers(on_host, device):
    machine = kvrm.Machine(device=device, lanes=2)
    machine.load(program(add(0, 1, 5), hlt()), BASE)
    machine.pc = BASE
    x, v = machine.x_view(1), machine.v_view(1)
    x[1], v[3, 1] = 37, 9
    machine.run(lane=1)
    assert x[0] == 42 and machine.get_x(0) == 0 and machine.v[1, 3, 1] == 9


def test_shared_memory_is_one_for_both(on_host, device):
    machine = kvrm.Machine(device=device)
    machine.load(program(ldr_x(0, 1), add(0, 0, 1), str_x(0, 1), hlt()), BASE)
    shared = machine.map_shared(0x40000, 8192)
    numbers = shared.view("<u8")
    numbers[512] = 41
    machine.pc = BASE
    machine.set_x(1, 0x41000)
    assert machine.run().reason == "halt"
    assert numbers[512] == 42
    with pytest.raises(kvrm.Error, match="code"):
        machine.map_shared(0x50000, 4096, "rwx")


def test_views_outlive_everything(on_host, device, sum_program):
    machine = kvrm.Machine(device=device)
    x, shared = machine.x_view(), machine.map_shared(0x40000, 4096)
    machine.load_program(sum_program)  # a new lane
    x[0] = shared[0] = 5
    assert machine.get_x(0) == 0, "the view is of the lane that was"
    del machine
    gc.collect()
    x[0] = shared[0] = 6
    assert x[0] == shared[0] == 6


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ({"device": "moon"}, ValueError, "auto, cpu, cuda"),
        ({"dispatch": "guess"}, ValueError, "table, neural, hybrid"),
        ({"lanes": 0}, kvrm.Error, "at least one lane"),
        ({"lanes": 10**9}, kvrm.Error, "at most 16777216 lanes, not 1000000000; run_jobs"),
        ({"lanes": -1}, kvrm.Error, "1 to 16777216 lanes, not -1"),
        ({"lanes": 10**30}, kvrm.Error, "not 1000000000000000000000000000000"),
        ({"lanes": 1.5}, TypeError, "float"),
        ({"memory": 1}, kvrm.Error, "at least one page"),
        ({"weights": [0.0] * 135}, ValueError, "neural"),
        ({"dispatch": "neural", "weights": "/nowhere.npy"}, kvrm.Error, "/nowhere.npy"),
    ],
)
def test_bad_options_are_explained(arguments, error, text):
    with pytest.raises(error, match=text):
        kvrm.Machine(**arguments)


def test_the_translator_gives_the_same():
    """A million rounds, hot enough to be translated; where there is no translator, Machine says so."""
    loop = program(movz(0, 0), movz(1, 0x4240), movk(1, 0xF, 16), add(0, 0, 3), subs(1, 1, 1), b_ne(-2), hlt())
    ended = []
    for engine in ("interp", "jit"):
        try:
            machine = kvrm.Machine(device="cpu", engine=engine)
        except kvrm.Error as error:
            assert engine == "jit" and "translator" in str(error)
            pytest.skip(str(error))
        machine.load(loop, BASE)
        machine.pc = BASE
        stop = machine.run()
        ended.append((stop.reason, stop.instructions, machine.pc, machine.get_x(0)))
    assert ended[0] == ended[1] and ended[0][3] == 3_000_000


def test_bad_calls_are_explained(machine):
    for call, error in [
        (lambda: machine.get_x(31), IndexError),
        (lambda: machine.get_x(-1), IndexError),
        (lambda: machine.set_x(31, 0), IndexError),
        (lambda: machine.get_x(0, lane=3), IndexError),
        (lambda: machine.get_x(0, lane=-1), IndexError),
        (lambda: machine.set_x(0, 1, lane=3), IndexError),
        (lambda: machine.set_pc(0, lane=3), IndexError),
        (lambda: machine.registers(3), IndexError),
        (lambda: machine.read(0, 1, lane=3), IndexError),
        (lambda: machine.map(0, 4096, lane=3), IndexError),
        (lambda: machine.take_output(3), IndexError),
        (lambda: machine.dispatch_statistics(3), IndexError),
        (lambda: machine.load_program("/nowhere", lane=3), IndexError),
        (lambda: machine.run(lane=3), IndexError),
        (lambda: machine.load(b"1", 0x1000, lane=3), IndexError),
        (lambda: machine.load(np.zeros((4, 4))[:, ::2], 0), ValueError),
        (lambda: machine.load("text", 0), TypeError),
        (lambda: machine.load(b"1", 1 << 60), kvrm.Error),
        (lambda: machine.read(0x1000, 1 << 50), kvrm.Error),
        (lambda: machine.read((1 << 64) - 1, 2), kvrm.Error),
        (lambda: machine.map(0, 4096, "rwz"), ValueError),
        (lambda: machine.map(0, 0), kvrm.Error),
        (lambda: machine.protect(0x900000, 4096, "r"), kvrm.Error),
        (lambda: machine.load_program("/nowhere"), kvrm.Error),
    ]:
        with pytest.raises(error):
            call()


def test_one_string_is_no_sequence_of_strings(machine, sum_program):
    for call in [
        lambda: machine.load_program(sum_program, "abc"),
        lambda: machine.run_jobs(sum_program, [b""], args="abc"),
        lambda: kvrm.Job("abc"),
    ]:
        with pytest.raises(TypeError, match=r"args is a sequence of strings; for one string write args=\['abc'\]"):
            call()
    with pytest.raises(TypeError, match="jobs is a sequence"):
        machine.run_jobs(sum_program, b"1 2")
    with pytest.raises(TypeError):
        machine.load_program(sum_program, env=5)


def test_the_environment_may_be_any_mapping(device, sum_program):
    machine = kvrm.Machine(device=device)
    machine.load_program(sum_program, env=types.MappingProxyType({"A": "b"}))
    assert machine.run().reason == "exit"


def test_text_for_notebooks(machine):
    machine.run_all()
    text = repr(machine)
    assert "3 lanes" in text and "3 instructions" in text
    assert repr(machine.run()).startswith("<kvrm.Stop halt, pc 0x1004")
    assert "x0 0x2a" in repr(machine.registers())
    assert "instructions in" in repr(machine.statistics())


def test_statistics(machine):
    machine.run_all()
    statistics = machine.statistics()
    assert statistics.instructions == 3 and statistics.launches == 1
    facts = json.loads(json.dumps(statistics.as_dict()))
    assert facts["dispatch"]["mode"] == "table"
    assert set(facts) == {name for name in dir(statistics) if not name.startswith("_") and name != "as_dict"}


def test_a_machine_in_a_circle_is_collected(device):
    def circle():
        machine = kvrm.Machine(device=device)
        machine.on_system_call(lambda *_: machine is None)
        return weakref.ref(machine)

    seen = circle()
    gc.collect()
    assert seen() is None


def test_disassembles_and_knows_itself():
    assert kvrm.disassemble(movz(0, 42)) == "mov\tx0, #42"
    assert kvrm.disassemble(0xFFFFFFFF) == ".inst 0xffffffff"
    assert kvrm.information()["rows"] == kvrm.information()["implemented_rows"]
    assert kvrm.__version__ == "0.1.0"


def test_engines_are_named_with_the_reason_why_not():
    facts = kvrm.information()
    assert facts["engines"]["interp"] == {"available": True, "reason": ""}
    jit = facts["engines"]["jit"]
    try:
        kvrm.Machine(device="cpu", engine="jit")
        assert jit == {"available": True, "reason": ""}
    except kvrm.Error as error:
        assert jit == {"available": False, "reason": str(error)}
    for gpu in facts["gpus"]:
        for engine in gpu["engines"].values():
            assert engine["available"] == (engine["reason"] == "")
    assert kvrm.info() == facts


def test_advice_is_in_the_terms_of_python():
    code = "import kvrm; print(kvrm.information()['gpu_problem']); kvrm.Machine(device='cuda')"
    environment = {**os.environ, "KVRM_LIBCUDA": "/nowhere/libcuda.so"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "or use device='cpu'" in done.stdout and "or use device='cpu'" in done.stderr
    with pytest.raises(kvrm.Error, match="verify them, or use dispatch='hybrid' or unverified=True"):
        kvrm.Machine(device="cpu", dispatch="neural", weights=kvrm.built_in_weights("dispatch-small"))


def test_the_library_names_no_options_of_the_command_line():
    """What the library says reaches programs in C++ and Python, too."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for path in [*root.glob("src/**/*.cpp"), *root.glob("src/**/*.h"), *root.glob("include/**/*.h")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                assert not re.search(r"(?<![-\w])--[a-z]", text), f"{path}:{number}: {text}"
