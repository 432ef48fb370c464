#!/usr/bin/env python3
"""The kernel confines kvrm while guests run, and guests notice nothing.

    confine_test.py build/kvrm [probe.so]
"""

import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROBE = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 else None

from common import COMPILER, KVRM, Case, GuestCase, run  # noqa: E402

FACTS = json.loads(run("info", "--json").stdout)["confinement"]
LANDLOCK, SECCOMP = (FACTS[name]["available"] for name in ("landlock", "seccomp"))
# What a probe tells: the errno of opening a file outside, of socket() and of execve() with nothing to run.
FREE = (0, 0, errno.EFAULT)
CONFINED = (errno.EACCES if LANDLOCK else 0, *((errno.EPERM, errno.EPERM) if SECCOMP else FREE[1:]))
WITHOUT_LANDLOCK = (0, 0, errno.EPERM if SECCOMP else errno.EFAULT)

# Whatever a guest does with files; each step prints its errno.
FILES = r"""
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#define STEP(call) (errno = 0, (void)!(call), printf("%s %d\n", #call, errno))
int main(int argc, char** argv) {
  int fd;
  STEP(mkdir("a", 0755)); STEP(mkdir("b", 0700));
  STEP(fd = open("a/file", O_RDWR | O_CREAT | O_EXCL, 0644)); STEP(write(fd, "12345", 5)); STEP(ftruncate(fd, 3));
  STEP(rename("a/file", "b/moved")); STEP(link("b/moved", "a/link")); STEP(symlink("/b/moved", "a/symbolic"));
  STEP(truncate("a/symbolic", 2)); STEP(chmod("a/link", 0600)); STEP(mkfifo("a/fifo", 0600));
  STEP(open("a/symbolic", O_WRONLY | O_TRUNC)); STEP(open("b", O_TMPFILE | O_RDWR, 0600));
  STEP(renameat2(AT_FDCWD, "a/link", AT_FDCWD, "b/moved", RENAME_EXCHANGE));
  STEP(fd = open("/dev/null", O_RDWR)); STEP(isatty(fd)); STEP(open("/dev/zero", O_RDONLY));
  STEP(open("/dev/full", O_WRONLY));
  STEP(open("/proc/self/exe", O_RDONLY)); STEP(open("/proc/self/maps", O_RDONLY)); STEP(open("/dev/urandom", O_RDONLY));
  STEP(open("../outside", O_RDONLY)); STEP(open("/etc/passwd", O_RDONLY)); STEP(opendir("/")); STEP(chdir("a"));
  STEP(unlink("fifo")); STEP(unlink("link")); STEP(unlink("symbolic")); STEP(rmdir("/a")); STEP(rmdir("/none"));
  return 0;
}
"""


class Information(Case):
    def test_info_says_what_is_in_force(self):
        if LANDLOCK:
            self.assertGreaterEqual(FACTS["landlock"]["abi"], 2)
        for layer in FACTS.values():
            self.assertEqual(layer["available"], "reason" not in layer)
        self.assertRegex(run("info").stdout.decode(), "(?m)^confined  landlock.*seccomp")


