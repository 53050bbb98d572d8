"""The faults of the matrix that lie in the program's own calls. Each is a way to run a program so that one thing goes wrong in it, at its
Nth occasion; how many occasions there are is counted in an undisturbed run. disturbances.py has what goes wrong around it."""
import json
import os
import signal
import subprocess
import tempfile


def run(call, environment, **more):
    return subprocess.run(call, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **more)


class Fault:
    """`name` in short; `what`, for the page. `tools`: paths of `tracer` and `shim`, set by matrix.py."""

    tools = None
    # The signals that end the program by themselves, which is no crash.
    ends_by = ()
    # The input becomes another one: so may the result.
    other_input = False

    def __init__(self, name, what):
        self.name, self.what = name, what

    def missing(self):
        """Why it cannot be injected here; None: it can."""
        return None

    def suits(self, scene):
        """Whether it can happen in this scene at all."""
        return True

    def before(self, scene, folder):
        """Called with the folder, before the scene prepares it."""

    def occasions(self, scene, call, folder):
        """The places at which a run of `call` can be disturbed."""
        raise NotImplementedError

    def play(self, scene, call, folder, place):
        """A run that is disturbed there."""
        raise NotImplementedError

    def after(self, scene, folder):
        """Called after the run, before the scene looks at what is there: the cause is taken away."""

    def done(self, scene, folder):
        """Called before the folder is removed."""


class Traced(Fault):
    """System calls go wrong (tracer.cpp): `calls` of those that `on` selects; `deed` is done to the Nth, or, if it `stays`, from it on.
    Not on files with the text `without` in their path."""

    def __init__(self, name, what, calls, deed, on="any", stays=False, without=""):
        super().__init__(name, what)
        self.calls, self.deed, self.on, self.stays, self.without = calls, deed, on, stays, without
        if deed.startswith("signal:"):
            self.ends_by = (getattr(signal, deed.split(":")[1]),)
        elif deed == "hangup":
            self.ends_by = (signal.SIGPIPE,)

    _cannot = {}

    def missing(self):
        tracer = self.tools.tracer
        if tracer not in self._cannot:
            if tracer == "none":
                self._cannot[tracer] = "the tracer is for x86-64 and 64-bit Arm"
            else:
                probe = subprocess.run([tracer, "--calls", "write", "--", "true"], stderr=subprocess.PIPE, check=False)
                self._cannot[tracer] = None if probe.returncode == 0 else f"no process may be traced: {probe.stderr.decode().strip()}"
        return self._cannot[tracer]

    def around(self, call, folder, *more):
        on = self.on.replace("FOLDER", folder)
        without = ["--without", self.without] if self.without else []
        return [self.tools.tracer, "--calls", self.calls, "--on", on, *without, *more, "--", *call]

    def counted(self, scene, call, folder):
        """Lines of the tracer's log: number, call, file; the files of the folder by their names in it."""
        kind = (self.calls, self.on, self.without)
        if kind not in scene.counted:
            with tempfile.NamedTemporaryFile("r") as log:
                scene.go(self.around(call, folder, "--log", log.name), {})
                scene.counted[kind] = [line.rstrip("\n").replace(folder + "/", "").split(" ", 2) for line in log]
        return scene.counted[kind]

    def occasions(self, scene, call, folder):
        return [int(number) for number, _, _ in self.counted(scene, call, folder)]

    def play(self, scene, call, folder, place):
        stay = ["--stay"] if self.stays else []
        return scene.go(self.around(call, folder, "--at", str(place), "--do", self.deed, *stay), {})


class OnInput(Traced):
    """Of scenes that read a live source, their standard input."""

    def suits(self, scene):
        return scene.live


class OnConnection(Traced):
    """Of scenes that have a server or clients. No socket between a process and its child breaks while both live."""

    def suits(self, scene):
        return scene.has_clients or scene.broker is not None


class Preloaded(Fault):
    """A fault of shim.cpp."""

    def __init__(self, name, what, kind, counter):
        super().__init__(name, what)
        self.kind, self.counter = kind, counter

    def missing(self):
        return "a program with sanitizers has an allocator of its own" if os.environ.get("RUNNEL_SANITIZED") else None

    def occasions(self, scene, call, folder):
        with tempfile.NamedTemporaryFile("r") as count:
            scene.go(call, {"LD_PRELOAD": self.tools.shim, "RUNNEL_FAULT_COUNT": count.name})
            text = count.read()
        return range(1, json.loads(text)[self.counter] + 1) if text else range(0)

    def play(self, scene, call, folder, place):
        return scene.go(call, {"LD_PRELOAD": self.tools.shim, "RUNNEL_FAULT": f"{self.kind}:{place}"})


READS, WRITES, SENDS = "read,pread64,readv", "write,pwrite64,writev", "sendto,sendmsg"
NAMES = "rename,renameat,renameat2,link,linkat"
# The C library opens others, and no disk gives it half a page of them; sockets are on no disk.
LIBRARY, SOCKET = ".so", "socket:"
CALLS = [
    Traced("open: EMFILE", "a file cannot be opened, because the process has too many", "openat", "error:EMFILE"),
    Traced("open: EIO", "a file cannot be opened, because the disk is broken", "openat", "error:EIO"),
    Traced("read: EIO", "a read fails", READS, "error:EIO", without=SOCKET),
    Traced("read: EINTR", "a read is interrupted", f"{READS},recvfrom,recvmsg", "error:EINTR", without=LIBRARY),
    Traced("write: ENOSPC", "a write finds no room, once", WRITES, "error:ENOSPC", without=SOCKET),
    Traced("write: EIO", "a write fails", WRITES, "error:EIO", without=SOCKET),
    Traced("write: EINTR", "a write is interrupted", f"{WRITES},{SENDS}", "error:EINTR"),
    Traced("sync: EIO", "what was written does not reach the disk", "fsync,fdatasync", "error:EIO"),
    Traced("rename: EIO", "a finished file does not get its name", NAMES, "error:EIO"),
    Traced("memory map: ENOMEM", "no address space", "mmap", "error:ENOMEM"),
    Traced("thread: EAGAIN", "no further thread or process", "clone,clone3", "error:EAGAIN"),
    OnConnection("send: ECONNRESET", "a connection breaks while something is sent", f"{SENDS},{WRITES}", "error:ECONNRESET", on="sockets"),
    OnConnection("receive: ECONNRESET", "a connection breaks while something is received", f"recvfrom,recvmsg,{READS}", "error:ECONNRESET", on="sockets"),
    Traced("short transfers", "from here on, reads and writes move one half of what was asked", f"{READS},{WRITES},{SENDS},recvfrom", "half", stays=True, without=LIBRARY),
    Preloaded("allocation", "one allocation fails", "memory", "memory"),
    Preloaded("clock forward", "the clock steps a day forward", "forward", "clock"),
    Preloaded("clock back", "the clock steps a day back", "back", "clock"),
    Preloaded("clock jumps", "the clock jumps to and fro by a day", "wobble", "clock"),
    Traced("SIGTERM", "asked to end at a write", f"{WRITES},{SENDS}", "signal:SIGTERM"),
    Traced("SIGINT", "interrupted by its user at a write", f"{WRITES},{SENDS}", "signal:SIGINT"),
    Traced("SIGHUP", "the terminal is gone at a write", f"{WRITES},{SENDS}", "signal:SIGHUP"),
    Traced("SIGKILL", "killed at a write", f"{WRITES},{SENDS}", "signal:SIGKILL"),
]
