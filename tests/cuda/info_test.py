#!/usr/bin/env python3
"""kvrm info about GPUs: none, and the one of the library that stands in for the driver.

    info_test.py build/kvrm build/tests/cuda/libfake_cuda.so build/tests/cuda/libpartial_cuda.so
"""

import json
import os
import subprocess
import sys
import unittest

KVRM, FAKE, PARTIAL = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))


def info(library, *options):
    environment = {**os.environ, "KVRM_LIBCUDA": library}
    done = subprocess.run([KVRM, "info", *options], env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


def cuda(library):
    (entry,) = [device for device in json.loads(info(library, "--json"))["devices"] if device["name"] == "cuda"]
    return entry


class Info(unittest.TestCase):
    def test_no_driver(self):
        entry = cuda("/no/such/libcuda.so.1")
        self.assertFalse(entry["available"])
        self.assertIn("/no/such/libcuda.so.1", entry["reason"])
        self.assertEqual(entry["gpus"], [])
        (line,) = [line for line in info("/no/such/libcuda.so.1").splitlines() if line.startswith("devices")]
        self.assertIn("no NVIDIA driver", line)

    def test_driver_too_old(self):
        self.assertIn("too old", cuda(PARTIAL)["reason"])

    def test_a_gpu(self):
        entry = cuda(FAKE)
        self.assertEqual(entry["driver"], "12.4")
        (gpu,) = entry["gpus"]
        self.assertEqual((gpu["name"], gpu["compute_capability"], gpu["multiprocessors"]), ("Fake GPU", "9.0", 132))
        self.assertEqual(gpu["memory"], 16 << 30)
        self.assertIn(gpu["code"], ("cubin", "ptx"))
        (line,) = [line for line in info(FAKE).splitlines() if line.startswith("gpu 0")]
        for word in ("Fake GPU", "9.0", "132", "16.0 GiB", "12.4"):
            self.assertIn(word, line)


if __name__ == "__main__":
    unittest.main()
