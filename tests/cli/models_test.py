#!/usr/bin/env python3
"""kvrm models, and kvrm run --dispatch: weight files, messages, statistics.

    models_test.py build/kvrm
"""

import hashlib
import json
import os
import pathlib
import shutil
import struct
import tempfile
import unittest

from common import COMPILER, Case, GuestCase, run

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
CLASSES = ["arithmetic", "logical", "load_store", "branch", "multiply_divide", "extend_shift", "system"]


def npy(values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


class Models(Case):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, content):
        path = pathlib.Path(self.folder.name, name)
        path.write_bytes(content)
        return path

    def copy(self, model):
        for ending in (".npy", ".json"):
            shutil.copy(MODELS / (model + ending), self.folder.name)
        return pathlib.Path(self.folder.name, model + ".npy")

    def test_list(self):
        old = self.file("old.npy", npy([0.5] * 10279))
        text = run("models", "list", old).stdout.decode()
        for name in ("dispatch-small", "dispatch-embedding", "loop-detector", "memory-oracle", "pattern-recogniser"):
            self.assertIn(name, text)
        self.assertIn("verified 20", text)
        self.assertIn("no description", text)

    def test_show(self):
        facts = json.loads(run("models", "show", "dispatch-embedding", "--json").stdout)
        self.assertEqual(facts["parameters"], 10279)
        self.assertEqual(facts["features"], 2)
        self.assertTrue(facts["verified"])
        self.assertEqual([t["offset"] for t in facts["tensors"]], [0, 8192, 9600, 9632, 10144, 10160, 10272])
        self.assertIn("train_dispatch.py", facts["training"]["command"])
        self.assertIn(b"fc3.bias", run("models", "show", MODELS / "dispatch-embedding.npy").stdout)

    def test_loop_detector(self):
        facts = json.loads(run("models", "show", "loop-detector", "--json").stdout)
        self.assertEqual((facts["parameters"], facts["verified"]), (1_083_397, False))
        self.assertEqual(len(facts["training"]["metrics"]["seeds"]), 3)
        self.expect_host_error(run("models", "evaluate", "loops", "--corpus", self.folder.name), "loops_corpus.py")
        self.expect_host_error(run("models", "evaluate", "tea"), "tea")

    def test_verify_records(self):
        path = self.copy("dispatch-embedding")
        values = bytearray(path.read_bytes())
        description = path.with_suffix(".json")
        facts = json.loads(description.read_text())
        # Other bytes that mean nearly the same: the last bit of the last number.
        values[-4] ^= 1
        path.write_bytes(values)
        facts["checksum"] = facts["verified"]["checksum"] = "sha256:" + hashlib.sha256(values).hexdigest()
        description.write_text(json.dumps(facts))
        env = {"XDG_CACHE_HOME": os.path.join(self.folder.name, "cache")}
        # What the description says of itself does not count.
        self.expect_host_error(run("run", "--dispatch", "neural", "--weights", path, "x", env=env), "verif")
        result = run("models", "verify", "dispatch", "--weights", path, "--json", env=env, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["passed"])
        self.assertEqual((report["words"], report["errors"]), (1 << 32, 0))
        self.assertGreater(report["margin"], 1000 * report["rounding"])
        self.assertTrue(json.loads(run("models", "show", path, "--json", env=env).stdout)["verified"])
        self.assertFalse(json.loads(run("models", "show", path, "--json").stdout)["verified"])
        # The record belongs to these bytes.
        path.write_bytes(path.read_bytes()[:-1] + b"\x3f")
        self.expect_host_error(run("models", "show", path), "other weights")

    def test_verify_fails(self):
        result = run("models", "verify", "dispatch", "--weights", "dispatch-small", timeout=300)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"FAILED", result.stdout)
        self.assertIn(b"table \\ network", result.stdout)

    def test_bad_command_lines(self):
        self.expect_host_error(run("models"))
        self.expect_host_error(run("models", "verify", "loops"), "loops")
        self.expect_host_error(run("models", "show", "/no/such/file"), "/no/such/file")
        self.expect_host_error(run("models", "show", self.folder.name), "folder")
        self.expect_host_error(run("models", "list", self.file("a.npy", b"text")), "not a NumPy file")
        self.expect_host_error(run("models", "list", self.file("b.npy", npy([0.0] * 77))), "77")
        self.expect_host_error(run("models", "list", self.file("c.npy", npy([float("nan")] * 135))), "finite")
        self.expect_host_error(run("models", "list", self.file("d.npy", npy([1.0] * 135)[:-8])), "cut short")
        self.expect_host_error(run("run", "--weights", "x.npy", "x"), "--dispatch")
        self.expect_host_error(run("run", "--dispatch", "psychic", "x"), "--dispatch")
        self.expect_host_error(run("run", "--dispatch", "neural", "--weights", "/no/such", "x"), "/no/such")


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Dispatch(GuestCase):
    def facts(self, *arguments, status=7, guest="seven"):
        result = run("run", "--device", "cpu", "--stats=json", *arguments, self.guest(guest))
        self.assertEqual(result.returncode, status, result.stderr)
        lines = result.stderr.decode().splitlines()
        return json.loads(lines[-1]), lines[:-1]

    def test_modes(self):
        for mode in ("table", "neural", "hybrid"):
            facts, _ = self.facts("--dispatch", mode)
            self.assertEqual(facts["instructions"], 3)
            self.assertEqual(facts["dispatch"]["mode"], mode)
            self.assertEqual(list(facts["dispatch"]["routed"]), CLASSES)
            self.assertEqual(list(facts["dispatch"]["routed"].values()), [0, 2, 0, 0, 0, 0, 1])
        self.assertEqual(facts["dispatch"]["agreed"], 3)
        self.assertEqual(facts["dispatch"]["confusion"][1][1], 2)
        text = run("run", "--dispatch", "hybrid", "--stats", self.guest("seven")).stderr.decode()
        self.assertIn("the network agreed on 3 of 3 words", text)

    def test_every(self):
        facts, _ = self.facts("--dispatch", "neural", "--dispatch-every", "--max-instructions", "100", guest="forever", status=125)
        self.assertEqual(facts["dispatch"]["routed"]["branch"], 100)
        self.assertEqual(facts["instructions"], 100)

    def test_lanes(self):
        facts, _ = self.facts("--lanes", "3", "--lane-stats")
        self.assertEqual(set(facts["lane_dispatch"]), {"0", "1", "2"})
        self.assertEqual(facts["lane_dispatch"]["2"]["routed"]["logical"], 2)
        self.assertEqual(facts["dispatch"]["routed"]["logical"], 6)

    def test_old_weights_warn(self):
        path = pathlib.Path(self.folder.name, "old.npy")
        path.write_bytes(npy([0.01] * 10279))
        facts, lines = self.facts("--dispatch", "neural", "--weights", path)
        self.assertEqual(facts["dispatch"]["mode"], "hybrid")
        self.assertIn("hybrid", "".join(lines))

    def test_unverified_is_reported(self):
        small = MODELS / "dispatch-small.npy"
        self.expect_host_error(run("run", "--dispatch", "neural", "--weights", small, self.guest("seven")), "unverified=true")
        facts, _ = self.facts("--dispatch", "neural", "--unverified", "--weights", small)
        self.assertFalse(facts["dispatch"]["verified"])
        text = run("run", "--dispatch", "neural", "--unverified", "--weights", small, "--stats", self.guest("seven")).stderr
        self.assertIn(b"UNVERIFIED", text)

    def test_prefetch_changes_nothing_on_the_cpu(self):
        choices = pathlib.Path(self.folder.name, "choices.json")
        choices.write_text(json.dumps({"choices": [{"pc": 65536, "policy": "stride", "distance": 8}]}))
        for options in ([], ["--prefetch", "counters"], ["--prefetch", "network", "--prefetch-choices", choices]):
            facts, _ = self.facts(*options)
            self.assertEqual(facts["instructions"], 3)

    def test_prefetch_choices_that_make_no_sense(self):
        guest, path = self.guest("seven"), pathlib.Path(self.folder.name, "bad.json")
        self.expect_host_error(run("run", "--prefetch", "network", guest), "--prefetch-choices")
        self.expect_host_error(run("run", "--prefetch-choices", path, guest), "go together")
        options = ["run", "--prefetch", "network", "--prefetch-choices", path]
        for policy, distance, word in (("psychic", 1, "psychic"), ("stride", 3, "power of two"), ("stride", 256, "power of two")):
            path.write_text(json.dumps({"choices": [{"pc": 0, "policy": policy, "distance": distance}]}))
            self.expect_host_error(run(*options, guest), word)
        path.write_text("[]")
        self.expect_host_error(run(*options, guest), "bad.json")

    def test_oracle_needs_a_corpus_and_its_own_weights(self):
        self.expect_host_error(run("models", "evaluate", "oracle", "--corpus", "/nowhere"), "oracle_corpus.py")
        pathlib.Path(self.folder.name, "plan.json").write_text(json.dumps(
            {"evaluated": [{"name": "seven", "guest": str(self.guest("seven"))}]}))
        evaluate = ["models", "evaluate", "oracle", "--corpus", self.folder.name]
        self.expect_host_error(run(*evaluate, "--weights", MODELS / "dispatch-small.npy"), "memory oracle")
        self.expect_host_error(run(*evaluate, "--only", "eight"), "no such program")
        self.expect_host_error(run(*evaluate), "accesses")
        self.expect_host_error(run("models", "prefetch", "--accesses", "0", self.guest("seven")), "take numbers")


if __name__ == "__main__":
    unittest.main()
