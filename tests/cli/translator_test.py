#!/usr/bin/env python3
"""What can be seen of the translator from outside: statistics by tier, perf's map file.

    translator_test.py build/kvrm
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from common import COMPILER, KVRM, GuestCase, run


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Translator(GuestCase):
    def setUp(self):
        engines = {engine["name"]: engine["available"] for engine in json.loads(run("info", "--json").stdout)["engines"]}
        if not engines["jit"]:
            self.skipTest("this build has no translator")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.env = {"XDG_CACHE_HOME": folder.name}

    def kvrm(self, *options):
        return ["run", "--device", "cpu", "--engine", "jit", "--jit-threshold", "1", *options]

    def test_statistics_by_tier(self):
        result = run(*self.kvrm("--stats=json"), self.guest("slow"), env=self.env, input=b"")
        facts = json.loads(result.stderr.splitlines()[-1])
        self.assertEqual(list(facts["tiers"]), ["interp", "quick", "regions"])
        self.assertEqual(sum(tier["instructions"] for tier in facts["tiers"].values()), facts["instructions"])
        regions = facts["tiers"]["regions"]
        self.assertGreater(regions["instructions"], 0)
        self.assertEqual((regions["regions"], regions["words"]), (facts["regions"], facts["region_words"]))
        self.assertGreaterEqual(regions["overlap"], 1)
        text = run(*self.kvrm("--stats"), self.guest("slow"), env=self.env, input=b"").stderr.decode()
        self.assertRegex(text, r"(?m)^translator$")
        self.assertRegex(text, r"(?m)^  in regions +about [0-9.]+ [kM]? ?instructions in .*; a word is in [0-9.]+ regions$")

    def test_windows_given_up(self):
        reason = "memory above it"
        facts = json.loads(run(*self.kvrm("--stats=json"), self.guest("far"), env=self.env).stderr.splitlines()[-1])
        if facts.get("windows_given_up") == {"the host refuses": 1}:
            self.skipTest("no windows here")
        self.assertEqual(facts["windows_given_up"], {reason: 1})
        text = run(*self.kvrm("--stats"), self.guest("far"), env=self.env).stderr.decode()
        self.assertRegex(text, rf"(?m)^  no window +1 guest: {reason}$")
        for options, guest in (["--no-windows"], "far"), ([], "slow"):
            text = run(*self.kvrm(*options, "--stats"), self.guest(guest), env=self.env, input=b"").stderr.decode()
            self.assertNotIn("no window", text)

    def test_perf_map(self):
        process = subprocess.Popen([KVRM, *self.kvrm("--perf-map"), self.guest("slow")], env=self.env,
                                   stdin=subprocess.DEVNULL)
        self.assertEqual(process.wait(60), 0)
        path = pathlib.Path(f"/tmp/perf-{process.pid}.map")
        lines = path.read_text().splitlines()
        path.unlink()
        self.assertTrue(lines)
        for line in lines:
            found = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) (kvrm_region_[0-9a-f]+_[0-9a-f]{16}|quick_[0-9a-f]+)", line)
            self.assertTrue(found, line)
            self.assertGreater(int(found[2], 16), 0)

    def test_no_map_unless_asked_for(self):
        process = subprocess.Popen([KVRM, *self.kvrm(), self.guest("slow")], env=self.env, stdin=subprocess.DEVNULL)
        self.assertEqual(process.wait(60), 0)
        self.assertFalse(os.path.exists(f"/tmp/perf-{process.pid}.map"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
