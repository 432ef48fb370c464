"""kvrm.Fleet, kvrm.ProgramFile, and the options that Machine and Fleet share."""

import pytest

import kvrm
from words import BASE, hlt, movz, program


@pytest.fixture
def fleet(device):
    return kvrm.Fleet((0, 0), device=device, lanes=2)


def test_fleet_runs_jobs_on_all_machines(fleet, sum_program):
    assert fleet.machines == len(fleet) == 2 and "2 machines" in repr(fleet)
    inputs = [f"{n} {n}".encode() for n in range(20)]
    seen = []
    results = fleet.run_jobs(sum_program, inputs, args=["x"], callback=lambda result: seen.append(result.index))
    assert sorted(seen) == list(range(20))
    assert [result.index for result in results] == list(range(20))
    assert all(result.output == b"%d, 1 arguments\n" % (2 * n) for n, result in enumerate(results))
    assert all(result.instructions == result.stop.instructions > 0 for result in results)
    statistics = fleet.statistics()
    assert statistics.jobs == 20 and fleet.poll().jobs_done == 20
    assert statistics.instructions == sum(result.instructions for result in results)


def test_exception_of_a_callback_leaves_a_fleet(fleet, sum_program):
    def fail(result):
        raise KeyError(result.index)

    with pytest.raises(KeyError):
        fleet.run_jobs(sum_program, [b"1"] * 4, callback=fail)


def test_cancelled_fleet_stays_cancelled(fleet, sum_program):
    fleet.cancel()
    assert fleet.run_jobs(sum_program, [b"1"] * 3) == [None] * 3


def test_fleet_needs_a_device(device):
    with pytest.raises(kvrm.Error, match="at least one device"):
        kvrm.Fleet((), device=device)


def test_program_from_bytes(device, sum_program, fleet):
    file = kvrm.ProgramFile.from_bytes(sum_program.read_bytes(), "adder")
    assert file.path == "adder" and len(file) == sum_program.stat().st_size and "adder" in repr(file)
    machine = kvrm.Machine(device=device)
    machine.load_program(file, input=b"4 5")
    assert machine.run().reason == "exit"
    assert machine.take_output()[0] == b"9, 0 arguments\n"
    assert [result.output for result in machine.run_jobs(file, [b"1"])] == [b"1, 0 arguments\n"]
    (own,) = fleet.run_jobs(None, [kvrm.Job(["a"], b"2", program=file)])
    assert own.output == b"2, 1 arguments\n"
    opened = kvrm.ProgramFile.open(sum_program)
    assert opened.path == str(sum_program)
    assert machine.run_jobs(opened, [b"3"])[0].output == b"3, 0 arguments\n"


def test_bad_programs_are_errors(machine_of_one):
    with pytest.raises(kvrm.Error, match="noise"):
        machine_of_one.load_program(kvrm.ProgramFile.from_bytes(b"no ELF", "noise"))
    with pytest.raises(kvrm.Error, match="/nowhere"):
        kvrm.ProgramFile.open("/nowhere")
    with pytest.raises(TypeError):
        machine_of_one.load_program(None)


@pytest.fixture
def machine_of_one(device):
    return kvrm.Machine(device=device)


def test_translator_options(device):
    machine = kvrm.Machine(device=device, jit_threshold=3, jit_budget=1.5, spread_jobs=True)
    machine.load(program(movz(0, 42), hlt(7)), BASE)
    machine.pc = BASE
    assert machine.run().reason == "halt"
    kvrm.Machine(device=device, jit_threshold=None, jit_budget=None, windows=False, accelerate=True)


@pytest.mark.parametrize("options", [{"jit_threshold": "often"}, {"threads": "2"}, {"spread_jobs": 5}, {"no_such": 1}])
def test_bad_options_are_type_errors(device, options):
    with pytest.raises(TypeError, match=next(iter(options))):
        kvrm.Machine(device=device, **options)


def test_common_memory_is_a_deprecated_name(device):
    with pytest.warns(DeprecationWarning, match="shared_memory"):
        machine = kvrm.Machine(device=device, lanes=2, common_memory=True)
    machine.map(0x1000, 0x1000)
    machine.write(0x1000, b"once", lane=0)
    assert machine.read(0x1000, 4, lane=1) == b"once"
