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
    "proof": ["proof-0123.bin"],
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
        self.cache.mkdir(mode=0o700)
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
        self.assertEqual({kind["kind"]: kind["bytes"] for kind in facts["kinds"]}, {"regions": 3, "profile": 3, "gpu-regions": 4, "kernel": 5, "proof": 6})
        self.assertEqual({kind["newest"] for kind in facts["kinds"]}, {"2023-11-14T22:13:20Z"})
        self.assertEqual((facts["files"], facts["bytes"], facts["other_files"]), (6, 21, len(OTHERS) + 2))
        text = self.kvrm("list").stdout.decode()
        for word in (str(self.cache), "gpu-regions", "2023-11-14", "total"):
            self.assertIn(word, text)

    def test_clear_leaves_what_is_not_its_own(self):
        self.fill()
        result = self.kvrm("clear")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"removed 6 files", result.stdout)
        self.assertEqual(sorted(os.listdir(self.cache)), sorted([*OTHERS, "regions-folder.bin", "regions-link.bin"]))

    def test_a_folder_of_others_is_left_alone(self):
        self.fill()
        self.cache.chmod(0o777)
        for command in ("list", "clear"):
            self.expect_host_error(self.kvrm(command), str(self.cache), "can be written by others")
        self.cache.rename(self.cache.with_name("elsewhere"))
        self.cache.symlink_to("elsewhere")
        self.expect_host_error(self.kvrm("clear"), "symbolic link")
        self.assertIn("regions-0123-4567.bin", os.listdir(self.cache))

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

    def test_off_where_the_guest_could_write(self):
        with tempfile.TemporaryDirectory() as folder:
            env = {"XDG_CACHE_HOME": os.path.join(folder, "cache")}
            command = ["run", "--device", "cpu", "--engine", "jit", "--jit-threshold", "1", "--max-instructions", "50e6"]

            def lines(*more):
                result = run(*command, *more, self.guest("forever"), env=env, timeout=120)
                self.assertEqual(result.returncode, 125, result.stderr)
                return [line for line in result.stderr.decode().splitlines() if "cache" in line]

            if "jit" not in run("info").stdout.decode():
                self.skipTest("no translator")
            self.assertEqual(len(lines("--root", folder, "--verbose")), 1)
            self.assertEqual(lines("--root", folder), [])
            self.assertFalse(os.path.exists(env["XDG_CACHE_HOME"]))
            self.assertEqual(lines("--verbose"), [])
            self.assertTrue(os.listdir(os.path.join(env["XDG_CACHE_HOME"], "kvrm")))


if __name__ == "__main__":
    unittest.main(verbosity=1)
