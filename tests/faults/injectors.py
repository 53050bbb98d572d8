"""The faults of the matrix. Each is a way to run a program so that one thing goes wrong in it once, at its Nth occasion; how many
occasions there are is counted in an undisturbed run."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

STRACE = shutil.which("strace")


class Fault:
    """`name` of its column; `what`, for the page."""

    def __init__(self, name, what):
        self.name, self.what = name, what

    def missing(self):
        """Why it cannot be injected here; None: it can."""
        return None

    def occasions(self, call, shim, go):
        """The numbers N at which a run of `call` can be disturbed; `go` runs it."""
        raise NotImplementedError

    def around(self, call, nth, shim):
        """The call that is disturbed at the Nth occasion, and its environment."""
        raise NotImplementedError

    # The signal that ends the program by itself, which is no crash.
    ends_by = ()


def run(call, environment, **more):
    return subprocess.run(call, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **more)


class SystemCall(Fault):
    """Calls of the set fail with `error`, or end in `signal` (strace's names). Those before main() are the dynamic linker's, and left alone."""

    _before = {}  # calls of each set that a program makes before main()

    def __init__(self, name, what, calls, error=None, send=None):
        super().__init__(name, what)
        self.calls, self.error, self.send = calls, error, send
        if send is not None:
            self.ends_by = (getattr(signal, send),)

    def missing(self):
        if STRACE is None:
            return "no strace (scripts/install.sh test)"
        probe = subprocess.run([STRACE, "-o", "/dev/null", "true"], stderr=subprocess.PIPE, check=False)
        return None if probe.returncode == 0 else "strace may not trace here"

    def _calls(self, call, go):
        """Of each of these calls, in their order: whether it can fail in this way."""
        with tempfile.NamedTemporaryFile("r") as log:
            go([STRACE, "-f", "--seccomp-bpf", "-qq", "-y", "-e", "signal=none", "-e", f"trace={self.calls}", "-o", log.name, *call], {})
            lines = log.read().splitlines()
        # A thread's unfinished call has a second line. Where threads wake each other, no disk is full.
        return ["[eventfd" not in line for line in lines if re.match(r"^\d+ +\w+\(", line)]

    def occasions(self, call, shim, go):
        program = call[0]
        if (program, self.calls) not in self._before:
            self._before[program, self.calls] = len(self._calls([program, "--help"], run))
        return [nth for nth, can_fail in enumerate(self._calls(call, go), 1) if can_fail and nth > self._before[program, self.calls]]

    def around(self, call, nth, shim):
        how = f"error={self.error}" if self.error else f"signal={self.send}"
        # With --seccomp-bpf, strace 6.1 sends no signals.
        return [STRACE, "-f", *(["--seccomp-bpf"] if self.error else []), "-qq", "-e", "signal=none", "-e", f"trace={self.calls}", "-e", f"inject={self.calls}:{how}:when={nth}",
                "-o", "/dev/null", *call], {}


class Preloaded(Fault):
    """A fault of shim.cpp."""

    def __init__(self, name, what, kind, counter):
        super().__init__(name, what)
        self.kind, self.counter = kind, counter

    def missing(self):
        return "a program with sanitizers has an allocator of its own" if os.environ.get("RUNNEL_SANITIZED") else None

    def occasions(self, call, shim, go):
        with tempfile.NamedTemporaryFile("r") as count:
            go(["/usr/bin/env", f"LD_PRELOAD={shim}", f"RUNNEL_FAULT_COUNT={count.name}", *call], {})
            text = count.read()
        return range(1, json.loads(text)[self.counter] + 1) if text else range(0)

    def around(self, call, nth, shim):
        # Of the program alone, not of what it is started by.
        return ["/usr/bin/env", f"LD_PRELOAD={shim}", f"RUNNEL_FAULT={self.kind}:{nth}", *call], {}


FAULTS = [
    SystemCall("open: EMFILE", "a file cannot be opened, because the process has too many", "openat", error="EMFILE"),
    SystemCall("open: EIO", "a file cannot be opened, because the disk is broken", "openat", error="EIO"),
    SystemCall("read: EIO", "a read fails", "read,pread64,readv", error="EIO"),
    SystemCall("read: EINTR", "a read is interrupted", "read,pread64,readv,recvfrom", error="EINTR"),
    SystemCall("write: ENOSPC", "the disk is full", "write,pwrite64,writev", error="ENOSPC"),
    SystemCall("write: EIO", "a write fails", "write,pwrite64,writev", error="EIO"),
    SystemCall("write: EINTR", "a write is interrupted", "write,pwrite64,writev,sendto", error="EINTR"),
    SystemCall("sync: EIO", "what was written does not reach the disk", "fsync,fdatasync", error="EIO"),
    SystemCall("rename: EIO", "a finished file does not get its name", "rename,renameat,renameat2,link,linkat", error="EIO"),
    SystemCall("memory map: ENOMEM", "no address space", "mmap", error="ENOMEM"),
    SystemCall("thread: EAGAIN", "no further thread", "clone,clone3", error="EAGAIN"),
    Preloaded("short transfers", "reads and writes move one half of what was asked", "short", "short"),
    Preloaded("allocation", "one allocation fails", "memory", "memory"),
    Preloaded("clock forward", "the clock steps a day forward", "forward", "clock"),
    Preloaded("clock back", "the clock steps a day back", "back", "clock"),
    SystemCall("SIGTERM", "asked to end at a write", "write,pwrite64,writev", send="SIGTERM"),
    SystemCall("SIGINT", "interrupted by its user at a write", "write,pwrite64,writev", send="SIGINT"),
    SystemCall("SIGHUP", "the terminal is gone at a write", "write,pwrite64,writev", send="SIGHUP"),
    SystemCall("SIGKILL", "killed at a write", "write,pwrite64,writev", send="SIGKILL"),
]
