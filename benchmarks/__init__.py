"""The library side by side with what a reader would otherwise use: `python -m benchmarks --help`.

What counts are ratios. Seconds wander between machines and hours, so all contenders run in one go, in turns, and are
compared round by round. Before any of them is timed, it has to show that it does the same work.
"""
