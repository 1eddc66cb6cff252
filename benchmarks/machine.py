"""What the numbers were measured on: the class of the machine, versions, and its speed at matrix products."""

import datetime
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

# The packages that are measured beside the course: import name and name in the registry.
PACKAGES = {
    "transformers": "transformers",
    "x_transformers": "x-transformers",
    "ctranslate2": "ctranslate2",
    "tokenizers": "tokenizers",
    "sentencepiece": "sentencepiece",
    "subword_nmt": "subword-nmt",
    "sacrebleu": "sacrebleu",
    "nltk": "nltk",
}
INSTRUCTIONS = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve", "bf16")


def processor(lines: list[str]) -> tuple[str, set[str]]:
    """The processor's family and all its flags, from the lines of /proc/cpuinfo.

    >>> processor(["model name : AMD EPYC", "cpu family : 25", "model : 17", "flags : fpu avx2"])[0]
    'AMD EPYC, family 25, model 17'
    """
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in reversed(lines))}
    name = fields.get("model name") or platform.processor() or platform.machine()
    name += "".join(
        f", {word} {fields[key]}" for key, word in (("cpu family", "family"), ("model", "model")) if key in fields
    )
    return name, set((fields.get("flags") or fields.get("Features") or "").split())


def read_processor() -> tuple[str, set[str]]:
    """`processor` of this machine."""
    path = Path("/proc/cpuinfo")
    return processor(path.read_text(encoding="utf-8").splitlines() if path.exists() else [])


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 numbers itself; others imitate it, slowly."""
    return bool({"avx512_bf16", "amx_bf16", "bf16"} & read_processor()[1])


def machine_class() -> dict[str, object]:
    """The kind of machine, without anything that names this one."""
    name, flags = read_processor()
    return {
        "processor": name,
        "instructions": [flag for flag in INSTRUCTIONS if flag in flags],
        "used by torch": torch.backends.cpu.get_cpu_capability(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "busy before": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "default"),
    }


def versions() -> dict[str, str]:
    """Python, torch and every package that is measured."""
    found = {"Python": platform.python_version()}
    for name in ("torch", "numpy", *PACKAGES.values()):
        try:
            found[name] = version(name).split("+")[0]
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def today() -> str:
    """The day, and nothing finer."""
    return datetime.date.today().isoformat()


def matmul_rate(size: int) -> float:
    """Floating-point operations a second of one product of two square float32 matrices.

    A product of n × n matrices takes n³ multiplications and n³ additions.

    >>> matmul_rate(16) > 0
    True
    """
    a, result = torch.ones(size, size), torch.empty(size, size)
    torch.mm(a, a, out=result)
    begun = time.perf_counter()
    torch.mm(a, a, out=result)
    return 2 * size**3 / (time.perf_counter() - begun)
