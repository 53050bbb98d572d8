"""The programs of a soak: started, looked at, ended; and a broker that comes and goes."""
import asyncio
import os
import shutil
import signal
import socket

import figures


def looked_at(process, at):
    """What the kernel says of a process; None once it is gone."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return figures.Sample(at, resident, len(os.listdir(f"/proc/{process}/fd")), len(os.listdir(f"/proc/{process}/task")))
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None


class Program:
    """A program of ours at work, with what was seen of it. Lines of its stdout go to `heard`."""

    def __init__(self, name, call, log, heard):
        self.name, self.call, self.log, self.heard = name, call, log, heard
        self.samples = []
        self.settled = self.last = None  # samples without clients: after the warm-up and at the end

    async def start(self, stdin=None):
        with open(self.log, "wb") as log:
            # Lines of decoders can be long.
            self.process = await asyncio.create_subprocess_exec(*self.call, stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=log, limit=1 << 20)
        self.reading = asyncio.create_task(self.read())

    async def read(self):
        while line := await self.process.stdout.readline():
            self.heard(line.decode())

    def look(self, at):
        seen = looked_at(self.process.pid, at)
        if seen is None or self.process.returncode is not None:
            raise SystemExit(f"soak: {self.name} has ended, with exit code {self.process.returncode}: {self.said()}")
        return seen

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]

    async def end(self, number, patience=120):
        """Its exit code after this signal; 0: none is sent."""
        if self.process.returncode is None and number:
            self.process.send_signal(number)
        try:
            code = await asyncio.wait_for(self.process.wait(), patience)
        except asyncio.TimeoutError:
            self.process.kill()
            raise SystemExit(f"soak: {self.name} does not end: {self.said()}") from None
        await self.reading
        return code


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def answers(port):
    """Whether somebody listens there."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        return True
    except OSError:
        return False


class Broker:
    """mosquitto, which keeps its sessions over kills."""

    PATHS = "/usr/sbin:/usr/bin:/usr/local/sbin"

    def __init__(self, folder):
        self.path = shutil.which("mosquitto", path=self.PATHS)
        self.port = free_port()
        self.kills = 0
        self.process = None
        self.file = os.path.join(folder, "mosquitto.conf")
        os.makedirs(os.path.join(folder, "broker"))
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/broker/\n"
                       f"autosave_on_changes true\nautosave_interval 1\nlog_dest none\n{'user root' if os.geteuid() == 0 else ''}\n")

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(self.path, "-c", self.file, stderr=asyncio.subprocess.DEVNULL)
        for _ in range(3000):
            if await answers(self.port):
                return
            if self.process.returncode is not None:
                break
            await asyncio.sleep(0.02)
        raise SystemExit("soak: mosquitto does not answer")

    def has_client(self):
        """Whether a connection to it is established, as the kernel lists them."""
        with open("/proc/net/tcp", encoding="ascii") as file:
            return any(row[2] == f"0100007F:{self.port:04X}" and row[3] == "01" for row in map(str.split, file))

    async def kill(self):
        self.kills += 1
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
