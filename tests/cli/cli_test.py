#!/usr/bin/env python3
"""The command-line contract: statuses, messages, statistics.

    cli_test.py build/kvrm

Builds a few small guests with aarch64-linux-gnu-gcc; without that compiler the parts that need them are skipped.
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from common import COMPILER, KVRM, Case, GuestCase, run


class Basics(Case):
    def test_help_teaches(self):
        for arguments in (["--help"], ["run", "--help"], ["fleet", "--help"], ["info", "--help"], ["disasm", "--help"], ["models", "--help"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"Usage", result.stdout)
        self.assertIn(b"--max-instructions", run("run", "--help").stdout)
        self.assertIn(b"kvrm ", run("--version").stdout)

    def test_bad_command_lines(self):
        self.expect_host_error(run())
        self.expect_host_error(run("fly"))
        self.expect_host_error(run("run"), "program")
        self.expect_host_error(run("run", "--bogus", "x"), "--bogus")
        self.expect_host_error(run("run", "--device", "tpu", "x"), "--device")
        self.expect_host_error(run("run", "--memory", "lots", "x"), "--memory")
        self.expect_host_error(run("run", "--max-instructions", "-3", "x"), "--max-instructions")
        self.expect_host_error(run("run", "--lanes", "0", "x"), "--lanes")
        self.expect_host_error(run("run", "--env", "novalue", "x"), "--env")

    def test_help_command(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        for command in (["run"], ["fleet"], ["cache", "clear"], ["models", "verify"]):
            self.assertEqual(run("help", *command).stdout, run(*command, "--help").stdout)
            self.assertEqual(run("help", *command).returncode, 0)
        self.expect_host_error(run("help", "fly"), "'fly'")

    def test_the_nearest_command_is_named(self):
        for word, meant in (("rum", "run"), ("flet", "fleet"), ("dissasm", "disasm"), ("mod", "models")):
            self.expect_host_error(run(word, "x"), f"no command '{word}'", f"did you mean '{meant}'?")
        self.expect_host_error(run("bad"), "no command 'bad'", "run, fleet, loops, info")
        self.expect_host_error(run("models", "verfy"), "no command 'verfy'", "'verify'", "kvrm models --help")

    def test_hints_name_the_right_help(self):
        self.expect_host_error(run("run", "--bogus", "x"), "(see kvrm run --help)")
        self.expect_host_error(run("run", "--engin", "jit", "x"), "did you mean --engine?")
        self.expect_host_error(run("run", "--device"), "(see kvrm run --help)")
        self.expect_host_error(run("fleet", "--lanes"), "(see kvrm fleet --help)")
        self.expect_host_error(run("info", "x"), "(see kvrm info --help)")
        self.expect_host_error(run("models", "verify", "--bogus"), "(see kvrm models verify --help)")
        self.expect_host_error(run("--bogus"), "--bogus", "(see kvrm --help)")

    def test_statistics_have_two_forms(self):
        self.expect_host_error(run("run", "--stats=xml", "x"), "--stats", "xml")

    def test_bad_files(self):
        self.expect_host_error(run("run", "/no/such/file"), "/no/such/file")
        self.expect_host_error(run("run", "/"), "folder")
        self.expect_host_error(run("run", "/dev/zero"))
        with tempfile.NamedTemporaryFile() as file:
            self.expect_host_error(run("run", file.name))
            file.write(b"\x7fELF" + b"\xff" * 200)
            file.flush()
            self.expect_host_error(run("run", file.name))
        self.expect_host_error(run("run", KVRM), "this is an x86-64 program; KVRM runs ARM64 (AArch64) programs")
        self.expect_host_error(run("run", "--root", "/no/such/folder", KVRM))

    def test_info(self):
        facts = json.loads(run("info", "--json").stdout)
        self.assertEqual(facts["hwcap"], 0x119FFB)
        self.assertGreater(facts["rows"], 800)

    def test_disasm_words(self):
        result = run("disasm", "--word", "d503201f", "0x8b020020")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"nop", result.stdout)
        self.assertIn(b"add\tx0, x1, x2", result.stdout)
        self.expect_host_error(run("disasm", "--word", "xyz"))
        self.expect_host_error(run("disasm"))


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Guests(GuestCase):
    def test_exit_status_is_the_guests(self):
        self.assertEqual(run("run", self.guest("seven")).returncode, 7)

    def test_arguments_after_the_program_are_the_guests(self):
        result = run("run", self.guest("arguments"), "--stats", "-x", "--", "run")
        self.assertEqual(result.returncode, 5)
        self.assertEqual(result.stderr, b"")

    def test_two_dashes_end_the_options(self):
        result = run("run", "--stats=json", "--", self.guest("arguments"), "--stats", "--", "x")
        self.assertEqual(result.returncode, 4)
        self.assertEqual(len(result.stderr.splitlines()), 1)
        self.assertEqual(run("run", "--env", "--=--", "--", self.guest("seven")).returncode, 7)
        os.symlink(self.guest("seven"), os.path.join(self.folder.name, "--odd"))
        self.assertEqual(run("run", "--", "--odd", cwd=self.folder.name).returncode, 7)
        self.expect_host_error(run("run", "--"), "which program")

    def test_the_last_of_two_variables_counts(self):
        def environment(*pairs):
            return run("run", *[word for pair in pairs for word in ("--env", pair)], self.guest("environment")).stdout.decode().splitlines()

        self.assertEqual(environment("A=1", "B=2"), ["A=1", "B=2"])
        self.assertEqual(environment("A=1", "B=2", "A=3", "AB=4", "A="), ["B=2", "AB=4", "A="])

    def test_standard_streams(self):
        text = os.urandom(100_000)
        result = run("run", self.guest("echo"), input=text)
        self.assertEqual(result.stdout, text)
        self.assertEqual(result.returncode, 0)

    def test_statistics_are_the_last_line(self):
        result = run("run", "--stats=json", self.guest("seven"))
        facts = json.loads(result.stderr.decode().splitlines()[-1])
        self.assertEqual(facts["instructions"], 3)
        self.assertEqual(facts["stop_reason"], "exit")
        self.assertEqual(facts["launches"], 1)
        for key in ("seconds", "ips", "device", "engine"):
            self.assertIn(key, facts)

    def test_perf_map_is_an_option(self):
        self.assertEqual(run("run", "--perf-map", self.guest("seven")).returncode, 7)

    def test_statistics_as_text(self):
        text = run("run", "--stats", "--device", "cpu", self.guest("seven")).stderr.decode()
        self.assertRegex(text, r"(?m)^run$")
        self.assertRegex(text, r"(?m)^  ended +exit 7$")
        self.assertRegex(text, r"(?m)^  instructions +3$")
        self.assertRegex(text, r"(?m)^  time +[0-9.]+ (us|ms|s)$")
        self.assertRegex(text, r"(?m)^  rate +[0-9.]+ [kMG]?/s$")
        self.assertRegex(text, r"(?m)^dispatch +table$")
        # What did not happen is not printed.
        for word in ("shared", "mailbox", "translator", "floating point"):
            self.assertNotIn(word, text)

    def test_statistics_have_units(self):
        text = run("run", "--stats", "--device", "cpu", "--max-instructions", "20e6", self.guest("forever")).stderr.decode()
        self.assertRegex(text, r"(?m)^  instructions +20,000,000$")
        self.assertRegex(text, r"(?m)^  ended +budget at pc 0x[0-9a-f]+$")
        self.assertRegex(text, r"(?m)^  rate +[0-9.]+ [MG]/s$")

    def test_statistics_of_lanes_as_text(self):
        text = run("run", "--lanes", "3", "--stats", "--lane-stats", "--device", "cpu", self.guest("seven"), input=b"").stderr.decode()
        self.assertRegex(text, r"(?m)^  ended +3 exit 7$")
        self.assertRegex(text, r"(?m)^lane 2 +table$")

    def test_death_by_signal(self):
        for name, number, text in (
            ("crash", signal.SIGSEGV, "ldr\tx0, [x1]"),
            ("undefined", signal.SIGILL, "udf"),
            ("breakpoint", signal.SIGTRAP, "brk"),
        ):
            result = run("run", self.guest(name))
            self.assertEqual(result.returncode, 128 + number)
            message = result.stderr.decode()
            self.assertIn("pc 0x", message)
            self.assertIn(text, message)
            self.assertIn("x30", message)
        message = run("run", self.guest("crash")).stderr.decode()
        self.assertIn("00000000dead0010", message)
        self.assertIn("kvrm: in _start+0x8\n", message)

    def test_budget(self):
        result = run("run", "--max-instructions", "1000003", "--stats=json", self.guest("forever"))
        self.assertEqual(result.returncode, 125)
        facts = json.loads(result.stderr.decode().splitlines()[-1])
        self.assertEqual(facts["instructions"], 1_000_003)
        self.assertEqual(facts["stop_reason"], "budget")

    def test_lanes_print_in_order(self):
        result = run("run", "--lanes", "50", "--stats=json", self.guest("echo"), input=b"one line\n")
        self.assertEqual(result.stdout, b"one line\n" * 50)
        facts = json.loads(result.stderr.decode().splitlines()[-1])
        self.assertEqual(facts["lanes"], 50)
        self.assertEqual(facts["launches"], 1)
        self.assertEqual(facts["endings"], {"exit 0": 50})
        alone = run("run", "--stats=json", self.guest("echo"), input=b"one line\n")
        self.assertEqual(facts["instructions"], 50 * json.loads(alone.stderr)["instructions"])

    def test_lanes_end_as_one_lane_does(self):
        result = run("run", "--lanes", "3", self.guest("seven"), input=b"")
        self.assertEqual((result.returncode, result.stderr), (7, b""))
        result = run("run", "--lanes", "3", self.guest("crash"), input=b"")
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assertIn(b"3 signal 11", result.stderr)
        result = run("run", "--lanes", "3", "--max-instructions", "1000", self.guest("forever"), input=b"")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"3 budget", result.stderr)

    def test_lanes_interrupted(self):
        command = [KVRM, "run", "--lanes", "4", "--stats=json", self.guest("forever")]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", message.decode())
        self.assertGreater(json.loads(message.decode().splitlines()[-1])["instructions"], 0)

    def test_progress(self):
        result = run("run", "--progress", "--max-instructions", "20e6", self.guest("forever"))
        self.assertIn(b"20 M instructions", result.stderr)
        self.assertNotIn(b" instructions, ", run("run", self.guest("seven")).stderr)

    def test_interrupt(self):
        process = subprocess.Popen([KVRM, "run", "--stats=json", self.guest("forever")], stderr=subprocess.PIPE)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(message.decode().splitlines()[-1])["stop_reason"], "cancelled")

    def test_interrupt_while_waiting_for_input(self):
        process = subprocess.Popen(
            [KVRM, "run", self.guest("echo")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130)

    def test_disasm_program(self):
        result = run("disasm", self.guest("seven"))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"mov\tx0, #7", result.stdout)

    def test_disasm_begins_at_code_and_names_it(self):
        lines = run("disasm", self.guest("seven")).stdout.decode().splitlines()
        self.assertTrue(lines[0].startswith("; .text at 0x"), lines)
        self.assertRegex(lines[2], "^[0-9a-f]{16} <_start>:$")
        self.assertIn("mov\tx8, #93", lines[3])
        # An object file.
        source, name = os.path.join(self.folder.name, "seven.s"), os.path.join(self.folder.name, "seven.o")
        subprocess.run([COMPILER, "-c", "-o", name, source], check=True)
        self.assertIn("0000000000000000 <_start>:", run("disasm", name).stdout.decode().splitlines())
        # Without sections: the segment begins with the ELF header, which is no code.
        program = bytearray(pathlib.Path(self.guest("seven")).read_bytes())
        program[40:48], program[60:64] = bytes(8), bytes(4)
        stripped = pathlib.Path(self.folder.name, "stripped")
        stripped.write_bytes(program)
        text = run("disasm", stripped).stdout.decode()
        self.assertNotIn("464c457f", text)
        self.assertIn(" <entry>:\n" + lines[3], text)

    def test_disasm_of_damaged_files(self):
        whole = pathlib.Path(self.guest("echo")).read_bytes()
        damaged = pathlib.Path(self.folder.name, "damaged")
        for size in (*range(0, 128, 8), len(whole) // 2, len(whole) - 1):
            damaged.write_bytes(whole[:size])
            self.assertIn(run("disasm", damaged).returncode, (0, 125))
        for offset in (*range(16, 64), *range(len(whole) - 320, len(whole), 7)):
            damaged.write_bytes(whole[:offset] + b"\xff" + whole[offset + 1 :])
            self.assertIn(run("disasm", damaged).returncode, (0, 125))


if __name__ == "__main__":
    unittest.main(verbosity=1)
