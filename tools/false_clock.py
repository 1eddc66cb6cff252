"""The kernels of the strict run start with this file (tools/nbval_plugin.py): their clocks go wrong.

Between one reading and the next a clock runs at any speed from a third of the right one to three times it. So an
output that depends on what a clock measured differs from the stored one in every strict run, not only on a day when
the machine is busy. What others wait by, `time.time` and `time.monotonic`, stays right.
"""


def _go_wrong() -> None:
    import random
    import time
    import timeit

    speeds = random.Random(1)  # the same mistakes in every run

    def wrong(read):
        last = shown = read()

        def reading():
            nonlocal last, shown
            now = read()
            shown += round((now - last) * 3 ** speeds.uniform(-1, 1))
            last = now
            return shown

        return reading

    for name in ("perf_counter", "process_time", "thread_time"):
        nanoseconds = wrong(getattr(time, f"{name}_ns"))
        setattr(time, f"{name}_ns", nanoseconds)
        setattr(time, name, lambda read=nanoseconds: read() / 1e9)
    timeit.default_timer = time.perf_counter


_go_wrong()
del _go_wrong  # a notebook finds nothing that it did not define
