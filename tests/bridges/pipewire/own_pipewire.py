"""A PipeWire daemon of a program's own (own.conf), for Python: the ways of the table, the bench of latencies, pictures. What own_pipewire.h
is for C++."""
import os
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 60


def missing():
    """The first of the programs that is not there, or None."""
    return next((program for program in ("pipewire", "pw-link") if not shutil.which(program)), None)


class OwnPipeWire:
    """The daemon, and programs in its environment, whose outputs go to NAME.out and NAME.err in the folder; all of them end with the block."""

    def __init__(self, folder, quantum=8192, freewheel=False):
        self.folder, self.programs = folder, []
        with open(f"{HERE}/own.conf", encoding="utf-8") as read:
            text = read.read().replace("@QUANTUM@", str(quantum)).replace("@FREEWHEEL@", str(freewheel).lower())
        with open(f"{folder}/own.conf", "w", encoding="utf-8") as out:
            out.write(text)
        removed = ("DBUS_SESSION_BUS_ADDRESS", "PIPEWIRE_REMOTE", "PIPEWIRE_NODE", "PIPEWIRE_DEBUG")
        self.environment = {key: value for key, value in os.environ.items() if key not in removed}
        # Streams make their own ports, which otherwise the session manager has them do.
        self.environment |= {"XDG_RUNTIME_DIR": folder, "PIPEWIRE_RUNTIME_DIR": folder,
                             "PIPEWIRE_PROPS": "{ adapter.auto-port-config = { mode = dsp monitor = false control = false position = preserve } }"}

    def __enter__(self):
        daemon = self.start("daemon", ["pipewire", "-c", f"{self.folder}/own.conf"])
        self.until(lambda: os.path.exists(f"{self.folder}/pipewire-0") and self.run("pw-link", "-io").returncode == 0, daemon)
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            if program.poll() is None:
                program.kill()
            program.wait()
        # The next daemon in this folder makes its own.
        for name in ("pipewire-0", "pipewire-0.lock"):
            if os.path.exists(f"{self.folder}/{name}"):
                os.remove(f"{self.folder}/{name}")

    def start(self, name, call, **more):
        with open(f"{self.folder}/{name}.out", "wb") as out, open(f"{self.folder}/{name}.err", "wb") as err:
            program = subprocess.Popen(call, **({"stdout": out, "stderr": err, "env": self.environment} | more))
        self.programs.append(program)
        return program

    def text_of(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8") as read:
            return read.read()

    def run(self, *call):
        return subprocess.run(call, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)

    def until(self, condition, *programs):
        """Waits for a condition, while the programs run."""
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end or any(program.poll() is not None for program in programs):
                raise SystemExit("a program has ended, or a minute was not enough: " +
                                 " ".join(self.text_of(name) for name in sorted(os.listdir(self.folder)) if name.endswith(".err")))
            time.sleep(0.05)

    def link(self, source, sink, *programs):
        """Once the ports are there, which is while the programs run."""
        self.until(lambda: self.run("pw-link", source, sink).returncode == 0, *programs)
