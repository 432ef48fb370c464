#!/usr/bin/env python3
"""kvrm cache: what is listed, what is removed, what is left alone.

    cache_test.py build/kvrm
"""

import json
import os
import pathlib
import tempfile
import unittest

from common import COMPILER, Case, GuestCase, run

OWN = {
    "regions": ["regions-0123-4567.bin", "regions-89ab-cdef.bin.Xy12ab"],
    "profile": ["profile-0123-4567.bin"],
    "gpu-regions": ["gpu-regions-0123.bin"],
    "kernel": ["kernel-sm_90-cuda_12080-0123.cubin"],
}
OTHERS = ["regions.txt", "regions-notes.md", "mine.bin", "profile-0123.bin.backup-1"]


class Cache(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = pathlib.Path(folder.name, "kvrm")

    def kvrm(self, *arguments):
        return run("cache", *arguments, env={"XDG_CACHE_HOME": str(self.cache.parent)})

    def fill(self):
        self.cache.mkdir()
        for number, name in enumerate(sum(OWN.values(), []) + OTHERS):
            (self.cache / name).write_bytes(b"x" * (number + 1))
            os.utime(self.cache / name, (1_700_000_000, 1_700_000_000))
        (self.cache / "regions-folder.bin").mkdir()
        (self.cache / "regions-link.bin").symlink_to(self.cache / "mine.bin")

    def test_no_folder(self):
        facts = json.loads(self.kvrm("list", "--json").stdout)
        self.assertEqual((facts["folder"], facts["files"], facts["bytes"]), (str(self.cache), 0, 0))
        self.assertEqual(json.loads(self.kvrm("clear", "--json").stdout)["removed_files"], 0)
        self.expect_host_error(run("cache", "list", env={}), "HOME")

    def test_list(self):
        self.fill()
        facts = json.loads(self.kvrm("list", "--json").stdout)
        self.assertEqual({kind["kind"]: kind["files"] for kind in facts["kinds"]}, {kind: len(names) for kind, names in OWN.items()})
        self.assertEqual({kind["kind"]: kind["bytes"] for kind in facts["kinds"]}, {"regions": 3, "profile": 3, "gpu-regions": 4, "kernel": 5})
        self.assertEqual({kind["newest"] for kind in facts["kinds"]}, {"2023-11-14T22:13:20Z"})
        self.assertEqual((facts["files"], facts["bytes"], facts["other_files"]), (5, 15, len(OTHERS) + 2))
        text = self.kvrm("list").stdout.decode()
        for word in (str(self.cache), "gpu-regions", "2023-11-14", "total"):
            self.assertIn(word, text)

    def test_clear_leaves_what_is_not_its_own(self):
        self.fill()
        result = self.kvrm("clear")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"removed 5 files", result.stdout)
        self.assertEqual(sorted(os.listdir(self.cache)), sorted([*OTHERS, "regions-folder.bin", "regions-link.bin"]))

    def test_bad_command_lines(self):
        self.expect_host_error(self.kvrm(), "list", "clear")
        self.expect_host_error(self.kvrm("lst"), "'lst'", "'list'")
        self.expect_host_error(self.kvrm("list", "--bogus"), "kvrm cache list --help")


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Written(GuestCase):
    def test_what_a_run_writes_is_known(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"XDG_CACHE_HOME": folder}
            run("run", "--device", "cpu", "--engine", "jit", "--max-instructions", "50e6", self.guest("forever"), env=env, timeout=120)
            facts = json.loads(run("cache", "list", "--json", env=env).stdout)
            self.assertEqual(facts["other_files"], 0)
            self.assertEqual(facts["files"], len(os.listdir(os.path.join(folder, "kvrm"))) if facts["files"] else 0)


if __name__ == "__main__":
    unittest.main(verbosity=1)
