"""The faults of the matrix that lie around the program: its disk, its files, its devices, its readers, its broker."""
import os
import shlex
import signal
import subprocess

from injectors import CALLS, READS, WRITES, Fault, OnInput, Traced

PAGE = 4096


def may_mount():
    """Whether this process has mounts of its own (matrix.py)."""
    return os.environ.get("RUNNEL_FAULTS_MOUNTS") == "1"


class Disk(Fault):
    """The folder of the run, and what its standard output is written to, lie on a file system of their own."""

    def missing(self):
        return None if may_mount() else "nothing may be mounted here (root in a namespace of its own may)"

    def suits(self, scene):
        return scene.writes_files or scene.prints_results

    def before(self, scene, folder):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], check=True)
        scene.stdout_file = os.path.join(folder, scene.stdout_name) if scene.prints_results else None

    def done(self, scene, folder):
        scene.stdout_file = None
        subprocess.run(["umount", "-l", folder], check=True)


class FullDisk(Disk):
    """With room for a number of pages, and not more however often it tries."""

    def occasions(self, scene, call, folder):
        if scene.disk_pages is not None:
            return range(scene.disk_pages)
        scene.go(call, {})
        sizes = [os.stat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names
                 if os.path.join(where, name) not in scene.inputs]
        return range(sum((size + PAGE - 1) // PAGE for size in sizes) + len(sizes))

    def ballast(self, folder):
        return os.path.join(folder, "ballast")

    def play(self, scene, call, folder, place):
        facts = os.statvfs(folder)
        size = facts.f_bavail * facts.f_frsize - place * PAGE
        with open(self.ballast(folder), "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        return scene.go(call, {})

    def after(self, scene, folder):
        os.remove(self.ballast(folder))


class ReadOnly(Disk):
    """From the start."""

    def occasions(self, scene, call, folder):
        return [1]

    def play(self, scene, call, folder, place):
        # Whoever starts the program has opened its standard output.
        scene.stdout_file = None
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        return scene.go(call, {})

    def after(self, scene, folder):
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)


class BecomesReadOnly(Traced):
    """As the kernel does it to a file system with errors."""

    def suits(self, scene):
        return scene.writes_files


class ChangedInput(Traced):
    """A file of the input changes just before the program's Nth call that is about it."""

    other_input = True

    def __init__(self, name, what, command):
        super().__init__(name, what, f"openat,lseek,fstat,newfstatat,close,mmap,{READS}", "", on="below:FOLDER")
        self.command = command

    def occasions(self, scene, call, folder):
        # What a call makes itself is no input.
        names = {os.path.relpath(path, folder) for path in scene.inputs}
        return [(int(number), name) for number, _, name in self.counted(scene, call, folder) if name in names]

    def play(self, scene, call, folder, place):
        number, name = place
        scene.changed = name
        path = shlex.quote(os.path.join(folder, name))
        command = self.command.replace("FILE", path).replace("HALF", str(os.stat(os.path.join(folder, name)).st_size // 2))
        return scene.go(self.around(call, folder, "--at", str(number), "--do", f"run:{command}"), {})


class WriterDies(Fault):
    """What writes to the standard input ends, in the middle of a sample."""

    def suits(self, scene):
        return scene.live

    def occasions(self, scene, call, folder):
        size = scene.feed_size()
        return [1 + 2 * (size * part // 20) for part in range(10)]

    def play(self, scene, call, folder, place):
        scene.feed_until = place
        try:
            return scene.go(call, {})
        finally:
            scene.feed_until = None


class SlowReader(Fault):
    """Nobody reads the standard output (of `serve`: the events) for a second and a half, and the pipe is small."""

    def suits(self, scene):
        return scene.prints_results or scene.has_clients

    def occasions(self, scene, call, folder):
        return [1]

    def play(self, scene, call, folder, place):
        scene.reads_after = 1.5
        try:
            return scene.go(call, {})
        finally:
            scene.reads_after = 0


class NoReader(Traced):
    def suits(self, scene):
        return scene.prints_results


class Broker(Traced):
    """Something happens to the broker just before the program's Nth call on a connection."""

    def __init__(self, name, what, stage):
        super().__init__(name, what, f"connect,{READS},{WRITES},recvfrom,recvmsg,sendto,sendmsg", "", on="sockets")
        self.stage = stage
        # Without a broker it is asked to end, which may be before it has begun.
        if stage == "away":
            self.ends_by = (signal.SIGTERM,)

    def suits(self, scene):
        return scene.broker is not None

    def play(self, scene, call, folder, place):
        broker = scene.broker
        broker.comes_back = self.stage != "away"
        pid = broker.process.pid
        command = {"killed": f"kill -KILL {pid}", "away": f"kill -KILL {pid}", "stopped": f"kill -STOP {pid}; (sleep 3; kill -CONT {pid}) >&- 2>&- &"}[self.stage]
        return scene.go(self.around(call, folder, "--at", str(place), "--do", f"run:{command}"), {})

    def after(self, scene, folder):
        scene.broker.is_there()


AROUND = [
    FullDisk("disk: full", "the disk is full, and stays so"),
    ReadOnly("disk: read-only", "the folder is on a file system for reading only"),
    BecomesReadOnly("disk: EROFS", "from here on, the file system is for reading only", f"openat,mkdir,mkdirat,unlink,unlinkat,rename,renameat,renameat2,link,linkat,ftruncate,fallocate,{WRITES}",
                    "error:EROFS", on="changes:FOLDER", stays=True),
    ChangedInput("input: cut", "a file that it reads is cut to one half", "truncate -s HALF FILE"),
    ChangedInput("input: emptied", "a file that it reads is emptied", "truncate -s 0 FILE"),
    ChangedInput("input: grown", "a file that it reads grows", "head -c 50001 /dev/urandom >> FILE"),
    ChangedInput("input: overwritten", "a file that it reads is overwritten from its middle on",
                 "dd if=/dev/urandom of=FILE bs=HALF count=1 seek=1 conv=notrunc status=none"),
    ChangedInput("input: replaced", "another file gets the name of one that it reads", "head -c 50001 /dev/urandom > FILE.new && mv FILE.new FILE"),
    ChangedInput("input: removed", "a file that it reads is removed", "rm -f FILE"),
    OnInput("device: ENODEV", "the device that it listens to is pulled out", READS, "error:ENODEV", on="input", stays=True),
    OnInput("device: EIO", "the device that it listens to is broken", READS, "error:EIO", on="input", stays=True),
    WriterDies("device: cut", "its sound ends in the middle of a sample"),
    SlowReader("reader: slow", "nobody reads its results for a while"),
    NoReader("reader: gone", "the reader of its results has gone (SIGPIPE)", WRITES, "hangup", on="output", stays=True),
    Broker("broker: killed", "the broker is killed, and started again", "killed"),
    Broker("broker: stopped", "the broker stands still for three seconds", "stopped"),
    Broker("broker: away", "the broker is killed, and comes back when the program has ended", "away"),
]

FAULTS = CALLS + AROUND
