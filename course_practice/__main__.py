"""`python -m course_practice report FOLDER`: what a class has solved."""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from course_lib.__main__ import ready_output
from course_lib.files import written_whole
from course_lib.training.interrupts import Interrupts
from course_lib.translation.commands.options import Parser, check_writable, number, path, run_command, whole
from course_lib.translation.report import CONTROLS
from course_practice.class_report import Limits, judged, students
from course_practice.class_report.page import page, table
from course_practice.class_report.process import LIMITS_MEMORY, STOPPED
from course_practice.exercises import registry

PROG = "python -m course_practice"
DESCRIPTION = """\
Run the notebooks of a class, judge every answer anew, and write who solved what.

FOLDER holds a notebook for each student, or a folder of notebooks for each. A progress.json
in a student's folder says how many tries it took at home. Every notebook runs in a process of
its own and in a copy; the report goes to OUTPUT/index.html and OUTPUT/table.csv.

This stops what goes wrong by accident, not what is meant to harm: run hand-ins that you do not
trust in a container. The page *Teach with it* has the command.
"""
UNTRUSTED = (
    "The report keeps a notebook neither from the network nor from your files: "
    "run hand-ins that you do not trust in a container."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the report; 0 when all went well."""
    parser, default = Parser(PROG, "Practice, for teachers.", epilog=""), Limits()
    p = parser.add_subparsers(dest="command", required=True).add_parser(
        "report", help="what a class has solved", description=DESCRIPTION, epilog=""
    )
    p.add_argument("folder", type=path, metavar="FOLDER")
    p.add_argument("--output", type=path, default=Path("report"), help="a folder for the report (%(default)s)")
    p.add_argument("--seconds", type=number(above=0), default=default.seconds, help="for a notebook (%(default)g)")
    memory = "gigabytes for each process; only Linux holds to it (%(default)g)"
    p.add_argument("--memory", type=number(above=0), default=4, help=memory)
    p.add_argument("--jobs", type=whole(1, 256), default=1, help="students at a time (%(default)d)")
    ready_output()
    options = parser.parse_args(arguments)
    return run_command(f"{PROG} report", lambda: report(options))


def report(options: argparse.Namespace) -> None:
    """Judge all students of a folder, and write page and table."""
    folder, output = options.folder.resolve(), options.output.resolve()
    if not (handed_in := students(folder)):
        raise ValueError(f"expected notebooks or folders of students in {folder}, got none: name another folder")
    if output.is_relative_to(folder):
        raise ValueError(f"expected an output outside of {folder}, got {output}: name another")
    check_writable(output)
    limits = Limits(options.seconds, int(options.memory * 2**30))
    memory = f"{options.memory:g} GB of memory for each of its processes"
    memory = memory if LIMITS_MEMORY else "as much memory as it took, which this system does not limit"
    given = f"Every notebook had {limits.seconds:g} seconds, and {memory}. {UNTRUSTED}"
    registry()  # read once, before threads ask for it
    with Interrupts() as interrupts, ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(judged, *one, limits) for one in handed_in]

        def write() -> str:
            found = [future.result() for future in futures if future.done()]
            left = len(futures) - len(found)
            missing = f" {left} of {len(futures)} students {'is' if left == 1 else 'are'} missing." if left else ""
            html = page(found, f"Report on {folder.name}", f"{given}{missing}")
            csv = "\ufeff" + table(found)  # spreadsheets want the mark
            for name, text in (("table.csv", csv), ("index.html", html)):
                with written_whole(output / name) as file:
                    file.write(text.encode("utf-8", "replace"))
            return missing

        try:
            for future in futures:
                while not future.done():
                    wait([future], timeout=0.1)
                    if interrupts.seen:
                        print(f"Stopped.{write()}")
                        raise KeyboardInterrupt(interrupts.seen)
                student = future.result()
                solved = sum(row.verdict == "solved" for row in student.rows.values())
                line = "; ".join([f"{student.name}: {solved} of {len(student.rows)} solved", *student.trouble])
                print(line.translate(CONTROLS), flush=True)
                write()
        finally:  # nothing new begins, and what runs ends
            STOPPED.set()
            pool.shutdown(cancel_futures=True)
            STOPPED.clear()
    print(f"Open {output / 'index.html'}; {output / 'table.csv'} is for a spreadsheet.")


if __name__ == "__main__":
    sys.exit(main())
