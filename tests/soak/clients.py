"""Who comes to the servers of a soak: streams whose events are compared, connections of every bad kind, visitors of pages."""
import asyncio
import base64
import json
import os
import random
import socket
import struct
import time

import sound

CHUNK = 960  # samples: 60 ms of sound


class Lateness:
    """When each sample was sent, and how much later its events came: (time of coming, seconds)."""

    def __init__(self):
        self.points = []

    def came(self, sent, event, now):
        """`sent`: times of the chunks of a stream."""
        chunk = min(int(event["end"] * sound.RATE) // CHUNK, len(sent) - 1)
        self.points.append((now, now - sent[chunk]))


class Paced:
    """The times at which the chunks of a stream are due."""

    def __init__(self, speed):
        self.step = CHUNK / sound.RATE / speed
        self.begun = time.monotonic()
        self.chunks = 0

    async def next(self):
        self.chunks += 1
        wait = self.begun + self.chunks * self.step - time.monotonic()
        # Others may run in any case.
        await asyncio.sleep(max(0.0, wait))


async def closed(reader):
    """Reads until the other side has closed."""
    try:
        while await reader.read(65536):
            pass
    except OSError:
        pass


async def closed_or(reader, seconds):
    """The same, but at most so long."""
    try:
        await asyncio.wait_for(closed(reader), seconds)
    except asyncio.TimeoutError:
        pass


def leave(writer):
    """Without waiting, whatever the connection has come to."""
    writer.transport.abort()


def head(host, path, *more):
    return "\r\n".join((f"GET {path} HTTP/1.1", f"Host: {host}", *more, "", "")).encode()


def upgrade(host, path):
    key = base64.b64encode(os.urandom(16)).decode()
    return head(host, path, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}")


def frame(kind, data):
    """A masked frame of a WebSocket: kind 1 text, 2 binary, 8 close, 10 pong."""
    mask = os.urandom(4)
    length = len(data)
    size = bytes([0x80 | length]) if length < 126 else struct.pack(">BH", 0x80 | 126, length)
    # The mask over whole data at once, as a number.
    whole = int.from_bytes((mask * (length // 4 + 1))[:length], "big") ^ int.from_bytes(data, "big")
    return bytes([0x80 | kind]) + size + mask + whole.to_bytes(length, "big")


async def frames(reader):
    """The frames of a server as (kind, data), until it closes."""
    try:
        while True:
            first, length = await reader.readexactly(2)
            if length == 126:
                length = struct.unpack(">H", await reader.readexactly(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", await reader.readexactly(8))[0]
            yield first & 15, await reader.readexactly(length)
            if first & 15 == 8:
                return
    except (asyncio.IncompleteReadError, OSError):
        return


class GoodStream:
    """Sends a recording at its pace, and compares the events with those of the offline run."""

    def __init__(self, server, recording, speed, lateness):
        self.server, self.recording, self.speed, self.lateness = server, recording, speed, lateness
        self.events, self.problem, self.sent = [], "", []
        self.complete = False

    def heard(self, line):
        record = json.loads(line)
        if record["type"] == "event":
            self.lateness.came(self.sent, record, time.monotonic())
            self.events.append(sound.bare(record))
        elif record["type"] == "summary":
            self.complete = True
        elif record["type"] == "error":
            self.problem = line

    def verdict(self):
        """What is wrong; empty: nothing."""
        if self.problem:
            return self.problem
        if not self.complete:
            return "ended without a summary"
        if self.events != self.recording.events:
            return f"{len(self.events)} events that differ from the {len(self.recording.events)} of the recording"
        return ""

    def greeting(self):
        return json.dumps({"rate": sound.RATE, "channels": 1, "source": "soak"}).encode()

    async def send(self, write):
        samples, pace = self.recording.samples, Paced(self.speed)
        for at in range(0, len(samples), 2 * CHUNK):
            self.sent.append(time.monotonic())
            await write(samples[at:at + 2 * CHUNK])
            await pace.next()

    async def run(self):
        """Over TCP."""
        reader, writer = await asyncio.open_connection(*self.server.address)

        async def listen():
            while line := await reader.readline():
                self.heard(line.decode())

        async def write(data):
            writer.write(struct.pack("<I", len(data)) + data)
            await writer.drain()

        listening = asyncio.create_task(listen())
        try:
            await write(self.greeting())
            await self.send(write)
            await write(b"")
            await listening
        finally:
            listening.cancel()
            leave(writer)
        return self.verdict()

    async def run_in_page(self):
        """Over a WebSocket."""
        reader, writer = await asyncio.open_connection(*self.server.page)

        async def listen():
            async for kind, data in frames(reader):
                if kind == 1:
                    self.heard(data.decode())
                elif kind == 9:
                    writer.write(frame(10, data))

        async def write(data):
            writer.write(frame(2, data))
            await writer.drain()

        writer.write(upgrade(self.server.page_host, "/stream"))
        if b" 101 " not in await reader.readuntil(b"\r\n\r\n"):
            leave(writer)
            return "the WebSocket is refused"
        listening = asyncio.create_task(listen())
        try:
            writer.write(frame(1, self.greeting()))
            await self.send(write)
            writer.write(frame(1, b'{"type":"end"}'))
            await listening
        finally:
            listening.cancel()
            leave(writer)
        return self.verdict()


# ---- bad ones: each ends by itself or by the server, within some seconds


async def garbage(server, dice):
    reader, writer = await asyncio.open_connection(*dice.choice((server.address, server.page, server.wyoming)))
    writer.write(dice.randbytes(dice.randint(1, 3000)))
    writer.write_eof()
    await closed(reader)
    leave(writer)


async def silent(server, dice):
    reader, writer = await asyncio.open_connection(*dice.choice((server.address, server.wyoming)))
    if dice.random() < 0.5:
        await closed_or(reader, 3)
    else:
        await asyncio.sleep(dice.random())
    leave(writer)


async def oversized(server, _):
    reader, writer = await asyncio.open_connection(*server.address)
    writer.write(struct.pack("<I", 0xffffffff) + b"{" * 100)
    await closed(reader)
    leave(writer)


async def cut(server, dice):
    """A stream that breaks off within a message; half of them without any goodbye."""
    _, writer = await asyncio.open_connection(*server.address)
    for message in (json.dumps({"rate": 16000}).encode(), bytes(3200)):
        writer.write(struct.pack("<I", len(message)) + message)
    writer.write(struct.pack("<I", 3200) + bytes(dice.randint(0, 3199)))
    await asyncio.sleep(dice.random())
    if dice.random() < 0.5:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    leave(writer)


async def deaf(server, dice):
    """Asks for progress and never reads it."""
    _, writer = await asyncio.open_connection(*server.address)
    writer.transport.pause_reading()
    for message in (json.dumps({"rate": 16000, "progress": True}).encode(), *[bytes(32000)] * 20):
        writer.write(struct.pack("<I", len(message)) + message)
    await asyncio.sleep(2 * dice.random())
    leave(writer)


async def wrong_greeting(server, dice):
    reader, writer = await asyncio.open_connection(*server.address)
    text = dice.choice((b"[]", b"{", b'{"rate":7}', b'{"rate":16000,"channels":99}', b'{"format":"u8"}', b"\xff\xfe"))
    writer.write(struct.pack("<I", len(text)) + text)
    await closed(reader)
    leave(writer)


async def bad_request(server, dice):
    reader, writer = await asyncio.open_connection(*server.page)
    writer.write(dice.choice((b"GET / HTTP/1.1\r\n\r\n", b"POST /stream HTTP/1.1\r\nHost: elsewhere\r\n\r\n", head(server.page_host, "/nowhere"),
                              head(server.page_host, "/", "X: " + "y" * 20000), b"\x16\x03\x01\x02\x00\x01\x00", head("elsewhere", "/"))))
    writer.write_eof()
    await closed(reader)
    leave(writer)


async def bad_frames(server, dice):
    """A WebSocket whose client breaks its rules."""
    reader, writer = await asyncio.open_connection(*server.page)
    writer.write(upgrade(server.page_host, "/stream"))
    writer.write(dice.choice((bytes([0x82, 10]) + bytes(10), bytes([0xf2, 0x80]) + bytes(4), bytes([0x82, 0xff]) + b"\xff" * 8,
                              frame(1, b"no JSON"), frame(3, b"x"))))
    await closed_or(reader, 3)
    leave(writer)


BAD = (garbage, silent, oversized, cut, deaf, wrong_greeting, bad_request, bad_frames)


# ---- visitors of a page


async def reader_of_socket(page, host, seconds, dice):
    """Reads the messages of a live page; the number that came."""
    reader, writer = await asyncio.open_connection(*page)
    writer.write(upgrade(host, "/socket"))
    count = 0

    async def read():
        nonlocal count
        await reader.readuntil(b"\r\n\r\n")
        async for kind, data in frames(reader):
            count += 1
            if kind == 9:
                writer.write(frame(10, data))

    try:
        await asyncio.wait_for(read(), seconds)
    except (asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
        pass
    if dice.random() < 0.5:
        writer.write(frame(8, struct.pack(">H", 1000)))
        await asyncio.sleep(0.1)
    leave(writer)
    return count


async def reader_of_path(page, host, path, seconds):
    """Reads a page, or its messages for so long; the number of bytes."""
    reader, writer = await asyncio.open_connection(*page)
    writer.write(head(host, path, "Connection: close"))
    count = 0

    async def read():
        nonlocal count
        while data := await reader.read(65536):
            count += len(data)

    try:
        await asyncio.wait_for(read(), seconds)
    except (asyncio.TimeoutError, OSError):
        pass
    leave(writer)
    return count


class Dice(random.Random):
    """The same chances in every run."""
