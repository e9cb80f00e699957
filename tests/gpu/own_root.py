"""Runs a command under a root directory of its own: /usr of this machine, read-only, and nothing
else of it. Needs root and namespaces of mounts; the command has neither."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

ENVIRONMENT = {"PATH": "/usr/bin:/bin:TOOLS", "HOME": "HOME", "PYTHONPATH": "SITE"}
NOBODY = "65534:65534"
TOOLS = ("unshare", "mount", "chroot")
# $1 is the root, then pairs of a folder and where it is to be, "--" and the command.
SCRIPT = r'''
set -eu
root=$1; shift
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$root"
for name in usr etc proc dev tmp opt; do mkdir "$root/$name"; done
for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
chmod 1777 "$root/tmp"
mount --bind /usr "$root/usr"
mount -o remount,bind,ro "$root/usr"
mount -t proc proc "$root/proc"
for name in null zero random urandom; do
    : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/shm"; mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
echo 'nobody:x:65534:65534::/nonexistent:/bin/sh' > "$root/etc/passwd"
while [ "$1" != -- ]; do
    mkdir -p "$root$2"; mount --bind "$1" "$root$2"; shift 2
done
shift
exec chroot --userspec="$NOBODY" "$root" env -i "$@"
'''


def why_not() -> str:
    if os.geteuid() != 0:
        return "needs root, for a root directory of its own"
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    if absent:
        return "not there: " + ", ".join(absent)
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True,
                           text=True)
    return tried.stderr.strip()


def placed(word: str, places: dict) -> str:
    for name, path in places.items():
        word = word.replace(name, str(path))
    return word


def run(root: pathlib.Path, places: dict, more_places: dict, command: list, more: dict):
    """`places` by their names in words of the command, the environment and `more_places`."""
    root.mkdir(exist_ok=True)
    inside = {name: f"/opt/{name.lower()}" for name in places}
    mounts = [word for name, folder in {**places, **more_places}.items()
              for word in (str(folder), placed(name, inside))]
    environment = [f"{name}={placed(text, inside)}" for name, text in
                   {**ENVIRONMENT, **more}.items()]
    words = [placed(word, inside) for word in command]
    return subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SCRIPT, "sh",
         str(root), *mounts, "--", *environment, "sh", "-c", 'cd "$HOME" && exec "$@"', "sh",
         *words],
        env={"PATH": os.environ["PATH"], "NOBODY": NOBODY}, text=True, capture_output=True)
