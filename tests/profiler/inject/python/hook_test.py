#!/usr/bin/env python3
"""The start hook of Python and the package `shardscope`, without PyTorch: a package `torch` of a few
lines and a stand-in for libshardscope_inject.so, which logs its calls.

HOOK_TEST_PYTHON: interpreter of the programs under test, 3.8 or later; default: this one.
"""
import os
import statistics
import subprocess
import sys
import textwrap
import unittest

import hook_support as support

TORCH = {
    "__init__.py": """
        import os, sys, multiprocessing.util
        if os.environ.get("TORCH_FAILS"):
            if os.environ["TORCH_FAILS"] == "once":
                del os.environ["TORCH_FAILS"]
            raise ImportError("libtorch_cpu.so: cannot open shared object file")
        if os.environ.get("TORCH_SLOW"):
            import time; time.sleep(0.3)
        print("torch is imported")
        __version__ = os.environ.get("TORCH_VERSION", "2.11.0+cpu")
        def get_num_threads(): return 1
        def compiled_with_cxx11_abi(): return not os.environ.get("TORCH_OLD_STRINGS")
        class _C:
            class DisableTorchFunction:
                def __enter__(self): pass
                def __exit__(self, *a): pass
            class Future:
                def wait(self): return 6
        if not os.environ.get("TORCH_ALONE"):
            import types
            class Work:
                def wait(self, timeout=1):
                    "Until it has ended."
                    if timeout == 0: raise RuntimeError("too late")
                    return [self, timeout]
            sys.modules["torch._C._distributed_c10d"] = types.ModuleType("c10d")
            sys.modules["torch._C._distributed_c10d"].Work = Work
        class device: type = "cpu"
        class Storage:
            def __init__(self, at): self.at = at
            def data_ptr(self): return self.at
        class Tensor:
            device = device
            dtype = None
            grad = None
            def __init__(self, n=1): self.n = n
            def numel(self): return self.n
            def element_size(self): return 4
            def untyped_storage(self): return Storage(id(self))
        float32, float64 = "float32", "float64"
        from . import autograd, nn, optim
    """,
    "autograd/__init__.py": "from . import profiler\n",
    "autograd/profiler.py": """
        class record_function:
            def __init__(self, name): self.name = name
            def __enter__(self): print("begin", self.name)
            def __exit__(self, *a): print("end", self.name)
    """,
    "nn/__init__.py": """
        import torch
        class Parameter(torch.Tensor): pass
    """,
    "distributed/__init__.py": """
        from . import distributed_c10d
        from .distributed_c10d import *
        def is_available(): return True
    """,
    "distributed/distributed_c10d.py": """
        class World:
            pg_map, pg_names, pg_group_ranks = {}, {}, {}
        _world = World()
        state = []
        def init(rank, world):
            state[:] = [rank, world]
            group("0", range(world))
        def group(name, ranks):
            _world.pg_map[name] = None; _world.pg_names[name] = name
            _world.pg_group_ranks[name] = {r: at for at, r in enumerate(ranks)}
        def is_initialized(): return bool(state)
        def get_rank(): return state[0]
        def get_world_size(): return state[1]
    """,
    "optim/__init__.py": "from .optimizer import Optimizer\n",
    "optim/optimizer.py": """
        import torch
        before, after = [], []
        def register_optimizer_step_pre_hook(hook): before.append(hook)
        def register_optimizer_step_post_hook(hook): after.append(hook)
        def hooked(function):
            def wrapper(self, *args, **kwargs):
                for hook in before:
                    assert hook(self, args, kwargs) is None
                out = function(self, *args, **kwargs)
                for hook in after:
                    assert hook(self, args, kwargs) is None
                return out
            return wrapper
        class Optimizer:
            def __init__(self, parameters, lr=0.1):
                self.param_groups = [{"params": list(parameters), "lr": lr}]
                self.state = {}
            @hooked
            def step(self): self.work()
            def work(self):
                for p in self.param_groups[0]["params"]:
                    self.state.setdefault(p, {"average": torch.Tensor()})
    """,
    "utils/__init__.py": "",
    "utils/data/__init__.py": "",
    "utils/data/_utils/__init__.py": "",
    "utils/data/_utils/worker.py": "def _worker_loop(*a): print('worker works', flush=True)\n",
    "multiprocessing/__init__.py": "",
    "multiprocessing/spawn.py": "def _wrap(function, *a): function(*a)\n",
}
DEEPSPEED = {
    "__init__.py": "",
    "runtime/__init__.py": "",
    "runtime/zero.py": """
        class Optimizer:
            def __init__(self, inner, groups, pieces):
                self.inner, self.bit16_groups, self.pieces = inner, groups, pieces
            def step(self):
                for piece in self.pieces:
                    self.inner.param_groups = [{"params": [piece], "lr": 0.1}]
                    self.inner.step()
    """,
}
STEPS = """
    import torch
    o = torch.optim.Optimizer([torch.nn.Parameter(6), torch.nn.Parameter(4)])
    for _ in range(3): o.step()
"""


class HookTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.place = support.Place()
        for name, text in TORCH.items():
            cls.place.write("packages/torch/" + name, textwrap.dedent(text))
        for name, text in DEEPSPEED.items():
            cls.place.write("packages/deepspeed/" + name, textwrap.dedent(text))
        cls.packages = os.path.join(cls.place.folder, "packages")
        cls.place.shim("libshardscope_torch_2_11.so")
        cls.place.shim("libshardscope_torch_2_4_pre.so")
        cls.number = 0

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def program(self, text):
        HookTest.number += 1
        return self.place.write("program_%d.py" % HookTest.number, textwrap.dedent(text))

    def run_both(self, text, options=(), path=None, arguments=(), **more):
        """Runs with and without the hook, compares everything visible, returns the run with it."""
        command = [support.python(), *options, self.program(text), *arguments]
        path = [self.packages] if path is None else path
        plain = self.place.run(command, hook=False, path=path, **more)
        hooked = self.place.run(command, hook=True, path=path, **more)
        self.assertEqual(hooked.returncode, plain.returncode, hooked.stderr)
        self.assertEqual(hooked.stdout, plain.stdout)
        self.assertEqual(hooked.stderr, plain.stderr)
        return hooked

    def count(self, done, text):
        return sum(1 for call in done.texts if call == text)

    # The other sitecustomize -------------------------------------------------------------------

    def test_no_other_sitecustomize(self):
        self.run_both(
            """
            import sys
            print("sitecustomize" in sys.modules and "_sitecustomize_of_system" or "none")
            try:
                import sitecustomize
                print(sitecustomize.__file__)
            except ImportError as error:
                print(error, error.name)
            """
        )

    def other(self, name, text):
        self.place.write(name + "/sitecustomize.py", textwrap.dedent(text))
        return [os.path.join(self.place.folder, name), self.packages]

    def test_other_sitecustomize_is_the_module(self):
        path = self.other("present", "value = 7\nprint('theirs runs', __name__)\n")
        done = self.run_both(
            """
            import sys, sitecustomize, importlib
            print(sitecustomize.value, sitecustomize.__file__, sys.modules["sitecustomize"] is sitecustomize)
            """
            + textwrap.indent(textwrap.dedent(STEPS), " " * 12),
            path=path,
        )
        self.assertIn("theirs runs sitecustomize", done.stdout)
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_other_sitecustomize_fails(self):
        for error in ("raise ValueError('broken')", "import nothing_like_this", "1 +", "raise ImportError('x')"):
            path = self.other("failing", error + "\n")
            done = self.run_both(STEPS, path=path)
            self.assertIn("Error in sitecustomize", done.stderr)
            self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_other_sitecustomize_ends_the_program(self):
        path = self.other("ending", "import sys\nsys.exit(3)\n")
        plain = self.place.run([support.python(), "-c", "print(1)"], hook=False, path=path)
        hooked = self.place.run([support.python(), "-c", "print(1)"], hook=True, path=path)
        self.assertEqual(hooked.returncode, plain.returncode)
        self.assertNotEqual(hooked.returncode, 0)
        self.assertEqual(hooked.stdout, plain.stdout)

    def test_other_sitecustomize_chains_too(self):
        chain = """
            import os, sys
            here = os.path.dirname(os.path.abspath(__file__))
            print("chains", os.path.basename(here))
            saved = list(sys.path)
            sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]
            mine = sys.modules.pop("sitecustomize")
            try:
                import sitecustomize
            except ImportError:
                sys.modules["sitecustomize"] = mine
            finally:
                sys.path[:] = saved
        """
        first = self.other("chaining", chain)[0]
        path = [first] + self.other("last", "print('last runs')\n")
        done = self.run_both(STEPS, path=path)
        self.assertIn("last runs", done.stdout)
        self.assertEqual(self.count(done, "step optimizer"), 3)
        # And in front of ours, as tools that change PYTHONPATH themselves put theirs.
        env = self.place.environment(True, path)
        env["PYTHONPATH"] = os.pathsep.join([first, env["PYTHONPATH"]])
        if os.path.exists(self.place.log):
            os.remove(self.place.log)
        out = subprocess.run(
            [support.python(), self.program(STEPS)], env=env, stdout=subprocess.PIPE, universal_newlines=True
        ).stdout
        self.assertEqual(out.count("last runs"), 1)
        with open(self.place.log) as log:
            self.assertEqual(log.read().count("step optimizer"), 3)

    def test_folder_twice(self):
        done = self.run_both(STEPS, path=[self.packages, support.HOOK])
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_names_and_path(self):
        done = self.place.run(
            [
                support.python(),
                "-c",
                "import sys, importlib.util as u\n"
                "print([n for n in ('_shardscope','shardscope_hook','_hook','_finder') if u.find_spec(n)])\n"
                "print(sys.path.count(%r), bool(u.find_spec('shardscope')))\n"
                "print([m for m in ('ctypes','json','re','importlib.util') if m in sys.modules])\n" % support.HOOK,
            ],
            path=[self.packages],
        )
        self.assertTrue(done.stdout.startswith("[]\n1 True\n"), done.stdout + done.stderr)

    def test_without_socket(self):
        done = self.run_both(STEPS, SHARDSCOPE_SOCKET=None)
        self.assertEqual(done.calls, [])

    # import torch ------------------------------------------------------------------------------

    def test_plain(self):
        done = self.run_both(STEPS)
        self.assertEqual(self.count(done, "start 0"), 1)
        self.assertEqual(self.count(done, "step optimizer"), 3)
        self.assertEqual(self.count(done, "metric learning_rate=0.1"), 3)
        self.assertEqual(self.count(done, "flush 500"), 1)
        for fact in ("torch=2.11.0+cpu", "optimizers=Optimizer", "parameters=10", "role=rank"):
            self.assertEqual(self.count(done, "fact " + fact), 1, fact)
        self.assertIn("fact shim=libshardscope_torch_2_11.so", done.texts)
        self.assertIn("blocks 4", done.texts)
        self.assertIn("rank 0 first optimizer step", done.texts)
        self.assertLess(done.texts.index(support.TORCH_START), done.texts.index("on_level 1"))

    def test_no_torch(self):
        self.assertEqual(self.run_both("print(1)").calls, [])

    def test_import_fails(self):
        for failure in ("try:\n    import torch\nexcept ImportError as e:\n    print(e)\n", "import torch\n"):
            self.assertEqual(self.run_both(failure, TORCH_FAILS="1").calls, [])
        text = "try:\n    import torch\nexcept ImportError as e:\n    print(e)\n" + textwrap.dedent(STEPS)
        self.assertEqual(self.count(self.run_both(text, TORCH_FAILS="once"), "step optimizer"), 3)
        self.run_both("import torch\n", path=[])  # there is none

    def test_find_spec_first(self):
        text = """
            import importlib.util, sys
            s = importlib.util.find_spec("torch")
            importlib.util.find_spec("torch.nn") if 0 else None
            print(s.name, type(s.loader).__name__, s.origin, "torch" in sys.modules)
        """
        self.assertEqual(self.run_both(text).calls, [])
        self.assertEqual(self.count(self.run_both(textwrap.dedent(text) + textwrap.dedent(STEPS)), "step optimizer"), 3)
        by_hand = """
            import importlib.util, sys
            s = importlib.util.find_spec("torch")
            m = importlib.util.module_from_spec(s); sys.modules["torch"] = m; s.loader.exec_module(m)
            print(type(m.__loader__).__name__, m.__spec__.loader is m.__loader__, vars(m.__loader__).keys())
        """
        done = self.run_both(textwrap.dedent(by_hand) + textwrap.dedent(STEPS))
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_lazy_import(self):
        lazy = """
            import importlib.util, sys
            s = importlib.util.find_spec("torch")
            s.loader = importlib.util.LazyLoader(s.loader)
            m = importlib.util.module_from_spec(s); sys.modules["torch"] = m; s.loader.exec_module(m)
            print("not yet")
            m.Tensor
            print("now")
        """
        done = self.run_both(textwrap.dedent(lazy) + textwrap.dedent(STEPS))
        self.assertEqual(self.count(done, "step optimizer"), 3)
        finder = """
            import importlib.util, importlib.machinery, sys
            class Lazy:
                def find_spec(self, name, path=None, target=None):
                    if name != "torch": return None
                    s = importlib.machinery.PathFinder.find_spec(name, path)
                    s.loader = importlib.util.LazyLoader(s.loader)
                    return s
            sys.meta_path.insert(%s, Lazy())
            import torch
            print("not yet")
            torch.Tensor
            print("now", type(torch).__name__)
        """
        for at in ("0", "len(sys.meta_path) - 1"):
            done = self.run_both(textwrap.dedent(finder % at) + textwrap.dedent(STEPS))
            self.assertIn("not yet\ntorch is imported", done.stdout)
            self.assertEqual(self.count(done, "step optimizer"), 3 if at != "0" else 3 if done.calls else 0)

    def test_threads(self):
        text = """
            import threading
            def load():
                import torch; torch.optim.Optimizer
            all = [threading.Thread(target=load) for _ in range(8)]
            [t.start() for t in all]; [t.join() for t in all]
        """
        done = self.run_both(textwrap.dedent(text) + textwrap.dedent(STEPS), TORCH_SLOW="1")
        self.assertEqual(self.count(done, "start 0"), 1)
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_other_finders(self):
        wrapping = """
            import sys, importlib.util
            class Chained:
                def __init__(self, loader): self.loader = loader
                def __getattr__(self, name): return getattr(self.loader, name)
                def create_module(self, spec): return self.loader.create_module(spec)
                def exec_module(self, module):
                    print("their loader"); self.loader.exec_module(module); print("their hook")
            class Watch:
                busy = set()
                def find_spec(self, name, path=None, target=None):
                    if name != "torch" or name in self.busy: return None
                    self.busy.add(name)
                    try: s = importlib.util.find_spec(name)
                    finally: self.busy.remove(name)
                    if s: s.loader = Chained(s.loader)
                    return s
            sys.meta_path.insert(%s, Watch())
        """
        for at in ("0", "1", "len(sys.meta_path)"):
            done = self.run_both(textwrap.dedent(wrapping % at) + textwrap.dedent(STEPS))
            self.assertEqual(self.count(done, "step optimizer"), 3)
        proxies = """
            import sys
            class Proxy:
                def __init__(self, finder): self.finder = finder
                def find_spec(self, name, path=None, target=None): return self.finder.find_spec(name, path, target)
            sys.meta_path[:] = [Proxy(f) for f in sys.meta_path]
        """
        done = self.run_both(textwrap.dedent(proxies) + textwrap.dedent(STEPS))
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_options(self):
        # Without PYTHONPATH there is neither their torch nor the hook: nothing changes, nothing is recorded.
        for option in ("-I", "-E", "-S"):
            done = self.run_both("import sys; print(sys.flags.isolated)", options=[option])
            self.assertEqual(done.calls, [])
        self.run_both("import sys; print(1)", options=["-X", "dev"], PYTHONWARNINGS="error")
        self.run_both(STEPS, options=["-X", "dev"], PYTHONWARNINGS="error")

    # Broken --------------------------------------------------------------------------------------

    def test_broken(self):
        not_a_library = self.place.write("not_a_library.so", "text\n")
        empty = os.path.join(self.place.folder, "empty.so")
        source = self.place.write("empty.c", "int nothing;\n")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", empty, source], check=True)
        for more in (
            {"SHARDSCOPE_INJECT": "/nonexistent/libshardscope_inject.so"},
            {"SHARDSCOPE_INJECT": None},
            {"SHARDSCOPE_INJECT": not_a_library},
            {"SHARDSCOPE_INJECT": empty},
            {"FAKE_INJECT_START": "-1"},
            {"SHARDSCOPE_SHIMS": "/nonexistent"},
            {"SHARDSCOPE_SHIMS": None},
            {"FAKE_SHIM_START": "-1"},
        ):
            done = self.run_both(STEPS, **more)
            steps = 3 if "SHARDSCOPE_SHIMS" in more or "FAKE_SHIM_START" in more else 0
            self.assertEqual(self.count(done, "step optimizer"), steps, more)
        said = self.place.run(
            [support.python(), self.program(STEPS)], path=[self.packages], SHARDSCOPE_INJECT=empty, SHARDSCOPE_DEBUG="1"
        )
        self.assertEqual(said.returncode, 0)
        self.assertIn("shardscope: pid ", said.stderr)

    def test_broken_shim(self):
        with open(os.path.join(self.place.shims, "libshardscope_torch_2_12.so"), "w") as file:
            file.write("not a library")
        done = self.run_both(STEPS, TORCH_VERSION="2.12.0")
        self.assertTrue(any(t.startswith("fact shim=none: ") for t in done.texts))
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_stacks_only_where_they_are_asked_for(self):
        self.assertNotIn("python_stacks", self.run_both(STEPS).texts)
        done = self.run_both(STEPS, SHARDSCOPE_STACKS="1")
        self.assertIn("python_stacks", done.texts)
        self.assertIn("fact stacks=recorded", done.texts)
        done = self.run_both(STEPS, SHARDSCOPE_STACKS="1", FAKE_INJECT_NO_STACKS="this Python has none")
        self.assertIn("fact stacks=none: this Python has none", done.texts)
        done = self.run_both(STEPS, SHARDSCOPE_STACKS="1", TORCH_VERSION="2.99.0")
        self.assertIn("fact stacks=none: operators are not recorded either", done.texts)

    def test_error_in_each_function(self):
        parts = (
            ("steps.Steps", "before after is_clock meet report learning_rate at_exit install"),
            ("roles.Ranks", "look at_step at_exit by_variable set distributed"),
            ("library.Library", "start fact rank log why __init__"),
            (None, "start install load_shim set_role begin begin_torch after_fork at_exit watch_process"),
            ("roles", "of_command_line is_being_prepared is_multiprocessing_child rank_of_variable words_of"),
            ("tensors", "number blocks address parameters_of tensors_of_state unseen local"),
            ("shims", "load choose name_of"),
            ("deepspeed", "is_loaded parameters first_of"),
            ("deepspeed.Round", "is_new ends"),
            ("stacks", "install unfit"),
            ("waits", "install classes Python"),
        )
        break_it = """
            import sys, os, importlib.util
            importlib.util.find_spec("torch")
            if "_shardscope_finder" in sys.modules:
                hook = sys.modules["_shardscope_finder"].load_hook()
                import importlib
                importlib.import_module("_shardscope.steps"); importlib.import_module("_shardscope.shims")
                importlib.import_module("_shardscope.waits"); importlib.import_module("_shardscope.stacks")
                where, what = os.environ["BREAK"].split(":")
                thing = hook.Process if not where else eval("hook." + where)
                assert hasattr(thing, what), what
                def broken(*a, **k): raise RuntimeError("broken on purpose")
                setattr(thing, what, broken)
                with open(os.environ["FAKE_INJECT_LOG"], "a") as log: log.write("0 injected\\n")
        """
        tail = "\n    import os\n    if os.fork() == 0:\n        o.step(); os._exit(0)\n    os.wait()\n    o.step()\n"
        program = textwrap.dedent(break_it) + textwrap.dedent(STEPS + tail)
        for where, names in parts:
            for name in names.split():
                with self.subTest(where=where, name=name):
                    done = self.run_both(program, SHARDSCOPE_STACKS="1", BREAK="%s:%s" % (where or "", name))
                    self.assertEqual(done.returncode, 0)
                    self.assertIn("injected", done.texts)

    # Shims ---------------------------------------------------------------------------------------

    def test_unknown_version(self):
        for version in ("2.99.0", "2.11.0a0+git123", "2.11.0.dev20260101", "3", "not a version"):
            done = self.run_both(STEPS, TORCH_VERSION=version)
            fact = [t for t in done.texts if t.startswith("fact shim=")]
            self.assertEqual(len(fact), 1)
            self.assertTrue(fact[0].startswith("fact shim=none for PyTorch " + version.split(".0")[0]), fact)
            self.assertNotIn(support.TORCH_START, done.texts)
        done = self.run_both(STEPS, TORCH_VERSION="2.4.1", TORCH_OLD_STRINGS="1")
        self.assertIn("fact shim=libshardscope_torch_2_4_pre.so", done.texts)
        done = self.run_both(STEPS, TORCH_VERSION="2.4.1")
        self.assertIn("fact shim=none for PyTorch 2.4: only ranges of the program and steps are recorded", done.texts)
        self.place.shim("libshardscope_torch_spans.so")
        try:
            done = self.run_both(STEPS, TORCH_VERSION="2.99.1")
            self.assertIn("fact shim=none for PyTorch 2.99: spans only are recorded", done.texts)
            self.assertIn(support.TORCH_START, done.texts)
        finally:
            os.remove(os.path.join(self.place.shims, "libshardscope_torch_spans.so"))

    # Waits ---------------------------------------------------------------------------------------

    WAITS = '''
        import sys, traceback, torch
        Work = sys.modules["torch._C._distributed_c10d"].Work
        class Mine(Work):
            def wait(self, timeout=3): return ["mine"] + super().wait(timeout)[1:]
        class Plain(Work): pass
        w = Work()
        print(w.wait()[0] is w, w.wait(5)[1:], w.wait(timeout=7)[1:], Work.wait(w, 8)[1:], Mine().wait(), Plain().wait()[1:])
        print(torch._C.Future().wait(), Work.wait.__name__, Work.wait.__doc__, callable(Work.wait))
        for wrong in (lambda: w.wait(0), lambda: w.wait(1, 2), lambda: w.wait(late=1), lambda: Work.wait()):
            try: wrong()
            except Exception: traceback.print_exc()
    '''

    def test_waits(self):
        done = self.run_both(self.WAITS)
        self.assertEqual(self.count(done, "wait work"), 10)
        self.assertEqual(self.count(done, "wait future"), 1)
        self.assertEqual(self.count(done, "waited 1"), 7)
        self.assertEqual(self.count(done, "waited 0"), 4)
        self.assertIn("too late", done.stderr)

    def test_no_waits_to_be_seen(self):
        self.assertEqual(self.count(self.run_both(STEPS, TORCH_ALONE="1"), "step optimizer"), 3)
        # A process that is not recorded keeps its methods.
        self.assertEqual(self.count(self.run_both(self.WAITS, FAKE_INJECT_START="-1"), "wait work"), 0)

    def test_waits_that_cannot_be_replaced(self):
        fixed = '''
            import sys, types
            class Fixed(type):
                def __setattr__(self, name, value): raise TypeError("fixed")
            class Work(metaclass=Fixed):
                def wait(self): return 5
            sys.modules["torch._C._distributed_c10d"] = module = types.ModuleType("c10d")
            module.Work = Work
        '''
        program = textwrap.dedent(fixed) + textwrap.dedent(STEPS) + "print(Work().wait())\n"
        done = self.run_both(program, TORCH_ALONE="1")
        self.assertEqual(self.count(done, "step optimizer"), 3)
        self.assertEqual(sum(t.startswith("log error waits: not recorded") for t in done.texts), 1)

    # Steps ---------------------------------------------------------------------------------------

    OPTIMIZERS = """
        import torch, gc
        P = torch.nn.Parameter
        class G(torch.optim.Optimizer): pass
        class D(torch.optim.Optimizer): pass
        g, d = G([P(5)]), D([P(7)])
    """

    def steps(self, text):
        done = self.run_both(textwrap.dedent(self.OPTIMIZERS) + textwrap.dedent(text))
        return done, self.count(done, "step optimizer")

    def test_two_optimizers(self):
        done, steps = self.steps("for _ in range(4): d.step(); g.step()")
        self.assertEqual(steps, 4)
        self.assertIn("fact optimizers=D, G", done.texts)
        self.assertIn("fact parameters=12", done.texts)

    def test_clock_changes(self):
        done, steps = self.steps("g.step(); g.step(); [d.step() for _ in range(6)]")
        self.assertEqual(steps, 2 + 4)
        self.assertTrue(any("has not stepped while another" in t for t in done.texts))
        done, steps = self.steps("g.step(); del g; gc.collect(); d.step(); d.step()")
        self.assertEqual(steps, 3)
        self.assertTrue(any("was deleted" in t for t in done.texts))
        _, steps = self.steps("for _ in range(4): g.step(); d.step(); d.step()")
        self.assertEqual(steps, 4)

    def test_deepspeed_steps_for_each_group(self):
        text = """
            from deepspeed.runtime import zero
            groups, pieces = [[P(6), P(4)], [P(8)], [P(2)]], [P(5), P(4), P(1)]
            z = zero.Optimizer(g, groups[:%d], pieces[:%d])
            for _ in range(4): z.step()
        """
        for groups, parameters in ((1, 10), (2, 18), (3, 20)):
            done, steps = self.steps(text % (groups, groups))
            self.assertEqual(steps, 4)
            self.assertIn("fact parameters=%d" % parameters, done.texts)
            self.assertIn("fact optimizers=G", done.texts)
        text = "import deepspeed\nfor p in 3 * [P(1)] + 3 * [P(2)]: g.param_groups[0]['params'] = [p]; g.step()"
        self.assertEqual(self.steps(text)[1], 6)

    def test_nested_optimizers(self):
        text = """
            class Outer(torch.optim.Optimizer):
                def work(self): g.step(); d.step()
            class Child(G):
                def work(self): torch.optim.Optimizer.step.__closure__ and None; super().work()
            o = Outer([P(1)])
            for _ in range(3): o.step()
        """
        _, steps = self.steps(text)
        self.assertEqual(steps, 3)

    def test_step_that_raises(self):
        text = """
            class Bad(torch.optim.Optimizer):
                fails = True
                def work(self):
                    if self.fails: raise ValueError("no step")
            b = Bad([P(1)])
            for _ in range(3):
                try: b.step()
                except ValueError as e: print(e)
            b.fails = False
            b.step(); b.step()
        """
        _, steps = self.steps(text)
        self.assertEqual(steps, 2)

    def test_gradients_at_full(self):
        text = """
            import torch
            p = torch.nn.Parameter(3); p.grad = torch.Tensor(3)
            o = torch.optim.Optimizer([p])
            for _ in range(3): o.step()
        """
        for level, blocks in (("2", ["blocks 3"]), ("3", ["blocks 3", "blocks 1", "blocks 1"])):
            done = self.run_both(text, FAKE_INJECT_LEVEL=level)
            self.assertEqual([t for t in done.texts if t.startswith("blocks")], blocks)

    def test_optimizer_is_not_kept(self):
        self.run_both(
            """
            import torch, weakref, gc
            o = torch.optim.Optimizer([torch.nn.Parameter(3)])
            o.step(); r = weakref.ref(o); p = weakref.ref(o.param_groups[0]["params"][0])
            del o; print(r() is None, p() is None)
            """
        )

    # Ranks ---------------------------------------------------------------------------------------

    def ranks(self, done):
        return [t for t in done.texts if t.startswith("rank ")]

    def test_rank_of_variable(self):
        done = self.run_both(STEPS, RANK="3", WORLD_SIZE="8")
        self.assertEqual(self.ranks(done), ["rank 3 RANK"])
        self.assertIn("fact world=8", done.texts)
        for more, expected in (
            ({"OMPI_COMM_WORLD_RANK": "2"}, "rank 2 OMPI_COMM_WORLD_RANK"),
            ({"PMI_RANK": "1"}, "rank 1 PMI_RANK"),
            ({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, "rank 5 SLURM_PROCID"),
            ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, "rank 0 first optimizer step"),
            ({"RANK": "x"}, None),
        ):
            self.assertEqual(self.ranks(self.run_both(STEPS, **more)), [expected] if expected else [], more)

    def test_torch_distributed_counts(self):
        text = """
            import torch, torch.distributed as dist
            dist.init(1, 2)
            o = torch.optim.Optimizer([torch.nn.Parameter(3)])
            o.step(); dist.group("1", [1]); o.step(); o.step()
        """
        done = self.run_both(text)
        self.assertEqual(self.ranks(done), ["rank 1 init_process_group"])
        self.assertEqual(
            [t for t in done.texts if t.startswith(("fact group", "fact world"))],
            ["fact world=2", "fact group:0=0,1", "fact group:0=0,1", "fact group:1=1"],
        )
        done = self.run_both(text, RANK="0")
        self.assertEqual(self.ranks(done), ["rank 0 RANK", "rank 1 init_process_group"])
        self.assertTrue(any(t.startswith("log warning torch.distributed says rank 1") for t in done.texts))

    def test_children_of_a_rank_are_none(self):
        child = self.program(STEPS)
        text = """
            import torch, subprocess, sys, os
            subprocess.run([sys.executable, %r], check=True)
            subprocess.run(["/bin/sh", "-c", sys.executable + " %s; true"], check=True)
        """
        done = self.run_both(text % (child, child), RANK="1")
        self.assertEqual(self.ranks(done), ["rank 1 RANK"])
        self.assertEqual(len(support.of_process(done)), 3)
        # A wrapper that is not recorded is no rank.
        wrapper = "import subprocess, sys\nsubprocess.run([sys.executable, %r], check=True)\n" % child
        self.assertEqual(self.ranks(self.run_both(wrapper, RANK="1")), ["rank 1 RANK"])

    def test_launcher(self):
        child = self.program(STEPS)
        text = "import torch, subprocess, sys\nsubprocess.run([sys.executable, %r], check=True)\n" % child
        launcher = self.place.write("torchrun", text)
        done = self.place.run([support.python(), launcher], path=[self.packages], RANK="0")
        calls = list(support.of_process(done).values())
        self.assertIn("fact role=launcher", calls[0])
        self.assertFalse(any(t.startswith("rank") for t in calls[0]))
        self.assertIn("rank 0 RANK", calls[1])

    def test_command_lines(self):
        sys.path.insert(0, os.path.join(support.HOOK, "shardscope", "_hook"))
        import roles

        for line, launcher in (
            ("python -m torch.distributed.run --nproc-per-node 2 t.py", True),
            ("python -u -m torch.distributed.run t.py", True),
            ("python -um torch.distributed.run t.py", True),
            ("python -W ignore -X dev /venv/bin/torchrun t.py", True),
            ("python /venv/bin/accelerate launch t.py", True),
            ("python /venv/bin/accelerate config", False),
            ("python -m accelerate.commands.launch t.py", True),
            ("python -u -m deepspeed.launcher.launch t.py", True),
            ("python t.py torchrun", False),
            ("python -c import torch", False),
            ("python", False),
            ("python -m train torchrun", False),
        ):
            self.assertEqual(roles.is_launcher(line.split()), launcher, line)
        self.assertTrue(roles.is_compile_worker(["python", "/x/torch/_inductor/compile_worker/__main__.py"]))

    # Processes -----------------------------------------------------------------------------------

    def test_fork(self):
        text = """
            import os, sys, torch
            o = torch.optim.Optimizer([torch.nn.Parameter(3)])
            o.step()
            for trains in (False, True):
                if os.fork() == 0:
                    if trains: o.step(); o.step()
                    sys.exit(0) if trains else os._exit(4)
                print(os.wait()[1] >> 8)
            o.step()
        """
        done = self.run_both(text)
        processes = list(support.of_process(done).values())
        self.assertEqual(len(processes), 2)  # the one that did not train says nothing
        self.assertEqual([p.count("step optimizer") for p in processes], [2, 2])
        self.assertEqual([p.count("start 0") for p in processes], [1, 1])
        self.assertEqual([p.count("flush 500") for p in processes], [1, 1])

    MULTI = """
        import sys, torch, multiprocessing as mp
        import torch.utils.data._utils.worker as worker, torch.multiprocessing.spawn as spawn
        import torch.distributed as dist
        def train(rank=None):
            if rank is not None: dist.init(rank, 2)
            o = torch.optim.Optimizer([torch.nn.Parameter(3)])
            for _ in range(3): o.step()
        def idle(): pass
        if __name__ == "__main__":
            c = mp.get_context(sys.argv[1])
            for target, args in ((worker._worker_loop, ()), (idle, ()), (spawn._wrap, (train, 0)), (spawn._wrap, (train, 1)), (train, ())):
                p = c.Process(target=target, args=args); p.start(); p.join(); print(target.__name__, p.exitcode, flush=True)
    """

    def test_multiprocessing(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                done = self.run_both(self.MULTI, arguments=[method])
                processes = list(support.of_process(done).values())
                self.assertEqual(sorted(p.count("step optimizer") for p in processes if any("step" in t for t in p)), [3, 3, 3])
                self.assertEqual(sorted(self.ranks(done)), ["rank 0 init_process_group", "rank 1 init_process_group"])
                for p in processes:
                    self.assertEqual(p.count("start 0"), 1)
                    self.assertEqual(p.count("flush 500"), 1)
                loaders = [p for p in processes if "fact role=loader" in p]
                self.assertEqual(len(loaders), 0 if method == "fork" else 1)
                self.assertFalse(any("torch_start" in p for p in loaders))

    def test_ends(self):
        for end in ("os._exit(5)", "sys.exit(6)", "os.kill(os.getpid(), 9)", "os.abort()", "1 / 0"):
            done = self.run_both(textwrap.dedent(STEPS) + "\nimport os, sys\nsys.stdout.flush()\n" + end + "\n")
            self.assertEqual(self.count(done, "step optimizer"), 3)
        again = "\nimport os, sys\nsys.stdout.flush()\nif len(sys.argv) == 1: os.execv(sys.executable, [sys.executable, sys.argv[0], 'again'])\n"
        done = self.run_both(textwrap.dedent(STEPS) + again)
        self.assertEqual(self.count(done, "step optimizer"), 6)
        self.assertEqual(self.count(done, "start 0"), 2)

    # The package ---------------------------------------------------------------------------------

    WORDS = """
        import shardscope
        @shardscope.range("work")
        def work(x): "doc"; return x + 1
        print(work(1), work.__name__, work.__doc__)
        r = shardscope.range("a")
        with r:
            with r: pass
        try:
            with shardscope.range("b"): raise ValueError("theirs")
        except ValueError as e: print(e)
        shardscope.metric("loss", 2); shardscope.metric("accuracy", 0.5); shardscope.metric("bad", "word")
        shardscope.metric("bad", "word")
        shardscope.log("hello"); shardscope.step()
        class M: pass
        try: print(shardscope.model(M()).__class__.__name__)
        except AttributeError as e: print(e)
    """

    def test_package_without_recorder(self):
        done = self.place.run([support.python(), self.program(self.WORDS)], hook=False, path=[support.HOOK])
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        self.assertEqual(done.calls, [])

    def test_package_without_torch(self):
        done = self.run_both(self.WORDS, path=[support.HOOK])
        self.assertEqual(self.count(done, "range_begin work"), 1)
        self.assertEqual(self.count(done, "range_begin a"), 2)
        self.assertEqual(self.count(done, "range_end"), 4)
        for text in ("metric loss=2", "metric accuracy=0.5", "log info hello", "step shardscope.step", "flush 500"):
            self.assertEqual(self.count(done, text), 1, text)
        self.assertEqual(sum("metric bad" in t for t in done.texts), 1)

    def test_package_with_torch(self):
        text = "import torch\n" + textwrap.dedent(self.WORDS)
        done = self.place.run([support.python(), self.program(text)], path=[self.packages])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("begin work\nend work", done.stdout)
        self.assertNotIn("range_begin work", done.texts)
        late = textwrap.dedent(self.WORDS) + textwrap.dedent(STEPS)
        done = self.place.run([support.python(), self.program(late)], path=[self.packages])
        self.assertEqual(self.count(done, "start 0"), 1)
        self.assertEqual(self.count(done, "step optimizer"), 3)

    def test_package_starts_recording(self):
        head = "import sys; sys.path[:0] = [%r, %r]\n" % (self.packages, support.HOOK)
        for order in ("import shardscope\n" + textwrap.dedent(STEPS), textwrap.dedent(STEPS) + "import shardscope\no.step()\n"):
            done = self.place.run([support.python(), "-I", self.program(head + order + "shardscope.step()\n")])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.count(done, "start 0"), 1)
            self.assertEqual(self.count(done, "step shardscope.step"), 1)
            self.assertEqual(self.count(done, "fact torch=2.11.0+cpu"), 1)
            self.assertGreaterEqual(self.count(done, "step optimizer"), 1)

    def test_package_cost(self):
        text = """
            import shardscope, timeit
            r = shardscope.range("x")
            def ranged():
                with shardscope.range("x"): pass
            for name, f in (("step", shardscope.step), ("metric", lambda: shardscope.metric("a", 1.0)), ("range", ranged)):
                print(name, round(min(timeit.repeat(f, number=20000, repeat=5)) / 20000 * 1e9), "ns")
        """
        done = self.place.run([support.python(), self.program(text)], hook=False, path=[support.HOOK])
        print("\nwithout a recorder:", done.stdout.replace("\n", "; "))

    # Cost ------------------------------------------------------------------------------------------

    def test_cost_of_start(self):
        starts = int(os.environ.get("HOOK_TEST_STARTS", "40"))
        command = [support.python(), "-c", "pass"]
        environments = [
            self.place.environment(False),
            self.place.environment(True),
            self.place.environment(True, PYTHONPYCACHEPREFIX="/nonexistent/for/bytecode", PYTHONDONTWRITEBYTECODE="1"),
            self.place.environment(False, PYTHONPYCACHEPREFIX="/nonexistent/for/bytecode", PYTHONDONTWRITEBYTECODE="1"),
        ]
        took = [[] for _ in environments]
        for _ in range(starts):
            for times, env in zip(took, environments):
                # Processor time: other programs of the machine disturb it less.
                pid = os.spawnve(os.P_NOWAIT, command[0], command, env)
                usage = os.wait4(pid, 0)[2]
                times.append((usage.ru_utime + usage.ru_stime) * 1e3)
        without, hooked, compiled, base = (statistics.median(times) for times in took)
        least = [min(times) for times in took]
        print(
            "\ncost of start, processor ms, medians of %d alternating starts: without %.2f, with hook %+.2f (least %+.2f);"
            " without bytecode %+.2f (least %+.2f)"
            % (starts, without, hooked - without, least[1] - least[0], compiled - base, least[2] - least[3])
        )


if __name__ == "__main__":
    unittest.main()
