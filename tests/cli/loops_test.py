#!/usr/bin/env python3
"""kvrm run --accelerate and kvrm loops.

    loops_test.py build/kvrm
"""

import json
import unittest

from common import COMPILER, GuestCase, run


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Loops(GuestCase):
    def setUp(self):
        engines = {engine["name"]: engine["available"] for engine in json.loads(run("info", "--json").stdout)["engines"]}
        if not engines["jit"]:
            self.skipTest("this build has no translator")

    def test_results_stay_the_same(self):
        for engine in "interp", "auto", "jit":
            command = ["run", "--device", "cpu", "--engine", engine, "--stats=json"]
            results = [run(*command, "--accelerate", setting, self.guest("slow"), input=b"abc") for setting in ("off", "on")]
            off, on = (json.loads(result.stderr.splitlines()[-1]) for result in results)
            self.assertEqual(results[0].stdout, results[1].stdout)
            self.assertEqual(off["instructions"], on["instructions"])
            self.assertNotIn("loops", off)
            self.assertGreater(on["loops"]["instructions"], 4_000_000)
            self.assertEqual((on["loops"]["proposed"], on["loops"]["proved"]), (1, 1))

    def test_statistics_as_text(self):
        text = run("run", "--engine", "interp", "--accelerate", "on", "--stats", self.guest("slow"),
                   input=b"").stderr.decode()
        self.assertRegex(text, r"(?m)^loops$\n  found +1, 1 proposed, 1 proved, 0 left out$")
        self.assertRegex(text, r"(?m)^  in bulk steps +[0-9,]+ instructions, [0-9.]+ %$")

    def test_check(self):
        result = run("run", "--accelerate", "on", "--check", "100000", self.guest("slow"), input=b"abc")
        self.assertEqual((result.returncode, result.stdout), (0, b"abc"))

    def test_loops(self):
        result = run("loops", "--engine", "interp", "--json", self.guest("slow"), input=b"abc")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"abc", result.stderr)
        facts = json.loads(result.stdout)
        loop = facts["loops"][0]
        self.assertEqual((loop["proved"], loop["kind"], len(loop["code"])), (True, "counted", 2))
        self.assertGreater(loop["share"], 0.9)
        self.assertGreater(loop["trips"], 1000)
        self.assertRegex(loop["code"][0]["text"], r"subs\s+x19, x19, #1")
        text = run("loops", "--engine", "interp", self.guest("slow"), input=b"").stdout.decode()
        self.assertRegex(text, r"(?m)^1 loops found, 1 proposed, 1 proved; 9[0-9.]+ % of [0-9,]+ instructions in bulk")
        self.assertRegex(text, r"(?m)^0x[0-9a-f]+  [0-9.]+ %  counted, [0-9]+ iterations a bulk step")

    def test_profile(self):
        result = run("loops", "--profile", self.guest("slow"), input=b"abc")
        self.assertEqual(result.returncode, 0, result.stderr)
        first = json.loads(result.stdout.splitlines()[0])
        self.assertEqual((first["iterations"], first["entries"], len(first["words"])), ((0x40 << 16) - 1, 1, 2))
        self.assertEqual((first["proved"], first["kind"], first["type"], first["counter"]), (True, "counted", 2, 19))
        (seen,) = first["runs"]
        self.assertEqual((seen["first"][19], seen["second"][19]), ((0x40 << 16) - 1, (0x40 << 16) - 2))
        self.assertEqual(seen["left"], (0x40 << 16) - 1)

    def test_static(self):
        result = run("loops", "--static", self.guest("slow"), self.guest("floats"))
        self.assertEqual(result.returncode, 0, result.stderr)
        loops = [json.loads(line) for line in result.stdout.splitlines()]
        counting = [loop for loop in loops if loop["proved"] and loop["counter"] == 19]
        self.assertEqual([(loop["kind"], loop["type"]) for loop in counting], [("counted", 2)])
        self.assertIn("floating point", [loop.get("reason") for loop in loops])

    def test_rankings(self):
        for engine in "interp", "auto":
            command = ["run", "--device", "cpu", "--engine", engine, "--accelerate", "on", "--stats=json"]
            seen = {}
            for ranking in "hot", "tree", "network":
                result = run(*command, "--loop-ranking", ranking, self.guest("slow"), input=b"abc")
                seen[ranking] = json.loads(result.stderr.splitlines()[-1])
                self.assertEqual(result.stdout, b"abc")
                self.assertEqual(seen[ranking]["loops"]["proved"], 1)
                self.assertEqual(seen[ranking]["instructions"], seen["hot"]["instructions"])
            self.assertNotIn("ranked", seen["hot"]["loops"])
            for ranking in "tree", "network":
                self.assertEqual((seen[ranking]["loops"]["ranked"], seen[ranking]["loops"]["guessed"]), (1, 1))

    def test_refused(self):
        facts = json.loads(run("loops", "--engine", "interp", "--json", self.guest("floats")).stdout)
        self.assertEqual(facts["proved"], 0)
        self.assertEqual([loop["reason"] for loop in facts["loops"]], ["floating point"])
        self.assertEqual(facts["refused"], {"floating point": 1})

    def test_errors(self):
        self.expect_host_error(run("loops"), "which program")
        self.expect_host_error(run("loops", "/no/such/file"), "/no/such/file")
        self.expect_host_error(run("loops", "--static", "/no/such/file"), "/no/such/file")
        self.expect_host_error(run("run", "--loop-ranking", "best", self.guest("slow")), "--loop-ranking")
        self.expect_host_error(run("run", "--loop-weights", "x.npy", self.guest("slow")), "--loop-ranking network")
        network = ["run", "--accelerate", "on", "--loop-ranking", "network"]
        self.expect_host_error(run(*network, "--loop-weights", "/no/such", self.guest("slow")), "/no/such")
        self.expect_host_error(run("run", "--accelerate", "maybe", self.guest("slow")), "--accelerate")


if __name__ == "__main__":
    unittest.main()
