"""What stacks_test.py records: `aten::neg` of a tensor whose size is the number of the place, with the stack that
traceback sees on the same line. The last words go to OUT.PID as JSON; argv says what is done."""
import json
import os
import sys
import threading
import traceback

import torch

tensors = [torch.ones(n) for n in range(64)]
expected = {}


def expect(number):
    frames = traceback.extract_stack()[:-1]
    expected[number] = [[frame.name, frame.filename, frame.lineno] for frame in reversed(frames)]


def plain():
    expect(1); tensors[1].neg()
    expect(2); torch.neg(tensors[2])
    expect(3); (tensors[3].neg(), len(tensors))
    for number in (4, 5):
        expect(number); (lambda: tensors[number])().neg()
    again = tensors[6]
    for _ in range(3):
        expect(6); again.neg()


class Model(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        expect(self.number); return x.neg()


def generated():
    for number in (10, 11):
        expect(number); yield tensors[number].neg()


def recursion(number, depth):
    if depth > 0:
        return recursion(number, depth - 1)
    expect(number); return tensors[number].neg()


def executed():
    for number in (20, 21, 22, 23):
        text = "\n" * number + "def made_%d():\n    expect(%d); tensors[%d].neg()\nmade_%d()\n" % ((number,) * 4)
        exec(compile(text, "<made up %d>" % number, "exec"), globals())
        del globals()["made_%d" % number]


class Negated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        expect(30); tensors[30].neg()
        return gradient


def differentiated():
    x = torch.ones(3, requires_grad=True)
    Negated.apply(x).sum().backward(); expect(31)


def threads():
    def work(number):
        for _ in range(200):
            expect(number); tensors[number].neg()

    each = [threading.Thread(target=work, args=(40 + i,)) for i in range(4)]
    for thread in each:
        thread.start()
    for thread in each:
        thread.join()


def held():
    """Operators that begin with Python's lock."""
    x = torch.ones(50, 2)
    expect(50); x[0]


def compiled():
    @torch.compile(backend="eager")
    def traced(x):
        return x.neg() + 1

    traced(tensors[60])
    traced(tensors[60])


def situations():
    plain()
    Model(8)(tensors[8])
    for _ in generated():
        pass
    recursion(15, 3)
    recursion(16, 60)
    executed()
    differentiated()
    threads()
    held()


def train(steps):
    """What each step's loss is, to the last bit."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    losses = []
    for _ in range(steps):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item().hex())
    return losses


def forked():
    """The child of a process with stacks, which is recorded from its first optimizer step on."""
    plain()
    child = os.fork()
    if child == 0:
        expected.clear()
        train(2)
        Model(35)(tensors[35])
        say(None)
        sys.exit(0)  # not _exit(): what is recorded is sent
    os.waitpid(child, 0)


def say(losses):
    with open("%s.%d" % (os.environ["OUT"], os.getpid()), "w") as file:
        json.dump({"expected": expected, "losses": losses}, file)


def main(kind):
    losses = None
    if kind == "situations":
        situations()
        losses = train(2)
    elif kind == "train":
        losses = train(20)
    elif kind == "forked":
        forked()
    elif kind == "compiled":
        compiled()
        losses = train(2)
    say(losses)


if __name__ == "__main__":
    main(sys.argv[1])
