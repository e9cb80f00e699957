#!/usr/bin/env python3
"""The start hook with PyTorch on the CPU: each program runs with and without it, and must compute the
same, bit for bit. libshardscope_inject.so is a stand-in that logs its calls.

    hook_torch_test.py --python PYTHON [-k NAME]      77 where PYTHON has no PyTorch
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import textwrap
import unittest

import hook_support as support

PYTHON = ""

HEAD = """
import os, sys, warnings
import torch
torch.set_num_threads(1)

def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))

def batch(step, rank=0):
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(step * 10 + rank))

def say(loss):
    print(float(loss).hex(), flush=True)

def check(model):
    print(float(sum(p.detach().double().abs().sum() for p in model.parameters())).hex(), torch.initial_seed(), flush=True)
"""

TRAIN_RANK = """
def train(rank, world, kind, steps=4):
    import torch.distributed as dist
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    m = model()
    other = dist.new_group([0])
    if kind == "ddp":
        w = torch.nn.parallel.DistributedDataParallel(m)
    elif kind == "fsdp2":
        try:
            from torch.distributed.fsdp import fully_shard
        except ImportError:
            from torch.distributed._composable.fsdp import fully_shard
        fully_shard(m[0]); fully_shard(m[2]); fully_shard(m)
        w = m
        if "compiled" in sys.argv: m.compile()
    else:
        w = m
    o = torch.optim.AdamW(w.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        loss = w(batch(step, rank)).square().mean()
        loss.backward(); o.step(); o.zero_grad()
        losses.append(loss.item().hex())
    with open(os.environ["OUT"] + ".%d" % rank, "w") as file:
        file.write("\\n".join(losses))
    dist.destroy_process_group()
"""


def without_times(text):
    """PyTorch's log lines begin with a level, time, and thread."""
    return re.sub(r"^([IWE])\d{4} [\d:.]+ +\d+ ", r"\1 ", text, flags=re.M)


class TorchTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.place = support.Place()
        cls.version = subprocess.run(
            [PYTHON, "-c", "import torch; print(torch.__version__, int(torch.compiled_with_cxx11_abi()))"],
            stdout=subprocess.PIPE,
            universal_newlines=True,
            check=True,
        ).stdout.split()
        parts = cls.version[0].split(".")
        cls.shim = "libshardscope_torch_%s_%s%s.so" % (parts[0], parts[1], "" if cls.version[1] == "1" else "_pre")
        cls.place.shim(cls.shim)
        cls.number = 0
        print("PyTorch", *cls.version)

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def program(self, text):
        TorchTest.number += 1
        return self.place.write("program_%d.py" % TorchTest.number, HEAD + textwrap.dedent(text))

    def run_both(self, text, launch=(), arguments=(), compare_stderr=True, **more):
        program = self.program(text)
        command = [PYTHON, *launch, program, *arguments]
        runs, outs = [], []
        for hook in (False, True):
            out = os.path.join(self.place.folder, "out_%d" % hook)
            for old in [f for f in os.listdir(self.place.folder) if f.startswith("out_%d." % hook)]:
                os.remove(os.path.join(self.place.folder, old))
            # Each its own cache of compiled code, so that both compile.
            cache = os.path.join(self.place.folder, "cache_%d" % hook)
            shutil.rmtree(cache, ignore_errors=True)
            runs.append(self.place.run(command, hook=hook, OUT=out, TORCHINDUCTOR_CACHE_DIR=cache, **more))
            written = {}
            for name in sorted(os.listdir(self.place.folder)):
                if name.startswith("out_%d." % hook):
                    with open(os.path.join(self.place.folder, name)) as file:
                        written[name.split(".", 1)[1]] = file.read()
            outs.append(written)
        plain, hooked = runs
        self.assertEqual(hooked.returncode, plain.returncode, hooked.stderr)
        self.assertEqual(hooked.stdout, plain.stdout, hooked.stderr)
        if compare_stderr:
            self.assertEqual(without_times(hooked.stderr), without_times(plain.stderr))
        self.assertEqual(outs[1], outs[0])
        hooked.written = outs[1]
        if plain.returncode != 0:
            self.skipTest("the program fails without the hook as well: " + plain.stderr.strip()[-300:])
        self.assertEqual([t for t in hooked.texts if t.startswith("log error")], [])
        return hooked

    def count(self, done, text):
        return sum(1 for call in done.texts if call == text)

    def facts(self, done, name):
        return [t.split("=", 1)[1] for t in done.texts if t.startswith("fact %s=" % name)]

    def test_plain_and_accumulation(self):
        done = self.run_both(
            """
            m = model(); o = torch.optim.AdamW(m.parameters(), lr=0.01)
            for step in range(6):
                loss = m(batch(step)).square().mean() / 2
                loss.backward()
                if step % 2: o.step(); o.zero_grad()
                say(loss)
            check(m)
            """
        )
        self.assertEqual(self.count(done, "step optimizer"), 3)
        self.assertEqual(self.facts(done, "shim"), [self.shim])
        self.assertEqual(self.facts(done, "parameters"), ["212"])
        self.assertEqual(self.facts(done, "optimizers"), ["AdamW"])
        self.assertIn("rank 0 first optimizer step", done.texts)
        self.assertIn("blocks 20", done.texts)  # 4 parameters, 4 gradients, 4 x (step, 2 averages)
        self.assertIn(support.TORCH_START, done.texts)

    def test_two_optimizers(self):
        done = self.run_both(
            """
            g, d = model(1), model(2)
            og, od = torch.optim.Adam(g.parameters()), torch.optim.SGD(d.parameters(), lr=0.1, momentum=0.9)
            for step in range(4):
                for m, o in ((d, od), (g, og)):
                    loss = m(batch(step)).square().mean()
                    loss.backward(); o.step(); o.zero_grad(); say(loss)
            """
        )
        self.assertEqual(self.count(done, "step optimizer"), 4)
        self.assertEqual(self.facts(done, "optimizers")[-1], "SGD, Adam")
        self.assertEqual(self.facts(done, "parameters")[-1], "424")

    def test_scheduler_and_classes_of_classes(self):
        done = self.run_both(
            """
            class Mine(torch.optim.AdamW):
                def step(self, closure=None): return super().step(closure)
            m = model()
            torch.optim.AdamW(m.parameters())  # hooks the parent's step as well
            o = Mine(m.parameters(), lr=0.1)
            s = torch.optim.lr_scheduler.StepLR(o, 1, 0.5)
            for step in range(4):
                loss = m(batch(step)).square().mean()
                loss.backward(); o.step(); o.zero_grad(); s.step(); say(loss)
            t = torch.optim.SGD(m.parameters(), lr=torch.tensor(0.25))
            l = torch.optim.LBFGS(m.parameters())
            """
        )
        self.assertEqual(self.count(done, "step optimizer"), 4)
        rates = [float(t.split("=")[1]) for t in done.texts if t.startswith("metric learning_rate")]
        self.assertEqual(rates, [0.1, 0.05, 0.025, 0.0125])

    def test_learning_rate_as_tensor(self):
        done = self.run_both(
            """
            m = model(); o = torch.optim.Adam(m.parameters(), lr=torch.tensor(0.25), foreach=False)
            from torch.utils._python_dispatch import TorchDispatchMode
            from torch.overrides import TorchFunctionMode
            class Ops(TorchDispatchMode):
                def __torch_dispatch__(self, f, types, args=(), kwargs=None):
                    print(f); return f(*args, **(kwargs or {}))
            class Functions(TorchFunctionMode):
                def __torch_function__(self, f, types, args=(), kwargs=None):
                    print(getattr(f, "__name__", f)); return f(*args, **(kwargs or {}))
            for step in range(2):
                m(batch(step)).square().mean().backward()
                with Ops(), Functions(): o.step()
            """
        )
        self.assertEqual(self.count(done, "metric learning_rate=0.25"), 2)

    def test_closure_and_scaler(self):
        done = self.run_both(
            """
            m = model(); o = torch.optim.LBFGS(m.parameters(), max_iter=3)
            def closure():
                o.zero_grad(); loss = m(batch(0)).square().mean(); loss.backward(); return loss
            for step in range(3): say(o.step(closure))
            """
        )
        self.assertEqual(self.count(done, "step optimizer"), 3)

    COMPILED = """
        import torch._dynamo.utils as u
        kind = sys.argv[1]
        m = model(); o = torch.optim.AdamW(m.parameters(), lr=0.01)
        run = m
        if kind == "model": run = torch.compile(m)
        if kind == "in place": m.compile()
        if kind == "whole function":
            @torch.compile(fullgraph=True)
            def run(x): return m(x)
        step_it = o.step
        if kind == "optimizer":
            @torch.compile
            def step_it(): o.step()
        for step in range(4):
            loss = run(batch(step)).square().mean()
            loss.backward(); step_it(); o.zero_grad(); say(loss)
        check(m)
        print("recompiled", sum(u.counters["recompile_limit"].values()), "graphs", u.counters["stats"]["unique_graphs"])
        if kind != "optimizer": print("breaks", sum(u.counters["graph_break"].values()))
        print("breaks", dict(u.counters["graph_break"]), file=sys.stderr)
    """

    def test_compiled(self):
        for kind in ("model", "in place", "whole function", "optimizer"):
            with self.subTest(kind=kind):
                done = self.run_both(self.COMPILED, arguments=[kind], compare_stderr=kind != "optimizer")
                self.assertEqual(self.count(done, "step optimizer"), 4)
                self.assertEqual(self.facts(done, "optimizers"), ["AdamW"])
                ranks = [t for t in done.texts if t.startswith("rank")]
                self.assertEqual(ranks, ["rank 0 first optimizer step"])
                self.assertTrue(all(r == "helper" for r in self.facts(done, "role") if r != "rank"))
                print("compiled %s: %d compile workers" % (kind, self.facts(done, "role").count("helper")))

    def test_scripted_and_parallel(self):
        done = self.run_both(
            """
            warnings.simplefilter("ignore")
            m = model(); o = torch.optim.SGD(m.parameters(), lr=0.1)
            say(torch.jit.trace(m, batch(0))(batch(1)).sum())
            say(torch.jit.script(m)(batch(1)).sum())
            say(torch.nn.DataParallel(m)(batch(1)).sum())
            p = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(8, 4))
            q = torch.optim.SGD(p.parameters(), lr=0.1)
            p(batch(0)).sum().backward(); q.step(); say(p(batch(0)).sum())
            """
        )
        self.assertEqual(self.count(done, "step optimizer"), 1)

    def test_loaders(self):
        text = """
            import torch.utils.data as data
            class Set(data.Dataset):
                def __len__(self): return 16
                def __getitem__(self, at): return torch.randn(8) + at
            if __name__ == "__main__":
                m = model(); o = torch.optim.SGD(m.parameters(), lr=0.01)
                for x in data.DataLoader(Set(), 4, shuffle=True, num_workers=2, multiprocessing_context=sys.argv[1]):
                    loss = m(x).square().mean(); loss.backward(); o.step(); o.zero_grad(); say(loss)
        """
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                done = self.run_both(text, arguments=[method])
                self.assertEqual(self.count(done, "step optimizer"), 4)
                # Forked workers sleep and say nothing.
                roles = ["rank"] if method == "fork" else ["loader", "loader", "rank"]
                self.assertEqual(sorted(self.facts(done, "role")), roles)
                self.assertEqual(sum(t.startswith("rank ") for t in done.texts), 1)

    def test_torchrun(self):
        tail = '\ntrain(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1])\n'
        for kind in ("ddp", "fsdp2"):
            with self.subTest(kind=kind):
                launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
                done = self.run_both(TRAIN_RANK + tail, launch, [kind], compare_stderr=False)
                self.check_ranks(done, ["rank 0 RANK", "rank 1 RANK"])
                self.assertEqual(self.facts(done, "role").count("launcher"), 1)
                self.assertEqual(set(self.facts(done, "parameters")), {"212"})

    def check_ranks(self, done, early):
        processes = [p for p in support.of_process(done).values() if "step optimizer" in p]
        self.assertEqual([p.count("step optimizer") for p in processes], [4, 4])
        self.assertEqual(set(done.written), {"0", "1"})
        self.assertEqual(set(self.facts(done, "world")), {"2"})
        groups = sorted(t for t in done.texts if t.startswith("fact group:") and t.endswith("=0,1"))
        self.assertEqual(len(groups), 2, done.texts)
        firsts = sorted(next(t for t in p if t.startswith("rank ")) for p in processes)
        self.assertEqual(firsts, early)
        for p in processes:
            self.assertEqual(p.count("flush 500"), 1)

    WAITS = '''
        import inspect, pickle, traceback
        import torch.distributed as dist
        import torch._dynamo.utils as u
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        Work, Future = dist.Work, torch._C.Future
        for owner in (Work, Future):
            w = vars(owner)["wait"]
            print(type(w), type(w.__func__), w.__name__, w.__doc__, w.__func__.__module__, repr(owner.wait)[:10])
            try: print(inspect.signature(w))
            except Exception as error: print(type(error))
        x = torch.ones(4)
        work = dist.all_reduce(x, async_op=True)
        print(type(work), isinstance(work, Work), work.wait(), Work.wait(work), work.get_future().wait())
        for wrong in (lambda: work.wait(1), lambda: work.wait(late=1), lambda: Work.wait(None), lambda: Work.wait()):
            try: wrong()
            except Exception: print(traceback.format_exc().split("Invoked with")[0])

        class Mine(Work):  # a work in Python, as comm hooks and tests have
            def wait(self, timeout=None): return bool(super().wait(timeout)) if timeout else "mine"
            def get_future(self): return torch.futures.Future()
        print(Mine().wait(), isinstance(Mine(), Work))
        f = torch.futures.Future(); f.set_result(7); print(f.wait(), torch.futures.wait_all([f, f]))
        broken = torch.futures.Future(); broken.set_exception(ValueError("of the program"))
        try: broken.wait()
        except ValueError as error: print(error)

        @torch.compile(fullgraph=True, backend="eager")
        def synchronous(x):
            dist.all_reduce(x); return x * 2
        @torch.compile(backend="eager")
        def asynchronous(x):
            y = x + 1
            work = dist.all_reduce(y, async_op=True)
            z = x * 2
            work.wait()
            return y + z
        @torch.compile(backend="eager")
        def waiting(work, x):
            y = x + 1
            work.wait()
            return y * 2
        for _ in range(3): print(synchronous(x.clone()), asynchronous(x.clone()), waiting(work, x))
        print(sum(u.counters["graph_break"].values()), u.counters["stats"]["unique_graphs"], len(u.counters["unimplemented"]))
        dist.destroy_process_group()
    '''

    def test_waits(self):
        done = self.run_both(self.WAITS)
        self.assertGreater(self.count(done, "wait work"), 0)
        self.assertGreater(self.count(done, "wait future"), 0)

    def test_compiled_fsdp2(self):
        tail = '\ntrain(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1])\n'
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        done = self.run_both(TRAIN_RANK + tail, launch, ["fsdp2", "compiled"], compare_stderr=False)
        self.assertEqual(set(done.written), {"0", "1"})
        self.assertGreater(self.count(done, "wait work"), 0)

    def test_cost_of_wait(self):
        program = self.program(
            '''
            import time, statistics
            import torch.distributed as dist
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
            work = dist.all_reduce(torch.ones(1), async_op=True); work.wait()
            took = []
            for _ in range(10):
                begun = time.perf_counter_ns()
                for _ in range(10000): work.wait()
                took.append((time.perf_counter_ns() - begun) / 10000)
            print(round(statistics.median(took)), "ns")
            dist.destroy_process_group()
            '''
        )
        for hook in (False, True):
            done = self.place.run([PYTHON, program], hook=hook, FAKE_INJECT_LOG="")
            self.assertEqual(done.returncode, 0, done.stderr)
            print("wait of finished work, %s the hook: %s" % ("with" if hook else "without", done.stdout.strip()))

    def test_spawned_ranks(self):
        text = TRAIN_RANK + textwrap.dedent(
            """
            import torch.multiprocessing as mp
            if __name__ == "__main__":
                import socket
                s = socket.socket(); s.bind(("127.0.0.1", 0)); os.environ["MASTER_PORT"] = str(s.getsockname()[1]); s.close()
                mp.start_processes(train, args=(2, "ddp"), nprocs=2, start_method=sys.argv[1])
            """
        )
        for method in ("spawn", "fork", "forkserver"):
            with self.subTest(method=method):
                done = self.run_both(text, arguments=[method], compare_stderr=False)
                self.check_ranks(done, ["rank 0 init_process_group", "rank 1 init_process_group"])

    def test_package(self):
        done = self.run_both(
            """
            try:
                import shardscope
            except ImportError:
                class shardscope:
                    range = staticmethod(lambda name: __import__("contextlib").nullcontext())
                    metric = step = model = staticmethod(lambda *a: None)
            m = model(); o = torch.optim.SGD(m.parameters(), lr=0.1); shardscope.model(m)
            for step in range(3):
                with shardscope.range("forward"): loss = m(batch(step)).square().mean()
                loss.backward(); o.step(); shardscope.metric("loss", loss); shardscope.metric("h", loss.half())
                shardscope.metric("n", torch.tensor(step)); shardscope.metric("meta", torch.empty((), device="meta"))
                shardscope.step(); say(loss)
            """
        )
        self.assertEqual(self.count(done, "step shardscope.step"), 3)
        self.assertEqual(self.facts(done, "model"), ["Sequential"])
        self.assertEqual(self.count(done, "metric n=2"), 1)
        self.assertEqual(sum(t.startswith("metric loss=") for t in done.texts), 3)
        self.assertEqual(sum(t.startswith("metric h=") for t in done.texts), 3)
        self.assertEqual(sum("meta is left out" in t for t in done.texts), 1)

    def test_cost_of_step(self):
        program = self.program(
            """
            import time, statistics
            warnings.simplefilter("ignore")
            ps = [torch.nn.Parameter(torch.zeros(2)) for _ in range(300)]
            for p in ps: p.grad = torch.zeros(2)
            o = torch.optim.SGD(ps, lr=0.1)
            hook = sys.modules.get("_shardscope")
            import torch.optim.optimizer as m
            m = sys.modules["torch.optim.optimizer"]
            for name in ("before", "after") if hook else ():
                hooks = getattr(m, "_global_optimizer_%s_hooks" % ("pre" if name == "before" else "post"))
                hook_function = list(hooks.values())[0]
                o.step()
                took = []
                for _ in range(200):
                    begun = time.perf_counter_ns(); hook_function(o, (), {}); took.append(time.perf_counter_ns() - begun)
                print(name, round(statistics.median(took) / 1e3, 1), "us")
            """
        )
        for level in ("2", "3"):
            done = self.place.run([PYTHON, program], FAKE_INJECT_LEVEL=level, FAKE_INJECT_LOG="")
            self.assertEqual(done.returncode, 0, done.stderr)
            print("hooks per step, 300 parameters, level %s: %s" % (level, done.stdout.replace("\n", "; ")))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--python", required=True)
    args, rest = ap.parse_known_args()
    PYTHON = args.python
    found = subprocess.run([PYTHON, "-c", "import torch"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if found.returncode != 0:
        print("skipped: %s has no PyTorch" % PYTHON)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + rest)
