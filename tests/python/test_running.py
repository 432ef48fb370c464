"""The ways to run: callbacks, background runs, jobs, and who may touch what meanwhile."""

import os
import signal
import threading
import time

import pytest

import kvrm
from words import BASE, COUNTING, add, b, b_ne, hlt, movz, program, svc


def looping(device, lanes=1):
    machine = kvrm.Machine(device=device, lanes=lanes)
    machine.load(program(add(0, 0, 1), b(-1)), BASE)
    machine.pc = BASE
    return machine


def test_budgets_are_exact(device):
    machine = looping(device, lanes=2)
    assert [stop.reason for stop in machine.run_all(1001)] == ["budget"] * 2
    assert machine.x[:, 0].tolist() == [501, 501]
    assert machine.run(10, lane=1).instructions == 10
    assert machine.x[:, 0].tolist() == [501, 506]


def test_batches_call_back(device):
    machine = looping(device)
    seen = []

    def change(batch):
        seen.append((batch.number, batch.signal, batch.instructions, machine.get_x(0)))
        machine.set_x(1, batch.number)  # lanes are stopped
        return batch.number < 3

    last = machine.run_continuous(100, callback=change)
    assert seen == [(1, "running", 100, 50), (2, "running", 200, 100), (3, "running", 300, 150)]
    assert last.signal == "checkpoint" and machine.get_x(1) == 3
    assert machine.run_continuous(10, max_batches=2).number == 2
    assert machine.run_mega(50).instructions == 50


def test_timeout_ends_batches(device):
    assert looping(device).run_continuous(1000, timeout=0.05).signal == "checkpoint"
    with pytest.raises(ValueError):
        looping(device).run_continuous(1, timeout=-1.0)


def test_an_exception_of_a_callback_comes_out(device):
    machine = looping(device)

    def fail(batch):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        machine.run_continuous(100, callback=fail)
    assert machine.run(2).reason == "budget", "the machine can continue"


def test_a_callback_may_not_run_the_machine(device):
    machine = looping(device)
    with pytest.raises(kvrm.Error, match="running"):
        machine.run_continuous(100, callback=lambda batch: machine.run(1))


def test_background(device):
    machine = looping(device)
    assert machine.wait() == []
    machine.start()
    assert machine.is_running()
    first = machine.poll().instructions
    while machine.poll().instructions <= first:
        time.sleep(0.001)
    for touch in (lambda: machine.x, lambda: machine.read(BASE, 4), lambda: machine.run(1), lambda: machine.start()):
        with pytest.raises(kvrm.Error, match="running"):
            touch()
    assert "running" in repr(machine)
    machine.cancel()
    (stop,) = machine.wait()
    assert stop.reason == "cancelled" and not machine.is_running()
    assert machine.get_x(0) >= stop.instructions // 2
    assert machine.wait() == []


def test_a_machine_may_go_away_while_it_runs(device):
    machine = looping(device)
    machine.start()
    del machine


def test_other_threads_go_on_meanwhile(device):
    machine = looping(device)
    ticks = 0
    runner = threading.Thread(target=machine.run)
    runner.start()
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        ticks += 1
    with pytest.raises(kvrm.Error, match="running"):
        machine.get_x(0)
    machine.cancel()
    runner.join()
    assert ticks > 1000


def test_interrupt_ends_a_run(device):
    machine = looping(device)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.run()
    assert machine.get_x(0) > 0


def test_system_call_hook(device):
    machine = kvrm.Machine(device=device, lanes=2)
    machine.load(program(movz(0, 5), svc(3), add(0, 0, 1), svc(9), hlt()), BASE)
    machine.pc = BASE
    calls = []

    def hook(caller, lane, immediate):
        calls.append((lane, immediate, caller.get_x(0, lane)))
        caller.set_x(0, 10 * (lane + 1), lane)
        with pytest.raises(kvrm.Error, match="running"):
            caller.get_x(0, 1 - lane)  # the other lane may be running
        return immediate == 3

    machine.on_system_call(hook)
    assert [stop.reason for stop in machine.run_all()] == ["system call"] * 2
    assert sorted(calls) == [(0, 3, 5), (0, 9, 11), (1, 3, 5), (1, 9, 21)]

    def fail(*_):
        raise LookupError("no such call")

    machine.on_system_call(fail)
    machine.pc = BASE
    with pytest.raises(LookupError, match="no such call"):
        machine.run()
    machine.on_system_call(None)
    machine.pc = BASE
    assert machine.run().reason == "system call"


