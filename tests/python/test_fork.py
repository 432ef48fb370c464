"""A machine that a forked child inherits says so and hangs nowhere."""

import multiprocessing
import os
import signal
import warnings

import pytest

import kvrm
from words import BASE, b, hlt, movz, program

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def in_a_fork(work):
    """Whether work() is true in a child; one that hangs is killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def refuses(call):
    try:
        call()
    except kvrm.Error as error:
        return f"belongs to process {os.getppid()}, and process {os.getpid()} is a fork of it" in str(error)
    return False


@pytest.fixture
def machine(device):
    made = kvrm.Machine(device=device, lanes=3, threads=3)
    made.load(program(movz(0, 42), hlt()), BASE)
    made.pc = BASE
    made.run_all()
    return made


CALLS = {
    "attributes": [lambda m: m.x, lambda m: m.v, lambda m: m.sp, lambda m: m.pc, lambda m: m.nzcv],
    "assignments": [lambda m: setattr(m, "x", 0), lambda m: setattr(m, "pc", 0), lambda m: m.set_x(0, 1)],
    "registers": [
        lambda m: m.get_x(0), lambda m: m.set_pc(0), lambda m: m.set_sp(0), lambda m: m.registers(),
        lambda m: m.set_registers(kvrm.Registers()), lambda m: m.x_view(), lambda m: m.v_view(),
    ],
    "memory": [
        lambda m: m.load(b"1234", BASE), lambda m: m.load_code(b"1234", 0x20000), lambda m: m.write(BASE, b"1"),
        lambda m: m.read(BASE, 1), lambda m: m.read_array(BASE, 1), lambda m: m.map(0x30000, 4096),
        lambda m: m.protect(BASE, 4096, "r"), lambda m: m.unmap(BASE, 4096), lambda m: m.map_shared(0x40000, 4096),
    ],
    "runs": [
        lambda m: m.run(), lambda m: m.run(1), lambda m: m.run_all(), lambda m: m.run_continuous(10),
        lambda m: m.run_mega(10), lambda m: m.start(), lambda m: m.wait(), lambda m: m.poll(),
        lambda m: m.is_running(), lambda m: m.cancel(), lambda m: m.run_jobs("/nowhere", [b""]),
    ],
    "the rest": [
        lambda m: m.load_program("/nowhere"), lambda m: m.take_output(), lambda m: m.on_system_call(None),
        lambda m: m.statistics(), lambda m: m.dispatch_statistics(), lambda m: m.dispatch_statistics(0),
    ],
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS.keys())
def test_every_call_is_refused(machine, calls):
    assert in_a_fork(lambda: all(refuses(lambda call=call: call(machine)) for call in calls))
    assert machine.get_x(0) == 42


def test_it_still_has_a_text_and_can_go_away(machine):
    assert in_a_fork(lambda: repr(machine) == "<kvrm.Machine of another process, 3 lanes>" and len(machine) == 3)

    def drop():
        nonlocal machine
        del machine
        return True

    assert in_a_fork(drop)


def test_of_a_process_whose_machine_runs(device):
    machine = kvrm.Machine(device=device)
    machine.load(program(b(0)), BASE)
    machine.pc = BASE
    machine.start()
    assert in_a_fork(lambda: refuses(machine.poll) and refuses(machine.wait))

    def drop():
        nonlocal machine
        del machine
        return True

    assert in_a_fork(drop)
    assert machine.is_running()
    machine.cancel()
    assert machine.wait()[0].reason == "cancelled"


def child_of_multiprocessing(machine, answers):
    try:
        machine.run_all()
    except kvrm.Error as error:
        own = kvrm.Machine(device="cpu", lanes=3, threads=3)
        own.load(program(movz(0, 7), hlt()), BASE)
        own.pc = BASE
        own.run_all()
        answers.put((str(error), own.x[:, 0].tolist()))


def test_multiprocessing(machine):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = context.Process(target=child_of_multiprocessing, args=(machine, answers))
        child.start()
    child.join(60)
    assert child.exitcode == 0, "it ends by itself, machines and all"
    message, numbers = answers.get()
    assert "make another machine here" in message and numbers == [7, 7, 7]
