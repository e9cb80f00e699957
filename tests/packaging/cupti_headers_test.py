#!/usr/bin/env python3
"""CUPTI's headers, as packaging/fetch-libtorch unpacks them, need nothing that only a machine with
a CUDA toolkit has: cupti_headers_test.py COMPILER FOLDER-OF-LIBTORCH"""
import pathlib
import subprocess
import sys

compiler, libtorch = sys.argv[1], pathlib.Path(sys.argv[2])
include = libtorch / "nvidia/cu13/include"
if not (include / "cupti.h").exists():
    print(f"SKIPPED: there is no {include}/cupti.h; run packaging/fetch-libtorch")
    sys.exit(77)
done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-H", "-isystem", include, "-x",
                       "c++", "-"], input="#include <cupti.h>\n", capture_output=True, text=True,
                      check=False)
taken = {line.split()[-1] for line in done.stderr.splitlines() if line.startswith(".")}
foreign = sorted(f for f in taken if f.startswith(("/usr/local/", "/opt/")))
if done.returncode != 0 or foreign or not taken:
    print(done.stderr if done.returncode else f"headers of a toolkit were included: {foreign}")
    sys.exit(1)
print(f"{len(taken)} headers, all of the wheels or of the system")