def test_linux_program(device, sum_program):
    machine = kvrm.Machine(device=device, lanes=2)
    machine.load_program(sum_program, ["a", "b"], input=b"1 2 4")
    machine.load_program(sum_program, input=b"5", lane=1)
    stops = machine.run_all()
    assert [(stop.reason, stop.exit_status) for stop in stops] == [("exit", 1), ("exit", 2)]
    assert machine.take_output() == (b"7, 2 arguments\n", b"done\n")
    assert machine.take_output(1) == (b"5, 0 arguments\n", b"done\n")
    assert machine.take_output(1) == (b"", b"")


def test_jobs(device, sum_program):
    machine = kvrm.Machine(device=device, lanes=4)
    inputs = [f"{n} {n}".encode() for n in range(20)]
    seen = []
    results = machine.run_jobs(sum_program, inputs, args=["x"], callback=lambda result: seen.append(result.index))
    assert [result.index for result in results] == list(range(20)) == sorted(seen)
    assert [result.output for result in results] == [b"%d, 1 arguments\n" % (2 * n) for n in range(20)]
    assert [result.stop.exit_status for result in results] == [2 * n % 3 for n in range(20)]
    (own,) = machine.run_jobs(None, [kvrm.Job(["p", "q"], b"3", program=sum_program)])
    assert own.output == b"3, 2 arguments\n" and own.errors == b"done\n"
    (short,) = machine.run_jobs(sum_program, [b""], instructions=10)
    assert short.stop.reason == "budget" and short.instructions == 10
    (timely,) = machine.run_jobs(sum_program, [b"3"], timeout=60)
    assert timely.stop.reason == "exit"
    with pytest.raises(ValueError, match="timeout"):
        machine.run_jobs(sum_program, [b""], timeout=-1)
    with pytest.raises(kvrm.Error, match="/nowhere"):
        machine.run_jobs("/nowhere", [b""])
    assert (own.stdout, own.stderr) == (own.output, own.errors)
    job = kvrm.Job(input=b"3")
    assert job.stdin == job.input == b"3"


def test_results_of_jobs_count(device, sum_program):
    machine = kvrm.Machine(device=device)
    (whole,) = machine.run_jobs(sum_program, [b"1 2"])
    assert whole.stop.instructions == whole.instructions > 0
    assert f", {whole.instructions} instructions, 15 bytes of output, 5 bytes of errors>" in repr(whole)
    assert repr(whole).startswith("<kvrm.JobResult 0: exit, status 0, pc 0x")
    (cut,) = machine.run_jobs(sum_program, [b"3"], max_output=4)
    assert "4 bytes (cut) of output, 4 bytes (cut) of errors>" in repr(cut)
    (failed,) = machine.run_jobs(None, [kvrm.Job(program="/nowhere")])
    assert repr(failed).startswith("<kvrm.JobResult 0: /nowhere: ")


def test_jobs_can_be_ended(sum_program):
    machine = kvrm.Machine(device="cpu", lanes=1)
    results = machine.run_jobs(sum_program, [b"1"] * 50, callback=lambda result: False)
    assert results[0].output == b"1, 0 arguments\n"
    assert results[-1] is None


def test_lanes_with_one_memory(device):
    machine = kvrm.Machine(device=device, lanes=4, shared_memory=True)
    # ldadd x1, x0, [x2], a hundred times in each lane
    machine.load(program(movz(3, 100), 0xF8210040, 0xF1000463, b_ne(-2), hlt()), BASE)
    machine.map(0x40000, 4096)
    machine.pc = BASE
    machine.set_x(1, 1)
    machine.set_x(2, 0x40000)
    assert [stop.reason for stop in machine.run_all()] == ["halt"] * 4
    assert machine.read_array(0x40000, 1, "<u8", lane=3)[0] == 400
    with pytest.raises(kvrm.Error, match="stays as it was"):
        machine.map(0x50000, 4096)


def test_lanes_and_the_host_with_one_memory(on_host, device):
    machine = kvrm.Machine(device=device, lanes=3, shared_memory=True)
    shared = machine.map_shared(0x40000, 4096).view("<u8")
    shared[0] = 5
    machine.load(program(movz(1, 1), 0xF8210040, hlt()), BASE)  # ldadd x1, x0, [x2]
    machine.pc = BASE
    machine.set_x(2, 0x40000)
    machine.run_all()
    assert shared[0] == 8


def test_counting_program(device):
    machine = kvrm.Machine(device=device)
    machine.load(COUNTING, 0)
    machine.load(bytes(8), 0x1000)
    assert machine.run(1000).reason == "budget"
    assert machine.read_array(0x1000, 1, "<u8")[0] == 333
