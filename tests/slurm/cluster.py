"""A Slurm of two nodes that are this machine: munged, slurmctld and two slurmd of our own on loopback, with
their configuration, key, socket and state in one folder. Jobs go to the first node, in the partition "both"
to both. Needs root, slurm-wlm and munge.
"""
from __future__ import annotations

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch", "srun", "scontrol", "scancel", "squeue")
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
PATIENCE = 60
NODES = ("node1", "node2")


def why_not() -> str:
    """Why there can be no Slurm here; empty: there can."""
    if os.geteuid() != 0:
        return "only root starts a Slurm that runs jobs"
    for program in PROGRAMS:
        if shutil.which(program, path=PATH) is None:
            return f"{program} is not there: install slurm-wlm and munge"
    return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.chmod(0o755)  # as are the folders above it: the user munge goes through them
        self.daemons = []
        self.environment = {"PATH": PATH, "SLURM_CONF": str(folder / "slurm.conf")}
        try:
            self._start_munge()
            self._start_slurm()
        except Exception:
            self.remove()
            raise

    def _daemon(self, name, *words, **more):
        log = open(self.folder / f"{name}{len(self.daemons)}.out", "w")
        with log:
            self.daemons.append(subprocess.Popen([name, *map(str, words)], env=self.environment,
                                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 **more))

    def _await(self, what, holds):
        until = time.monotonic() + PATIENCE
        while not holds():
            ended = any(daemon.poll() is not None for daemon in self.daemons)
            if ended or time.monotonic() > until:
                texts = [file.read_text(errors="replace")[-2000:]
                         for file in sorted(self.folder.glob("*.out"))]
                raise RuntimeError(f"{what} is not there: " + "\n".join(texts))
            time.sleep(0.05)

    def _start_munge(self):
        owner = pwd.getpwnam("munge")
        munge = self.folder / "munge"
        munge.mkdir(mode=0o755)
        (munge / "key").write_bytes(os.urandom(1024))
        (munge / "key").chmod(0o600)
        for path in (munge, munge / "key"):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        self._daemon("munged", "--foreground", "--key-file", munge / "key", "--socket",
                     munge / "socket", "--pid-file", munge / "pid", "--seed-file", munge / "seed",
                     "--log-file", munge / "log", user="munge", group="munge", extra_groups=[])
        self._await("munge's socket", (munge / "socket").exists)

    def _start_slurm(self):
        name = socket.gethostname().partition(".")[0]
        for folder in ("state", *(f"spool-{node}" for node in NODES)):
            (self.folder / folder).mkdir()
        settings = {
            "ClusterName": "shardscope", "SlurmctldHost": f"{name}(127.0.0.1)", "SlurmUser": "root",
            "SlurmdUser": "root", "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.folder}/munge/socket", "SlurmctldPort": free_port(),
            "StateSaveLocation": self.folder / "state",
            "SlurmdSpoolDir": self.folder / "spool-%n", "SlurmctldPidFile": self.folder / "ctld.pid",
            "SlurmdPidFile": self.folder / "%n.pid", "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none", "MpiDefault": "none",
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none", "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU", "ReturnToService": 2, "KillWait": 10}
        lines = [f"{key}={value}" for key, value in settings.items()]
        lines += [f"NodeName={node} NodeHostname={name} NodeAddr=127.0.0.1 Port={free_port()} "
                  f"CPUs={os.cpu_count()} State=UNKNOWN" for node in NODES]
        lines += [f"PartitionName=one Nodes={NODES[0]} Default=YES MaxTime=INFINITE State=UP",
                  "PartitionName=both Nodes=ALL MaxTime=INFINITE State=UP"]
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        self._daemon("slurmctld", "-D")
        for node in NODES:
            self._daemon("slurmd", "-D", "-N", node)
        self._await("a node", lambda: self.run("sinfo", "-h", "-p", "both", "-o", "%T %D",
                                               check=False).strip() == f"idle {len(NODES)}")

    def run(self, *words, check=True) -> str:
        return subprocess.run([str(word) for word in words], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=check,
                              timeout=PATIENCE).stdout

    def jobs(self) -> list[str]:
        return self.run("squeue", "-h", "-o", "%i").split()

    def remove(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
