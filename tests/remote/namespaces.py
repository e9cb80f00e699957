"""Three hosts on one machine: network namespaces with addresses, host names and ssh servers of
their own, joined by a bridge in the first one's. Needs root, ip, unshare, sshd and ssh-keygen.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess
import time

SSHD = "/usr/sbin/sshd"
LISTENS = "0A"  # in /proc/net/tcp
NETWORK = "10.77.31"


def why_not() -> str:
    """Why there can be no such hosts here; empty: there can."""
    if os.geteuid() != 0:
        return "only root makes network namespaces"
    for program in ("ip", "unshare", "nsenter", "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is not there"
    if not os.access(SSHD, os.X_OK):
        return "no ssh server: install openssh-server"
    name = f"shardscope-{os.getpid()}"
    made = run("ip", "netns", "add", name, check=False)
    if made.returncode != 0:
        return "network namespaces cannot be made: " + made.stderr.strip()
    # In a changed root they can be made and not be entered.
    entered = run("ip", "-n", name, "link", "set", "lo", "up", check=False)
    run("ip", "netns", "del", name)
    return "" if entered.returncode == 0 else \
        "network namespaces cannot be entered: " + entered.stderr.strip()


def run(*words, check=True, **more):
    return subprocess.run([str(word) for word in words], check=check, text=True,
                          capture_output=True, **more)


def listening(pid) -> list[str]:
    """Where something listens in the process's network: "10.0.0.1:80"."""
    places = []
    for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == LISTENS:
            address, port = words[1].split(":")
            numbers = reversed([int(address[i:i + 2], 16) for i in range(0, 8, 2)])
            places.append(".".join(map(str, numbers)) + f":{int(port, 16)}")
    return places


class Host:
    """A namespace with a name, an address, and a folder of its own."""

    def __init__(self, name: str, number: int, folder: pathlib.Path):
        self.name, self.folder = name, folder / name
        self.namespace = f"ss{os.getpid()}-{name}"
        self.link = f"v{number}-{os.getpid()}"  # its end in the first host's namespace
        self.address = f"{NETWORK}.{number}"
        self.folder.mkdir()
        run("ip", "netns", "add", self.namespace)
        run("ip", "-n", self.namespace, "link", "set", "lo", "up")

    def command(self, words) -> list[str]:
        """Runs there, with the host's name."""
        return ["ip", "netns", "exec", self.namespace, "unshare", "--uts", "sh", "-c",
                f'hostname {self.name}; exec "$@"', "sh", *map(str, words)]

    def remove(self):
        for pid in run("ip", "netns", "pids", self.namespace, check=False).stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        run("ip", "netns", "del", self.namespace, check=False)


class Hosts:
    """head, node-a and node-b; `ssh` of head reaches the other two by `client`."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.head = Host("head", 1, folder)
        self.nodes = [Host("node-a", 2, folder), Host("node-b", 3, folder)]
        self.servers = []
        self._join()
        self._serve()

    def _join(self):
        inside = ("ip", "-n", self.head.namespace)
        run(*inside, "link", "add", "bridge", "type", "bridge")
        run(*inside, "addr", "add", f"{self.head.address}/24", "dev", "bridge")
        run(*inside, "link", "set", "bridge", "up")
        for node in self.nodes:
            run("ip", "link", "add", node.link, "netns", self.head.namespace, "type", "veth",
                "peer", "name", "eth0", "netns", node.namespace)
            run(*inside, "link", "set", node.link, "master", "bridge")
            run(*inside, "link", "set", node.link, "up")
            run("ip", "-n", node.namespace, "addr", "add", f"{node.address}/24", "dev", "eth0")
            run("ip", "-n", node.namespace, "link", "set", "eth0", "up")

    def _serve(self):
        for key in ("host_key", "user_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key)
        public = (self.folder / "host_key.pub").read_text().split()
        known = "".join(f"{node.address} {public[0]} {public[1]}\n" for node in self.nodes)
        (self.folder / "known").write_text(known)
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        client = (f"Host *\n  User root\n  IdentitiesOnly yes\n  IdentityAgent none\n"
                  f"  IdentityFile {self.folder}/user_key\n"
                  f"  UserKnownHostsFile {self.folder}/known\n  GlobalKnownHostsFile none\n")
        for node in self.nodes:
            client = f"Host {node.name}\n  HostName {node.address}\n" + client
            config = node.folder / "sshd_config"
            config.write_text(
                f"ListenAddress {node.address}\nHostKey {self.folder}/host_key\n"
                f"PidFile none\nAuthorizedKeysFile {self.folder}/user_key.pub\nUsePAM no\n"
                "StrictModes no\nPasswordAuthentication no\n"
                f"PermitRootLogin prohibit-password\n" + self._environment(node))
            self.servers.append(subprocess.Popen(
                node.command([SSHD, "-D", "-f", config, "-E", node.folder / "sshd.log"])))
        (self.folder / "client").write_text(client)
        (self.folder / "user_key").chmod(0o600)
        for node in self.nodes:
            self._await(node)

    @staticmethod
    def _environment(node, more=""):
        # SHLVL: bash below another shell does not read the user's ~/.bashrc.
        return f"SetEnv SHLVL=5 XDG_CACHE_HOME={node.folder}/cache FAKE_RANK_STEP_MS=50 {more}\n"

    def set_environment(self, more):
        """Variables of what is started there from now on, besides the usual ones."""
        for node, server in zip(self.nodes, self.servers):
            config = node.folder / "sshd_config"
            lines = [line for line in config.read_text().splitlines(True)
                     if not line.startswith("SetEnv")]
            config.write_text("".join(lines) + self._environment(node, more))
            server.send_signal(signal.SIGHUP)  # it starts itself anew
        time.sleep(0.5)
        for node in self.nodes:
            self._await(node)

    def _await(self, node):
        for _ in range(200):
            answered = run(*self.head.command(["ssh", "-F", self.folder / "client", "-o",
                                               "BatchMode=yes", node.name, "true"]), check=False)
            if answered.returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"{node.name} does not answer: {answered.stderr}")

    def cut(self, node):
        run("ip", "-n", self.head.namespace, "link", "set", node.link, "down")

    def _neighbour(self, what, node, other, *more):
        device = "bridge" if node is self.head else "eth0"
        run("ip", "-n", node.namespace, "neigh", what, other.address, "dev", device, *more)

    def lose(self, node, other):
        """What `node` sends to `other` goes nowhere: a link that is half open."""
        self._neighbour("replace", node, other, "lladdr", "02:00:00:00:00:99", "nud", "permanent")

    def find(self, node, other):
        self._neighbour("del", node, other)

    def slow(self, node, rate):
        """What it sends from now on; False where the kernel has no token bucket."""
        words = ("tc", "-n", node.namespace, "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate",
                 rate, "burst", "32kb", "latency", "200ms")
        return run(*words, check=False).returncode == 0

    def quick(self, node):
        run("tc", "-n", node.namespace, "qdisc", "del", "dev", "eth0", "root", check=False)

    def join(self, node):
        run("ip", "-n", self.head.namespace, "link", "set", node.link, "up")

    def processes(self) -> list[int]:
        """On all hosts, servers among them."""
        return [int(pid) for host in (self.head, *self.nodes)
                for pid in run("ip", "netns", "pids", host.namespace).stdout.split()]

    def remove(self):
        for host in (self.head, *self.nodes):
            host.remove()
        for server in self.servers:
            server.wait()
