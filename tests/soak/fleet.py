"""A fleet of one sender and one worker with a server of NATS between them; the worker saves its states all the time."""
import asyncio
import os
import shutil

import programs


class Server:
    """nats-server with JetStream, in a folder of the soak."""

    def __init__(self, folder):
        self.path = shutil.which("nats-server", path=programs.Broker.PATHS)
        self.port = programs.free_port()
        self.file = os.path.join(folder, "nats.conf")
        self.process = None
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(f'listen: "127.0.0.1:{self.port}"\njetstream {{store_dir: "{folder}/nats"}}\n')

    @property
    def address(self):
        return f"nats://127.0.0.1:{self.port}"

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(self.path, "-c", self.file, stderr=asyncio.subprocess.DEVNULL)
        for _ in range(3000):
            if await programs.answers(self.port):
                return
            if self.process.returncode is not None:
                break
            await asyncio.sleep(0.02)
        raise SystemExit("soak: nats-server does not answer")

    async def listen(self, subject, heard):
        """Gives every message below `subject` to `heard`, until it is cancelled or the server ends."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        await reader.readline()   # INFO
        writer.write(f'CONNECT {{"verbose":false,"pedantic":false,"headers":false}}\r\nSUB {subject} 1\r\n'.encode())
        try:
            while line := await reader.readline():
                words = line.decode().split()
                if not words:
                    continue
                if words[0] == "PING":
                    writer.write(b"PONG\r\n")
                elif words[0] == "MSG":
                    heard((await reader.readexactly(int(words[-1]) + 2))[:-2].decode())
                elif words[0] == "-ERR":
                    raise SystemExit(f"soak: nats-server says {line.decode().strip()}")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()
