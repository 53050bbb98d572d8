"""The wheel of the Python package runnel, built by CMake (docs/python.md, "Installing").

RUNNEL_WHEEL_BUILD: a build folder with the Python package (RUNNEL_PYTHON=ON) to take it from; without it a new one is made
in a temporary folder, without FFTW, so that the wheel is under Apache-2.0. RUNNEL_JOBS: compilers at a time.
Nothing is written into the source tree.
"""

import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info
from distutils.command.build import build

ROOT = pathlib.Path(__file__).resolve().parent
PLACE = pathlib.Path(tempfile.mkdtemp(prefix="runnel-wheel"))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)


def version():
    """The one in CMakeLists.txt is the only one."""
    return re.search(r"project\(runnel VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


class Build(build):
    """Elsewhere than in ./build, which is CMake's."""

    def initialize_options(self):
        super().initialize_options()
        self.build_base = str(PLACE / "build")


class EggInfo(egg_info):
    def initialize_options(self):
        super().initialize_options()
        (PLACE / "info").mkdir(parents=True, exist_ok=True)
        self.egg_base = str(PLACE / "info")


class BuildPy(build_py):
    """All Python sources and the stubs, as they are."""

    def run(self):
        folder = pathlib.Path(self.build_lib) / "runnel"
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted((ROOT / "python" / "runnel").iterdir()):
            if source.suffix in (".py", ".pyi") or source.name == "py.typed":
                shutil.copyfile(source, folder / source.name)

    def get_outputs(self, include_bytecode=True):
        return [str(path) for path in (pathlib.Path(self.build_lib) / "runnel").rglob("*") if path.is_file()]

    def get_source_files(self):
        return []


class BuildWithCMake(build_ext):
    """The module, the parts of runnel that it opens when they are used, and the bundled models."""

    def run(self):
        made = os.environ.get("RUNNEL_WHEEL_BUILD")
        tree = pathlib.Path(made) if made else PLACE / "cmake"
        if not made:
            subprocess.run(["cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release", "-D", "RUNNEL_PYTHON=ON",
                            "-D", f"RUNNEL_PYTHON_EXECUTABLE={sys.executable}", "-D", "RUNNEL_FFTW=OFF", "-D", "RUNNEL_TESTS=OFF",
                            "-D", "RUNNEL_BENCH=OFF", "-D", "RUNNEL_EXAMPLES=OFF"], check=True)
            subprocess.run(["cmake", "--build", tree, "--parallel", os.environ.get("RUNNEL_JOBS", str(os.cpu_count())),
                            "--target", "runnel_python_package", "runnel_models"], check=True)
        folder = pathlib.Path(self.build_lib) / "runnel"
        modules = list((tree / "python" / "runnel").glob("_runnel*.so"))
        if len(modules) != 1:
            raise SystemExit(f"{tree}: {len(modules)} modules of the Python package, expected 1: configure it with -D RUNNEL_PYTHON=ON "
                             "and build runnel_python_package")
        models = [each for ending in ("*.rnl", "*.json", "*.txt") for each in (tree / "models").glob(f"*/{ending}")]
        for source, to in [(modules[0], folder), *((each, folder / "lib" / "runnel") for each in (tree / "lib" / "runnel").glob("*.so")),
                           *((each, folder / "models" / each.parent.name) for each in models)]:
            to.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, to / source.name)
        for name in ("LICENSE", "NOTICE"):
            shutil.copyfile(ROOT / name, folder / name)

    def get_outputs(self):
        return []

    def get_source_files(self):
        return []


setup(
    name="runnel",
    version=version(),
    description="Streaming audio and sensor inference, the same bits everywhere",
    license="Apache-2.0",
    python_requires=">= 3.9",
    install_requires=["numpy"],
    packages=["runnel"],
    package_dir={"runnel": "python/runnel"},
    ext_modules=[Extension("runnel._runnel", [])],
    cmdclass={"build": Build, "build_py": BuildPy, "build_ext": BuildWithCMake, "egg_info": EggInfo},
    zip_safe=False,
)
