#!/usr/bin/env python3
"""Programs whose FLOPs are counted: each trains a few equal steps, and counts one more forward and
backward pass with PyTorch's FlopCounterMode, alone, after the last step.

  subjects.py NAME     prints {"forward": ..., "backward": ..., "parameters": ...}, of this rank
"""
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

STEPS = 6


class Attention(nn.Module):
    def __init__(self, width, heads, backend=None):
        super().__init__()
        self.heads, self.backend = heads, backend
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        if self.backend is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            with torch.nn.attention.sdpa_kernel(self.backend):
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class GPT(nn.Module):
    """Of uneven sizes, with a head that is tied to the embedding."""

    def __init__(self, backend=None, checkpoint=False, width=24, layers=3, heads=3, vocabulary=37):
        super().__init__()
        self.checkpoint = checkpoint
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), Attention(width, heads, backend), nn.Linear(width, 4 * width),
                          nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        from torch.utils.checkpoint import checkpoint

        x = self.tokens(ids)
        for block in self.blocks:
            x = x + (checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x))
        return self.head(x)


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.ReLU(), nn.Conv2d(8, 6, (1, 3), dilation=2),
                         nn.ConvTranspose2d(6, 4, 3, stride=2), nn.Flatten(), nn.LazyLinear(5))


def grouped():
    return nn.Sequential(nn.Conv1d(4, 8, 3, groups=4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5))


class Products(nn.Module):
    """bmm, baddbmm, einsum; a frozen weight, and a batch of nothing."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(5, 7, 9))
        self.b = nn.Parameter(torch.randn(5, 9, 2), requires_grad=False)

    def forward(self, x):
        y = torch.bmm(x, self.a)
        z = torch.baddbmm(torch.ones(5, 3, 2), y, self.b)
        nothing = torch.empty(0, 9) @ self.a[0].t()
        return torch.einsum("bij,bkj->bik", z, z).sum() + nothing.sum() + (y.flatten(0, 1) @ self.a.mean(0).t()).sum()


def subject(name):
    ids = torch.randint(37, (2, 11), generator=torch.Generator().manual_seed(1))
    if name in ("gpt", "ddp", "fsdp2"):
        return GPT(), lambda model: model(ids).square().mean()
    if name == "gpt_math":
        return GPT(torch.nn.attention.SDPBackend.MATH), lambda model: model(ids).square().mean()
    if name == "checkpoint":
        return GPT(torch.nn.attention.SDPBackend.MATH, True), lambda model: model(ids).square().mean()
    if name == "convolutions":
        images = torch.randn(2, 3, 17, 14)
        return convolutions(), lambda model: model(images).square().mean()
    if name == "grouped":
        images = torch.randn(2, 4, 19)
        return grouped(), lambda model: model(images).square().mean()
    inputs = torch.randn(5, 3, 7)
    return Products(), lambda model: model(inputs)


def main():
    name = sys.argv[1]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, loss_of = subject(name)
    loss_of(model)  # lazy layers
    if name in ("ddp", "fsdp2"):
        torch.distributed.init_process_group("gloo")
    if name == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    if name == "fsdp2":
        from torch.distributed.fsdp import fully_shard

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-3)
    for _ in range(STEPS):
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()
    with FlopCounterMode(display=False) as forward:
        loss = loss_of(model)
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    print("counted " + json.dumps({
        "forward": forward.get_total_flops(), "backward": backward.get_total_flops(),
        "parameters": sum(p.numel() for p in model.parameters())}), flush=True)
    if name in ("ddp", "fsdp2"):
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
