"""The kernels of a shaken run start with this file (tools/shake.py): weights are moved before they are trained.

When its optimizer is made, a weight is moved by about 1e-12 of itself, or by its last digit where it has fewer.
Equal weights stay equal, and the notebook's own random numbers stay the same. On more threads than one, a notebook
that asks for one thread gets all of them. The file has the name under which Python finds it at the start of every
process that a notebook begins.
"""


def _nudge() -> None:
    import functools
    import os

    if "NUDGE" not in os.environ:
        return  # a test reads this file

    import torch

    os.environ["PYTHONPATH"] = os.path.dirname(os.environ["PYTHONSTARTUP"])
    seed, threads = int(os.environ["NUDGE"]), int(os.environ["OMP_NUM_THREADS"])
    add, set_threads = torch.optim.Optimizer.add_param_group, torch.set_num_threads

    @functools.wraps(add)
    def add_param_group(self, param_group):
        add(self, param_group)
        draw = torch.Generator().manual_seed(seed)
        for weight in self.param_groups[-1]["params"]:
            last_digit = torch.finfo(weight.dtype).eps
            noise = torch.randn(weight.shape, generator=draw, dtype=weight.dtype)
            weight.data.mul_(1 + max(1e-12, last_digit) * noise)

    @functools.wraps(set_threads)
    def set_num_threads(number):
        set_threads(max(number, threads))

    torch.optim.Optimizer.add_param_group = add_param_group
    torch.set_num_threads = set_num_threads


_nudge()
del _nudge  # a notebook finds nothing that it did not define
