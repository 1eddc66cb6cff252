"""`python -m course_practice report FOLDER`: what a class has solved."""

import argparse
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from course_lib.__main__ import ready_streams
from course_lib.files import written_whole
from course_lib.translation.commands.options import Parser, check_writable, number, path, run_command, whole
from course_lib.translation.report import CONTROLS
from course_practice.exercises import registry
from course_practice.report import Limits, judged, students
from course_practice.report.confined import STOPPED, has_namespaces, resource
from course_practice.report.page import page, table

PROG = "python -m course_practice"
DESCRIPTION = """\
Run the notebooks of a class, judge every answer anew, and write who solved what.

FOLDER holds a notebook for each student, or a folder of notebooks for each. A progress.json
in a student's folder says how many tries it took at home. Every notebook runs in a process of
its own and in a copy; the report goes to OUTPUT/index.html and OUTPUT/table.csv.
"""
HELD = {
    True: "no network, and one folder to write in; all of this held for the programs that it started, too.",
    False: "no network, one folder to write in, and no right to start a process. This system has no namespaces for "
    "users, so all of this held for Python code, but not for the machine code of a library.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the report; 0 when all went well."""
    parser, default = Parser(PROG, "Practice, for teachers.", epilog=""), Limits()
    p = parser.add_subparsers(dest="command", required=True).add_parser(
        "report", help="what a class has solved", description=DESCRIPTION, epilog=""
    )
    p.add_argument("folder", type=path, metavar="FOLDER")
    p.add_argument("--output", type=path, default=Path("report"), help="a folder for the report (%(default)s)")
    p.add_argument("--seconds", type=number(above=0), default=default.seconds, help="for a notebook (%(default)g)")
    p.add_argument("--memory", type=number(above=0), default=4, help="gigabytes for each process (%(default)g)")
    p.add_argument("--processes", type=whole(1), default=default.processes, help="of a notebook (%(default)d)")
    p.add_argument("--jobs", type=whole(1, 256), default=1, help="students at a time (%(default)d)")
    ready_streams()
    options = parser.parse_args(arguments)
    return run_command(f"{PROG} report", lambda: report(options))


@contextmanager
def stopping(pool: ThreadPoolExecutor) -> Iterator[None]:
    """Ctrl-C, SIGTERM, or a closed terminal ends what runs, and nothing new begins."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    STOPPED.clear()
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    except BaseException:
        STOPPED.set()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report(options: argparse.Namespace) -> None:
    """Judge all students of a folder, and write page and table."""
    folder, output = options.folder.resolve(), options.output.resolve()
    if not (handed_in := students(folder)):
        raise ValueError(f"expected notebooks or folders of students in {folder}, got none: name another folder")
    if output.is_relative_to(folder):
        raise ValueError(f"expected an output outside of {folder}, got {output}: name another")
    check_writable(output)
    limits = Limits(options.seconds, int(options.memory * 2**30), options.processes)
    memory = f"{options.memory:g} GB" if resource else "any memory"  # on Windows
    given = f"{limits.seconds:g} seconds, {memory} for each of at most {limits.processes} processes"

    def write() -> str:
        found = [future.result() for future in futures if future.done()]
        left = len(futures) - len(found)
        missing = f" {left} of {len(futures)} students {'is' if left == 1 else 'are'} missing." if left else ""
        html = page(found, f"Report on {folder.name}", f"Every notebook had {given}, {HELD[has_namespaces()]}{missing}")
        for name, text in (("table.csv", "\ufeff" + table(found)), ("index.html", html)):  # spreadsheets want the mark
            with written_whole(output / name) as file:
                file.write(text.encode("utf-8", "replace"))
        return missing

    registry()  # reading it parses, which two threads cannot do at once (`worker.PARSING`)
    with ThreadPoolExecutor(options.jobs) as pool, stopping(pool):
        futures = [pool.submit(judged, *one, limits) for one in handed_in]
        try:
            for student in (future.result() for future in futures):
                solved = sum(row.verdict == "solved" for row in student.rows.values())
                line = "; ".join([f"{student.name}: {solved} of {len(student.rows)} solved", *student.trouble])
                print(line.translate(CONTROLS), flush=True)
                write()
        except KeyboardInterrupt:  # before what runs is told to stop, and then counts as done
            print(f"Stopped.{write()}")
            raise
    print(f"Open {output / 'index.html'}; {output / 'table.csv'} is for a spreadsheet.")


if __name__ == "__main__":
    sys.exit(main())