@unittest.skipUnless(COMPILER, "aarch64-linux-gnu-gcc is not installed")
class Confinement(GuestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        source = pathlib.Path(cls.folder.name, "files.c")
        source.write_text("#define _GNU_SOURCE\n" + FILES)
        subprocess.run([COMPILER, "-O1", "-static", "-o", source.with_suffix(""), source], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name)
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.here / "cache")}

    def probes(self, *command, before=(), **options):
        """What each thread of kvrm that wrote something could do."""
        if not PROBE:
            self.skipTest("no probe: a build with sanitizers, or none was named")
        (self.here / "secret").write_text("secret")
        environment = {**self.environment, "LD_PRELOAD": PROBE, "KVRM_PROBE": str(self.here / "secret")}
        command = [*before, KVRM, *map(str, command)]
        result = subprocess.run(command, env=environment, capture_output=True, timeout=60, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line.split()[1:] for line in result.stderr.decode().splitlines() if line.startswith("probe: ")]
        return {tuple(map(int, line)) for line in lines}

    def test_a_run_is_confined(self):
        echo = self.guest("echo")
        for options in ([], ["--engine", "interp"], ["--lanes", 2], ["--check", 1000]):
            command = ["run", "--device", "cpu", *options]
            self.assertEqual(self.probes(*command, echo, input=b"text"), {CONFINED}, options)
            self.assertEqual(self.probes(*command, "--no-confine", echo, input=b"text"), {FREE}, options)

    def fleet(self, *options):
        lines = self.here / "lines"
        lines.write_text("a line\n" * 40)
        out = self.here / "results.jsonl"
        out.unlink(missing_ok=True)
        return ["fleet", "--device", "cpu", "--stdin-lines", lines, "--out", out, *options, self.guest("echo")]

    def test_every_thread_of_a_fleet_is_confined(self):
        self.assertEqual(self.probes(*self.fleet("--devices", "0,0")), {CONFINED})
        self.assertEqual(self.probes(*self.fleet("--devices", "0,0", "--no-confine")), {FREE})

    def test_ranks_keep_what_mpi_needs(self):
        if not shutil.which("mpirun") or not os.path.exists(os.path.join(os.path.dirname(KVRM), "kvrm-mpi.so")):
            self.skipTest("no mpirun, or a build without MPI")
        ranks = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        told = self.probes(*self.fleet("--verbose"), before=ranks)
        self.assertIn(WITHOUT_LANDLOCK, told)
        self.assertNotIn(CONFINED, told)

    def test_verbose_says_what_is_in_force(self):
        text = run("run", "--device", "cpu", "--verbose", self.guest("seven")).stderr.decode()
        for name, available in (("landlock", LANDLOCK), ("seccomp", SECCOMP)):
            self.assertIn(f"{name} {'on' if available else 'off: '}", text)
        self.assertEqual(run("run", "--verbose", "--no-confine", self.guest("seven")).stderr, b"")

    def test_files_of_a_guest_are_as_without(self):
        outcomes = []
        for number, options in enumerate(([], ["--no-confine"])):
            root = self.here / f"root{number}"
            root.mkdir()
            result = run("run", "--device", "cpu", "--root", root, *options, self.guest("files"), env=self.environment)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            tree = sorted((str(path.relative_to(root)), path.lstat().st_mode) for path in root.rglob("*"))
            outcomes.append((result.stdout, tree))
        self.assertEqual(*outcomes)
        self.assertIn(b'RENAME_EXCHANGE) 0\n', outcomes[0][0])
        self.assertIn(b'open("../outside", O_RDONLY) 2\n', outcomes[0][0])

    def test_results_are_as_without(self):
        for name in ("echo", "crash", "undefined", "arguments", "sleep"):
            results = [run("run", *options, self.guest(name), input=b"text") for options in ([], ["--no-confine"])]
            self.assertEqual(*((result.returncode, result.stdout, result.stderr) for result in results))

    def test_a_fleet_reads_and_writes_what_its_command_names(self):
        text, echo, seven = self.here / "text", self.guest("echo"), self.guest("seven")
        text.write_text("from a file")
        programs, outputs, out = self.here / "programs", self.here / "outputs", self.here / "out.jsonl"
        programs.write_text(f"{echo} <{text}\n{seven}\n/no/such\n{echo} <{self.here}/none\n")
        records = []
        for options in ([], ["--no-confine"]):
            result = run("fleet", "--programs", programs, "--out", out, "--stdout-dir", outputs, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((outputs / "000000.out").read_text(), "from a file")
            records.append(sorted(out.read_text().splitlines()[1:]))
            out.unlink()
            shutil.rmtree(outputs)
        self.assertEqual(*records)

    def test_the_first_run_fills_the_cache(self):
        run("run", "--device", "cpu", "--engine", "jit", self.guest("slow"), input=b"", env=self.environment)
        cache = self.here / "cache" / "kvrm"
        self.assertEqual(cache.stat().st_mode & 0o777, 0o700)
        self.assertTrue(list(cache.iterdir()))


if __name__ == "__main__":
    unittest.main(verbosity=1)
