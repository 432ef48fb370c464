#!/usr/bin/env python3
"""kvrm fleet: inputs, records, interruption, several devices and ranks.

    fleet_test.py build/kvrm
"""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from common import COMPILER, KVRM, GuestCase, run


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Fleet(GuestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        self.out = self.here / "results.jsonl"

    def write(self, name, content):
        path = self.here / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def corpus(self, count):
        for i in range(count):
            self.write(f"corpus/{i:03}", f"input {i}\n" * (i % 5))
        return self.here / "corpus"

    def records(self):
        lines = self.out.read_bytes().splitlines(keepends=True)
        self.assertTrue(all(line.endswith(b"\n") for line in lines))
        header, *records = [json.loads(line) for line in lines]
        self.assertEqual(header["kvrm_fleet"], 1)
        return {record["index"]: record for record in records}, len(records)

    def expect_all(self, count):
        records, lines = self.records()
        self.assertEqual(lines, count)
        self.assertEqual(sorted(records), list(range(count)))
        return records

    def test_a_file_each(self):
        corpus = self.corpus(12)
        result = run("fleet", "--stdin-dir", corpus, "--lanes", 3, "--out", self.out, self.guest("echo"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"12 of 12 inputs: 12 exit 0", result.stderr)
        for index, record in self.expect_all(12).items():
            content = (corpus / record["name"]).read_bytes()
            self.assertEqual(record["name"], f"{index:03}")
            self.assertEqual(record["stdout"].encode(), content)
            alone = run("run", "--stats=json", self.guest("echo"), input=content)
            self.assertEqual(record["exit_status"], alone.returncode)
            self.assertEqual(record["instructions"], json.loads(alone.stderr)["instructions"])

    def test_a_line_each(self):
        lines = self.write("lines", "one\n\nthree")
        self.assertEqual(run("fleet", "--stdin-lines", lines, "--out", self.out, self.guest("echo")).returncode, 0)
        records = self.expect_all(3)
        self.assertEqual([records[i]["stdout"] for i in range(3)], ["one\n", "\n", "three\n"])

    def test_arguments_each(self):
        lines = self.write("arguments", "a b\n\n'a b' \"c \\\" d\" e\\ f\n")
        command = ["fleet", "--args-file", lines, "--out", self.out, self.guest("arguments"), "own", "--out"]
        self.assertEqual(run(*command).returncode, 0)
        records = self.expect_all(3)
        self.assertEqual([records[i]["exit_status"] for i in range(3)], [5, 3, 6])

    def test_a_program_each(self):
        text = self.write("text", "from a file")
        echo, crash, seven = (self.guest(name) for name in ("echo", "crash", "seven"))
        lines = self.write("programs", f"# a comment\n{seven}\n\n{echo} <{text}\n{crash} x\n/no/such\n{echo} </none\n")
        result = run("fleet", "--programs", lines, "--out", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        records = self.expect_all(5)
        self.assertEqual(records[0]["exit_status"], 7)
        self.assertEqual(records[1]["stdout"], "from a file")
        self.assertEqual(records[2]["signal"], signal.SIGSEGV)
        self.assertIn("/no/such", records[3]["error"])
        self.assertIn("/none", records[4]["error"])
        self.assertNotIn("instructions", records[3])

    def test_bytes_that_are_no_text(self):
        self.write("corpus/binary", bytes(range(256)))
        run("fleet", "--stdin-dir", self.here / "corpus", "--out", self.out, self.guest("echo"))
        record = self.expect_all(1)[0]
        self.assertNotIn("stdout", record)
        self.assertEqual(base64.b64decode(record["stdout_base64"], validate=True), bytes(range(256)))

    def test_output_files_and_limits(self):
        corpus, folder = self.corpus(5), self.here / "outputs"
        command = ["fleet", "--stdin-dir", corpus, "--stdout-dir", folder, "--out", self.out, self.guest("echo")]
        self.assertEqual(run(*command).returncode, 0)
        for record in self.expect_all(5).values():
            self.assertEqual((folder / record["stdout_file"]).read_bytes(), (corpus / record["name"]).read_bytes())
        self.out.unlink()
        command = ["fleet", "--stdin-dir", corpus, "--max-output", "8", "--max-instructions", "100"]
        self.assertEqual(run(*command, "--out", self.out, self.guest("echo")).returncode, 0)
        record = self.expect_all(5)[4]
        self.assertEqual((record["stdout"], record["stdout_cut"]), ("input 4\n", True))

    def test_killed_and_resumed(self):
        count = 40
        command = ["fleet", "--stdin-dir", self.corpus(count), "--out", self.out]
        process = subprocess.Popen([KVRM, *map(str, command), self.guest("slow")], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and (not self.out.exists() or self.out.read_bytes().count(b"\n") < 6):
            time.sleep(0.005)
        process.kill()
        process.wait()
        first, lines = self.records()
        self.assertEqual(len(first), lines)
        self.assertTrue(5 <= lines < count, lines)
        before = self.out.read_bytes()

        self.expect_host_error(run(*command, self.guest("slow")), "--resume")
        result = run(*command, "--resume", "--stats=json", self.guest("slow"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stderr.decode().splitlines()[-1])["inputs_before"], lines)
        self.assertTrue(self.out.read_bytes().startswith(before))
        self.expect_all(count)
        # Nothing is left to do.
        self.assertEqual(run(*command, "--resume", self.guest("slow")).returncode, 0)
        self.expect_all(count)

    def test_a_torn_line_is_dropped(self):
        command = ["fleet", "--stdin-dir", self.corpus(6), "--out", self.out, "--resume", self.guest("echo")]
        self.assertEqual(run(*command).returncode, 0)
        whole = sorted(self.out.read_bytes().splitlines())
        for size in (1, 40, len(self.out.read_bytes()) - 1):
            self.out.write_bytes(self.out.read_bytes()[:size])
            self.assertEqual(run(*command).returncode, 0)
            self.assertEqual(sorted(self.out.read_bytes().splitlines()), whole)

    def test_resume_refuses_what_is_not_its_own(self):
        command = ["fleet", "--stdin-dir", self.corpus(3), "--out", self.out, "--resume", self.guest("echo")]
        self.out.write_text('{"index":1,"name":"other"}\n')
        self.expect_host_error(run(*command), "other inputs")
        self.out.write_text('{"index":7,"name":"007"}\n')
        self.expect_host_error(run(*command), "other inputs")
        self.out.write_text('nonsense\n{"index":0,"name":"000"}\n')
        self.expect_host_error(run(*command), "results.jsonl:1", "record")

    def test_resume_refuses_another_run(self):
        lines = self.write("lines", "one\ntwo\nthree\n")
        base = ["fleet", "--stdin-lines", lines, "--out", self.out]
        echo, slow = self.guest("echo"), self.guest("slow")
        self.assertEqual(run(*base, "--seed", 3, echo, "a").returncode, 0)
        before = self.out.read_bytes()
        good = [*base, "--resume", "--seed", 3]
        self.expect_host_error(run(*good, slow, "a"), "another run", "program differs", "echo", "slow")
        self.expect_host_error(run(*good, echo, "b"), "another run", "arguments differ", '["a"] then, ["b"] now')
        self.expect_host_error(run(*good, "--env", "A=1", echo, "a"), "--env differs")
        self.expect_host_error(run(*good[:-1], 4, echo, "a"), "--seed differs (3 then, 4 now)")
        self.expect_host_error(run(*good, "--max-instructions", 10**6, echo, "a"), "--max-instructions differs (none then, 1000000 now)")
        lines.write_text("one\ntwo\n3\n")
        self.expect_host_error(run(*good, echo, "a"), "other inputs", "contents")
        lines.write_text("one\ntwo\n")
        self.expect_host_error(run(*good, echo, "a"), "other inputs (3 then, 2 now)")
        self.assertEqual(self.out.read_bytes(), before)
        # Devices, lanes, engines and time limits change no result.
        lines.write_text("one\ntwo\nthree\n")
        self.out.write_bytes(b"".join(before.splitlines(keepends=True)[:2]))
        result = run(*good, "--lanes", 2, "--engine", "interp", "--timeout", 60, echo, "a")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.expect_all(3)

    def test_resume_sees_changed_files(self):
        corpus = self.corpus(3)
        program = self.here / "program"
        shutil.copy(self.guest("echo"), program)
        command = ["fleet", "--stdin-dir", corpus, "--out", self.out, "--resume", program]
        self.assertEqual(run(*command).returncode, 0)
        shutil.copy(self.guest("echo"), self.here / "copy")
        self.assertEqual(run(*command[:-1], self.here / "copy").returncode, 0)  # the same under another name
        (corpus / "001").write_text("something else")
        self.expect_host_error(run(*command), "other inputs")
        shutil.rmtree(corpus)
        self.corpus(3)
        self.assertEqual(run(*command).returncode, 0)
        shutil.copy(self.guest("slow"), program)
        self.expect_host_error(run(*command), "program differs")
        self.out.unlink()
        listed = self.write("programs", f"{program} <{corpus / '001'}\n")
        command = ["fleet", "--programs", listed, "--out", self.out, "--resume"]
        self.assertEqual(run(*command).returncode, 0)
        shutil.copy(self.guest("seven"), program)
        self.expect_host_error(run(*command), "other inputs")

    def test_results_without_a_header_are_resumed(self):
        command = ["fleet", "--stdin-dir", self.corpus(3), "--out", self.out, self.guest("echo")]
        self.assertEqual(run(*command).returncode, 0)
        lines = self.out.read_bytes().splitlines(keepends=True)
        self.out.write_bytes(lines[1])
        result = run(*command[:-1], "--resume", command[-1])
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"does not say which program", result.stderr)
        self.assertEqual(sorted(self.out.read_bytes().splitlines(keepends=True)), sorted(lines[1:]))

    def test_standard_streams(self):
        command = ["fleet", "--stdin-lines", "-", "--out", "-", self.guest("echo")]
        result = run(*command, input=b"one\ntwo\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        records = sorted((json.loads(line) for line in result.stdout.splitlines()), key=lambda record: record["index"])
        self.assertEqual([record["stdout"] for record in records], ["one\n", "two\n"])
        self.assertIn(b"2 of 2 inputs", result.stderr)
        for option, line in (("--args-file", b"a b\n"), ("--programs", self.guest("seven").encode() + b"\n")):
            more = [] if option == "--programs" else [self.guest("arguments")]
            result = run("fleet", option, "-", "--out", "-", *more, input=line)
            self.assertEqual(json.loads(result.stdout)["exit_status"], 7 if not more else 3)
        self.expect_host_error(run(*command[:-1], "--resume", command[-1], input=b"x\n"), "--resume")
        with open("/dev/full", "wb") as full:
            result = subprocess.run([KVRM, *command], input=b"x\n", stdout=full, stderr=subprocess.PIPE, timeout=30)
        self.expect_host_error(result, "stdout", "No space")
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([KVRM, *command], input=b"x\n", stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        self.assertEqual((result.returncode, result.stderr), (128 + signal.SIGPIPE, b""))

    def test_process_substitution(self):
        copy = self.here / "copy"
        script = f"{KVRM} fleet --stdin-lines <(printf 'one\\ntwo\\n') --out >(cat >{copy}) {self.guest('echo')}; status=$?; wait; exit $status"
        result = subprocess.run(["bash", "-c", script], capture_output=True, timeout=30)
        self.assertEqual(result.returncode, 0, result.stderr)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and (not copy.exists() or copy.read_bytes().count(b"\n") < 2):
            time.sleep(0.01)
        self.assertEqual({json.loads(line)["stdout"] for line in copy.read_text().splitlines()}, {"one\n", "two\n"})

    def test_two_dashes_end_the_options(self):
        lines = self.write("lines", "one\n")
        command = ["fleet", "--stdin-lines", lines, "--out", self.out, "--", self.guest("arguments"), "--out", "--"]
        self.assertEqual(run(*command).returncode, 0)
        self.assertEqual(self.expect_all(1)[0]["exit_status"], 3)

    def test_a_job_that_takes_too_long(self):
        forever, seven, sleep = (self.guest(name) for name in ("forever", "seven", "sleep"))
        lines = self.write("programs", f"{seven}\n{forever}\n{sleep}\n{seven}\n{forever}\n{seven}\n")
        command = ["fleet", "--programs", lines, "--out", self.out, "--timeout", "0.3", "--clock", "host", "--stats=json"]
        for more in (["--lanes", 1], []):
            self.out.unlink(missing_ok=True)
            result = run(*command, *more)
            self.assertEqual(result.returncode, 0, result.stderr)
            records = self.expect_all(6)
            self.assertEqual([records[i]["stop"] for i in range(6)], ["exit", "timeout", "timeout", "exit", "timeout", "exit"])
            self.assertEqual(records[5]["exit_status"], 7)
            self.assertGreater(records[1]["instructions"], 1000)
            self.assertNotIn("error", records[1])
            # The call in which it waited did not happen.
            self.assertEqual(records[2]["instructions"], 5)
            self.assertEqual(json.loads(result.stderr.decode().splitlines()[-1])["endings"], {"exit 7": 3, "timeout": 3})
        # They have records: nothing is left to do.
        before = self.out.read_bytes()
        self.assertEqual(run(*command, "--resume").returncode, 0)
        self.assertEqual(self.out.read_bytes(), before)

    def test_interrupt_with_a_time_limit(self):
        for clock, guest in (("virtual", "forever"), ("host", "sleep")):
            self.out.unlink(missing_ok=True)
            lines = self.write("programs", f"{self.guest('seven')}\n" + f"{self.guest(guest)}\n" * 5)
            command = [KVRM, "fleet", "--programs", lines, "--out", self.out, "--timeout", "100", "--clock", clock]
            process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE)
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline and (not self.out.exists() or self.out.stat().st_size == 0):
                time.sleep(0.005)
            process.send_signal(signal.SIGINT)
            _, message = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130, message)
            self.expect_all(1)

    def test_interrupt(self):
        command = ["fleet", "--stdin-dir", self.corpus(200), "--out", self.out, "--stats=json", self.guest("slow")]
        process = subprocess.Popen([KVRM, *map(str, command)], stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and (not self.out.exists() or self.out.stat().st_size == 0):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        records, lines = self.records()
        self.assertEqual(len(records), lines)
        self.assertTrue(all(record["stop"] == "exit" for record in records.values()))
        self.assertIn(f"interrupted; {lines} of 200 inputs", message.decode())
        self.assertEqual(json.loads(message.decode().splitlines()[-1])["endings"], {"exit 0": lines})

    def test_several_devices(self):
        corpus = self.corpus(30)
        command = ["fleet", "--device", "cpu", "--stdin-dir", corpus, "--lanes", 2, "--out", self.out]
        self.assertEqual(run(*command, self.guest("echo")).returncode, 0)
        one = sorted(self.out.read_bytes().splitlines())
        self.out.unlink()
        result = run(*command, "--devices", "0,0,0", "--stats=json", "--progress", self.guest("echo"))
        self.assertEqual(sorted(self.out.read_bytes().splitlines()), one)
        self.assertEqual(json.loads(result.stderr.decode().splitlines()[-1])["devices"], 3)
        self.assertIn(b"30/30 inputs", result.stderr)

    def test_several_ranks(self):
        if not shutil.which("mpirun") or not os.path.exists(os.path.join(os.path.dirname(KVRM), "kvrm-mpi.so")):
            self.skipTest("no mpirun, or a build without MPI")
        corpus = self.corpus(31)
        command = ["fleet", "--device", "cpu", "--stdin-dir", corpus, "--out", self.out]
        self.assertEqual(run(*command, self.guest("echo")).returncode, 0)
        one = self.out.read_bytes().splitlines(keepends=True)
        # The last eleven are still to do; the first line is the header.
        self.out.write_bytes(b"".join(one[:21]))
        ranks = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", KVRM, *map(str, command)]
        # In parts of 16 bytes, as what is longer than MPI can count goes in parts.
        parts = {**os.environ, "KVRM_MPI_PART": "16"}
        result = subprocess.run([*ranks, "--resume", self.guest("echo")], capture_output=True, timeout=60, env=parts)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(self.out.read_bytes().splitlines(keepends=True)), sorted(one))
        self.assertEqual(self.out.read_bytes().splitlines(keepends=True)[:21], one[:21])
        # Something wrong on every rank ends them all.
        result = subprocess.run([*ranks, self.guest("echo")], capture_output=True, timeout=60)
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"--resume", result.stderr)
        # Only one process can read a pipe.
        ranks[ranks.index("--stdin-dir")] = "--stdin-lines"
        ranks[ranks.index(str(corpus))] = "-"
        result = subprocess.run([*ranks, self.guest("echo")], capture_output=True, input=b"x\n", timeout=60)
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"under mpirun", result.stderr)

    def test_bad_command_lines(self):
        echo, corpus = self.guest("echo"), self.corpus(1)
        self.expect_host_error(run("fleet"), "--out")
        self.expect_host_error(run("fleet", "--out", self.out, echo), "--stdin-dir")
        self.expect_host_error(run("fleet", "--out", self.out, "--stdin-dir", corpus), "program")
        both = ["--stdin-dir", corpus, "--stdin-lines", corpus / "000"]
        self.expect_host_error(run("fleet", "--out", self.out, *both, echo), "one of")
        good = ["fleet", "--out", self.out, "--stdin-dir", corpus]
        self.expect_host_error(run(*good, "--devices", "0,x", echo), "--devices")
        self.expect_host_error(run(*good, "--max-output", "9T", echo), "--max-output")
        self.expect_host_error(run(*good, "--lanes", "0", echo), "--lanes")
        for text in ("0", "-1", "soon", "1e99", "nan"):
            self.expect_host_error(run(*good, f"--timeout={text}", echo), "--timeout", text)
        self.expect_host_error(run(*good, "--bogus", echo), "--bogus")
        self.expect_host_error(run(*good, "/no/such/program"), "/no/such/program")
        self.expect_host_error(run("fleet", "--out", self.out, "--stdin-dir", "/no/such", echo), "/no/such")
        self.expect_host_error(run("fleet", "--out", "/no/such/r", "--stdin-dir", corpus, echo), "/no/such/r")
        unclosed = self.write("unclosed", "fine\n'open\n")
        self.expect_host_error(run("fleet", "--out", self.out, "--args-file", unclosed, echo), "unclosed:2")
        self.expect_host_error(run("fleet", "--out", self.out, "--programs", unclosed, echo), "--programs")


if __name__ == "__main__":
    unittest.main(verbosity=1)
