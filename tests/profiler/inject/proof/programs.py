"""Training programs of many shapes that know no recorder, for same_as_profiler_test.py and
same_losses_test.py:

    programs.py NAME [FOLDER]

Each prints the losses of its steps, bit for bit. With FOLDER torch.profiler watches the middle steps,
within a range "window", and its trace of each rank is written there.
"""
import os
import sys

import torch
from torch import nn

NAME = sys.argv[1] if __name__ == "__main__" else os.environ["PROGRAM"]
FOLDER = sys.argv[2] if __name__ == "__main__" and len(sys.argv) > 2 else os.environ.get("FOLDER")
STEPS, FIRST, LAST = 8, 3, 6
if __name__ == "__main__":  # children of spawn load this file again
    os.environ["PROGRAM"] = NAME
    os.environ["FOLDER"] = FOLDER or ""


class Watch:
    """torch.profiler around the steps from FIRST to LAST."""

    def __init__(self, rank=0):
        self.rank, self.profile = rank, None

    def before(self, step):
        if FOLDER and step == FIRST:
            self.profile = torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, profile_memory=True)
            self.profile.__enter__()
            self.window = torch.profiler.record_function("window")
            self.window.__enter__()

    def after(self, step):
        if FOLDER and step == LAST:
            self.window.__exit__(None, None, None)
            self.profile.__exit__(None, None, None)
            self.profile.export_chrome_trace("%s/%d.json" % (FOLDER, self.rank))
            self.profile = None


def say(rank, step, loss):
    """In one piece: ranks write to one pipe, and torchrun starts them without buffers."""
    os.write(1, ("rank %d step %d loss %s\n" % (rank, step, float(loss).hex())).encode())


def train(step, rank=0):
    watch = Watch(rank)
    for at in range(STEPS):
        watch.before(at)
        loss = step(at)
        watch.after(at)
        say(rank, at, loss)


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, layers=2, width=32):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(64, width), nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 64, bias=False)

    def forward(self, ids):
        x = self.tokens(ids[:, :-1])
        for block in self.blocks:
            x = block(x)
        return nn.functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), ids[:, 1:].flatten())


def batch(step, rank=0):
    return torch.randint(64, (2, 17), generator=torch.Generator().manual_seed(step * 8 + rank))


def updates(model, optimizer, rank=0, accumulate=1):
    def step(at):
        for part in range(accumulate):
            loss = model(batch(at * accumulate + part, rank)) / accumulate
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()
    return step


def plain(accumulate=1):
    model = GPT()
    train(updates(model, torch.optim.AdamW(model.parameters(), lr=1e-3), accumulate=accumulate))


def accumulation():
    plain(accumulate=3)


def compiled():
    model = GPT()
    run = torch.compile(model, backend=os.environ.get("COMPILE_BACKEND", "inductor"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(at):
        loss = run(batch(at))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()
    train(step)


def gan():
    makes = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    judges = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    of_makes = torch.optim.Adam(makes.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_judges = torch.optim.Adam(judges.parameters(), lr=2e-4, betas=(0.5, 0.999))
    says = nn.BCEWithLogitsLoss()

    def step(at):
        seed = torch.Generator().manual_seed(at)
        real, noise = torch.randn(4, 16, generator=seed), torch.randn(4, 8, generator=seed)
        of_judges.zero_grad()
        loss = says(judges(real), torch.ones(4, 1)) + says(judges(makes(noise).detach()), torch.zeros(4, 1))
        loss.backward()
        of_judges.step()
        of_makes.zero_grad()
        fooled = says(judges(makes(noise)), torch.ones(4, 1))
        fooled.backward()
        of_makes.step()
        return (loss + fooled).detach()
    train(step)


def loader():
    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, at):
            return batch(at)[0]

    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = iter(torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2))

    def step(at):
        loss = model(next(rows))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()
    train(step)


def sharded(model):
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:  # before 2.6
        from torch.distributed._composable.fsdp import fully_shard
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return model


def on_ranks(wrap, rank=None, world=None):
    import torch.distributed as dist

    more = {} if rank is None else {"rank": rank, "world_size": world}
    dist.init_process_group("gloo", **more)
    torch.manual_seed(0)
    model = wrap(GPT())
    train(updates(model, torch.optim.AdamW(model.parameters(), lr=1e-3), dist.get_rank()), dist.get_rank())
    dist.destroy_process_group()


def ddp():
    on_ranks(nn.parallel.DistributedDataParallel)


def fsdp2():
    on_ranks(sharded)


def spawned(rank):
    torch.set_num_threads(1)
    on_ranks(nn.parallel.DistributedDataParallel, rank, 2)


def spawn():
    torch.multiprocessing.spawn(spawned, nprocs=2)


def accelerated():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)

    def step(at):
        loss = model(batch(at, accelerator.process_index))
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    train(step, accelerator.process_index)
    accelerator.end_training()


def lightning():
    import lightning as L

    class Module(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.watch = GPT(), None

        def training_step(self, rows, at):
            loss = self.model(rows)
            say(self.global_rank, at, loss)
            return loss

        def on_train_batch_start(self, rows, at):
            self.watch = self.watch or Watch(self.global_rank)
            self.watch.before(at)

        def on_train_batch_end(self, outputs, rows, at):
            self.watch.after(at)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    rows = torch.utils.data.DataLoader([batch(at)[0] for at in range(64)], batch_size=2)
    trainer = L.Trainer(
        accelerator="cpu", devices=int(os.environ.get("DEVICES", "1")), strategy=os.environ.get("STRATEGY", "auto"),
        max_steps=STEPS, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), rows)


PROGRAMS = {each.__name__: each for each in (
    plain, accumulation, compiled, gan, loader, ddp, fsdp2, spawn, accelerated, lightning)}

if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    PROGRAMS[NAME]()
