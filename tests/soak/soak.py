"""soak.py PROGRAM MODEL RECORDING [--minutes N] [--warm-up S] [--streams N] [--speed X] [--late X] [--growth MIB] [--markdown]: hours of work in less time (docs/security.md).

`serve` has streams at several times the speed of sound, whose clients come and go, connections of every bad kind, and visitors of its page;
`listen` hears a stream at that speed too, publishes its events to a broker that is killed again and again, and has a page with readers that come
and go; `send` gives a stream to `work`, which saves its state five times a second. After the warm-up, and at the end, nobody is connected for a moment: descriptors and threads must be the same then. Resident memory must not
grow in between, events must not come later and later, and all events must be those of the same sound offline. Exit code 1 when not, 77: not here.
Made for Linux, which says in /proc what a process has."""
import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time

import clients
import figures
import fleet
import programs
import sound

LOOK_EVERY = 1.0   # s
CROWD = 16         # visitors
SETTLE = 60.0      # s for descriptors and threads to come back to what they were


class Server:
    """Where the clients of `serve` go."""

    address = page = wyoming = None
    page_host = ""


class Endless:
    """A stream that a program hears through its stdin for the whole course: when each chunk was sent, and the events that came of it."""

    def __init__(self, name, sounds, speed):
        self.name, self.sounds, self.speed = name, sounds, speed
        self.sent, self.heard, self.lateness = [], [], clients.Lateness()

    async def feed(self, stdin, over):
        pace = clients.Paced(self.speed)
        while not over():
            self.sent.append(time.monotonic())
            stdin.write(self.sounds.piece((len(self.sent) - 1) * clients.CHUNK, clients.CHUNK))
            await stdin.drain()
            await pace.next()
        stdin.close()

    def event(self, record):
        self.lateness.came(self.sent, record, time.monotonic())
        self.heard.append(sound.bare(record))

    @property
    def samples(self):
        return len(self.sent) * clients.CHUNK


def address_of(text):
    host, _, port = text.rpartition(":")
    return host, int(port)


class Soak:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.sounds = sound.Sounds(given.recording, [given.speed * seconds for seconds in (2.0, 3.1, 4.3, 5.2, 6.4)], folder)
        self.dice = clients.Dice(1)
        self.server, self.ready = Server(), asyncio.Event()
        self.of_serve = clients.Lateness()
        self.of_listen, self.of_fleet = Endless("listen", self.sounds, given.speed), Endless("work", self.sounds, given.speed)
        self.good = self.bad = self.visits = self.read_messages = 0
        self.wrong = []
        self.over = False
        self.calm = asyncio.Event()   # set: nobody new comes
        self.there = set()            # tasks of clients
        self.measured = None          # time of the first sample that counts
        self.summary = {}
        self.broker = self.nats = None
        self.watched = []             # programs

    # ---- the programs

    def programs(self):
        common = ["--decision", sound.DECISION]
        self.serve = programs.Program(
            "serve", [self.given.program, "serve", self.given.model, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--wyoming", "127.0.0.1:0",
                      "--threads", "2", "--greeting", "10", "--idle", "30", "--most-load", "0", *common], f"{self.folder}/serve.log", self.serve_says)
        mqtt = [] if self.broker is None else ["--mqtt", "soak/{label}", "--broker", f"127.0.0.1:{self.broker.port}"]
        self.listen = programs.Program(
            "listen", [self.given.program, "listen", self.given.model, "--stdin", "--http", "127.0.0.1:0", *mqtt, *common],
            f"{self.folder}/listen.log", self.listen_says)
        self.watched = [self.serve, self.listen]
        if self.nats is not None:
            self.work = programs.Program("work", [self.given.program, "work", self.given.model, "--nats", self.nats.address, "--save", "0.2", "--keep", "0.05", *common],
                                         f"{self.folder}/work.log", lambda line: None)
            self.send = programs.Program("send", [self.given.program, "send", self.nats.address, "--stdin", "--stream", "audio.soak", "--keep", "0.05"],
                                         f"{self.folder}/send.log", lambda line: None)
            self.watched += [self.work, self.send]

    def serve_says(self, line):
        record = json.loads(line)
        if record["type"] == "listening":
            self.server.address, self.server.wyoming = address_of(record["address"]), address_of(record["wyoming"])
            self.server.page_host = record["http"].removeprefix("http://")
            self.server.page = address_of(self.server.page_host)
            self.ready.set()

    def listen_says(self, line):
        record = json.loads(line)
        if record["type"] == "event":
            self.of_listen.event(record)
        elif record["type"] == "summary":
            self.summary = record

    async def page_of_listen(self):
        while True:
            with open(self.listen.log, encoding="utf-8", errors="replace") as log:
                for line in log:
                    if "http://" in line and line.endswith("\n"):
                        host = line.split("http://")[1].split("/")[0].split()[0]
                        return host
            self.listen.look(0)
            await asyncio.sleep(0.05)

    # ---- who comes

    def come(self, work):
        task = asyncio.create_task(work)
        self.there.add(task)
        task.add_done_callback(self.there.discard)
        return task

    async def while_open(self):
        """Returns when newcomers may come; False: there will be none."""
        while self.calm.is_set() and not self.over:
            await asyncio.sleep(0.05)
        return not self.over

    async def good_streams(self, number):
        """One place: a client follows another. Every tenth place is a page's."""
        turn = number
        while await self.while_open():
            recording = self.sounds.recordings[turn % len(self.sounds.recordings)]
            stream = clients.GoodStream(self.server, recording, self.given.speed, self.of_serve)
            try:
                problem = await self.come(stream.run_in_page() if number % 10 == 9 else stream.run())
            except (OSError, asyncio.IncompleteReadError) as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                self.wrong.append(f"a stream of serve: {problem}")
            self.good += 1
            turn += 1

    async def bad_ones(self):
        while await self.while_open():
            kind = clients.BAD[self.bad % len(clients.BAD)]

            async def visit(kind=kind):
                try:
                    await kind(self.server, self.dice)
                except (OSError, asyncio.IncompleteReadError):
                    pass  # the server may end it at any time

            self.come(visit())
            self.bad += 1
            await asyncio.sleep(0.05 + 0.2 * self.dice.random())

    async def visitors(self, page, host, ways):
        while await self.while_open():
            way = ways[self.visits % len(ways)]
            seconds = 0.5 + 3 * self.dice.random()
            try:
                if way == "/socket":
                    self.read_messages += await self.come(clients.reader_of_socket(page, host, seconds, self.dice))
                else:
                    await self.come(clients.reader_of_path(page, host, way, seconds))
            except OSError as error:
                self.wrong.append(f"a visitor of {host}{way}: {error}")
                await asyncio.sleep(1)
            self.visits += 1
            await asyncio.sleep(0.05)

    def fleet_says(self, line):
        record = json.loads(line)
        if record["type"] == "event":
            self.of_fleet.event(record)

    async def flapping(self):
        while not self.over:
            await asyncio.sleep(4 + 6 * self.dice.random())
            while self.calm.is_set() and not self.over:
                await asyncio.sleep(0.05)
            if self.over:
                break
            await self.broker.kill()
            await asyncio.sleep(3 * self.dice.random())
            await self.broker.start()

    # ---- what is seen

    async def looking(self):
        while not self.over:
            now = time.monotonic()
            for program in self.watched:
                seen = program.look(now)
                if self.measured is not None:
                    program.samples.append(seen)
            await asyncio.sleep(LOOK_EVERY)

    async def calm_moment(self, wanted=None):
        """Nobody comes, and who is there leaves; then what the programs have, once it stays the same. `wanted`: what it should be."""
        self.calm.set()
        while self.there:
            await asyncio.wait(set(self.there))
        # What is connected to the broker has a descriptor more.
        while self.broker is not None and not self.broker.has_client():
            await asyncio.sleep(0.1)
        until, before, same = time.monotonic() + SETTLE, None, 0
        while time.monotonic() < until:
            seen = [program.look(time.monotonic()) for program in self.watched]
            counts = [(one.descriptors, one.threads) for one in seen]
            same = same + 1 if counts == before else 0
            before = counts
            if same >= 8 and (wanted is None or all(now[0] <= then[0] and now[1] <= then[1] for now, then in zip(counts, wanted))):
                break
            await asyncio.sleep(0.25)
        if wanted is None:
            self.calm.clear()
        return seen

    # ---- the course

    async def run(self):
        self.sounds.listen_offline(self.given.program, self.given.model)
        if shutil.which("mosquitto", path=programs.Broker.PATHS) is None:
            print("soak: SKIPPED: the broker that comes and goes: mosquitto is not installed", file=sys.stderr)
        else:
            self.broker = programs.Broker(self.folder)
            await self.broker.start()
        self.nats = fleet.Server(self.folder)
        if self.nats.path is None:
            print("soak: SKIPPED: a sender and a worker: nats-server is not installed", file=sys.stderr)
            self.nats = None
        else:
            await self.nats.start()
        self.programs()
        serve, listen = self.serve, self.listen
        await serve.start()
        await listen.start(stdin=asyncio.subprocess.PIPE)
        while not self.ready.is_set():
            serve.look(0)
            await asyncio.sleep(0.02)
        # Its page is there when it has begun, which it does with the first sound.
        tasks = [asyncio.create_task(self.of_listen.feed(listen.process.stdin, lambda: self.over))]
        if self.nats is not None:
            hearing = asyncio.create_task(self.nats.listen("events.>", self.fleet_says))
            await self.work.start()
            await self.send.start(stdin=asyncio.subprocess.PIPE)
            tasks.append(asyncio.create_task(self.of_fleet.feed(self.send.process.stdin, lambda: self.over)))
        host = await self.page_of_listen()
        tasks += [asyncio.create_task(self.good_streams(i)) for i in range(self.given.streams)]
        tasks += [asyncio.create_task(self.bad_ones()), asyncio.create_task(self.looking())]
        tasks += [asyncio.create_task(self.visitors(address_of(host), host, ways)) for ways in (("/socket", "/", "/messages"), ("/messages", "/socket"))]
        tasks += [asyncio.create_task(self.visitors(self.server.page, self.server.page_host, ("/", "/metrics")))]
        if self.broker is not None:
            tasks.append(asyncio.create_task(self.flapping()))
        course = asyncio.create_task(self.course(host))
        # All end with the course; whatever fails ends it.
        await asyncio.gather(course, *tasks)
        code = await listen.end(0)
        if code != 0:
            self.wrong.append(f"listen ends with exit code {code}: {listen.said()[-500:]}")
        code = await serve.end(signal.SIGTERM)
        if code != 0:
            self.wrong.append(f"serve ends with exit code {code}: {serve.said()[-500:]}")
        if self.nats is not None:
            code = await self.send.end(0)
            if code != 0:
                self.wrong.append(f"send ends with exit code {code}: {self.send.said()[-500:]}")
            await self.last_of_fleet()
            code = await self.work.end(signal.SIGTERM)
            if code != 0:
                self.wrong.append(f"work ends with exit code {code}: {self.work.said()[-500:]}")
            hearing.cancel()
            self.nats.process.kill()
            await self.nats.process.wait()
        if self.broker is not None:
            await self.broker.kill()
            self.broker.kills -= 1

    async def last_of_fleet(self):
        """Until the worker has given what it will give of all that was sent."""
        count, still = -1, 0
        while still < 20:
            still = still + 1 if len(self.of_fleet.heard) == count else 0
            count = len(self.of_fleet.heard)
            await asyncio.sleep(0.25)

    async def crowd(self, page, host):
        """More visitors at once than there will be later: each has a thread, which is kept for the next one."""
        everybody = [clients.reader_of_socket(page, host, 1.0, self.dice) for _ in range(CROWD)]
        await asyncio.gather(*everybody)

    async def course(self, host):
        await self.crowd(address_of(host), host)
        await self.crowd(self.server.page, self.server.page_host)
        await asyncio.sleep(self.given.warm_up)
        settled = await self.calm_moment()
        for program, seen in zip(self.watched, settled):
            program.settled = seen
        self.measured = time.monotonic()
        await asyncio.sleep(max(1.0, 60 * self.given.minutes - self.given.warm_up))
        wanted = [(one.descriptors, one.threads) for one in settled]
        self.ended = time.monotonic()
        for program, seen in zip(self.watched, await self.calm_moment(wanted)):
            program.last = seen
        self.over = True

    # ---- what is said

    def judge(self, bounds):
        rows = []
        late = {"serve": self.of_serve, "listen": self.of_listen.lateness, "work": self.of_fleet.lateness}
        for program in self.watched:
            samples = [one for one in program.samples if one.at <= self.ended]
            growth, flat = figures.memory_verdict(samples, bounds)
            if not flat:
                self.wrong.append(f"{program.name}: resident memory grew by {growth / 2**20:.1f} MiB")
            then, now = program.settled, program.last
            for what in ("descriptors", "threads"):
                if getattr(now, what) > getattr(then, what):
                    self.wrong.append(f"{program.name}: {getattr(now, what)} {what} without clients, expected {getattr(then, what)} as after the warm-up")
            points, lateness = [], ["-"] * 4
            if program.name in late:
                points = [(at, seconds) for at, seconds in late[program.name].points if self.measured <= at <= self.ended]
                before, after, bounded = figures.lateness_verdict(points, bounds)
                if not bounded:
                    self.wrong.append(f"{program.name}: events come later and later: median and 99th percentile {before} s at the beginning, {after} s at the end")
                lateness = [f"{1000 * value:.0f}" for value in (*before, *after)]
            rows.append((program.name, f"{samples[0].resident / 2**20:.1f}" if samples else "-", f"{growth / 2**20:+.2f}", f"{then.descriptors}, {now.descriptors}",
                         f"{then.threads}, {now.threads}", f"{max((one.descriptors for one in samples), default=0)}", str(len(points)), *lateness))
        for endless in (self.of_listen, self.of_fleet) if self.nats is not None else (self.of_listen,):
            expected = self.sounds.endless_offline(self.given.program, self.given.model, endless.samples)
            if endless.heard != expected:
                self.wrong.append(f"{endless.name}: {len(endless.heard)} events that differ from the {len(expected)} of the same sound offline")
        events = len(self.of_listen.heard)
        for action in self.summary.get("actions", []):
            if action["done"] != action["events"] or action["events"] < events:
                self.wrong.append(f"listen: not every event reached the broker: {action}")
        if self.broker is not None and not self.summary.get("actions"):
            self.wrong.append("listen: no action in its summary")
        if self.good == 0 or self.bad == 0 or self.visits == 0 or self.read_messages == 0:
            self.wrong.append("nobody came: nothing was measured")
        return rows


HEADS = ("", "MiB", "growth, MiB", "descriptors", "threads", "most descriptors", "events", "first, median ms", "99th", "last, median ms", "99th")


def table(rows, markdown):
    if markdown:
        return "\n".join(["| " + " | ".join(HEADS) + " |", "|---|" + "---:|" * (len(HEADS) - 1), *("| " + " | ".join(row) + " |" for row in rows)])
    widths = [max(len(row[i]) for row in (HEADS, *rows)) for i in range(len(HEADS))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in (HEADS, *rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("recording")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--warm-up", type=float, default=None, help="seconds (default: a fifth of all, at most five minutes)")
    parser.add_argument("--streams", type=int, default=10)
    parser.add_argument("--speed", type=float, default=6)
    parser.add_argument("--late", type=float, default=1.0, help="factor for the floors of lateness, for machines that are busy otherwise")
    parser.add_argument("--growth", type=float, default=4.0, help="MiB by which resident memory may grow")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    if given.warm_up is None:
        given.warm_up = min(300.0, 12 * given.minutes)
    if not os.path.isdir("/proc/self/task"):
        print("soak: SKIPPED: this system has no /proc", file=sys.stderr)
        sys.exit(77)
    os.environ["RUNNEL_CONFIG"] = ""
    bounds = figures.Bounds()
    bounds.median_floor *= given.late
    bounds.tail_floor *= given.late
    bounds.growth_bytes = given.growth * 2**20
    with tempfile.TemporaryDirectory(prefix="soak_") as folder:
        async def go():
            soak = Soak(given, folder)
            try:
                await soak.run()
            finally:
                for program in (*soak.watched, soak.broker, soak.nats):
                    if program is not None and getattr(program, "process", None) is not None and program.process.returncode is None:
                        program.process.kill()
                        await program.process.wait()
            return soak

        soak = asyncio.run(go())
        rows = soak.judge(bounds)
    hours = given.minutes * given.speed / 60
    print(f"{given.minutes:g} minutes at {given.speed:g} times the speed ({hours:.1f} hours of sound for each of {given.streams + 1} streams): {soak.good} streams of serve, "
          f"{soak.bad} bad connections, {soak.visits} visits of pages with {soak.read_messages} messages, {soak.broker.kills if soak.broker else 0} deaths of the broker")
    print(table(rows, given.markdown))
    for one in soak.wrong[:20]:
        print(f"FAILED: {one}", file=sys.stderr)
    if len(soak.wrong) > 20:
        print(f"FAILED: and {len(soak.wrong) - 20} more", file=sys.stderr)
    sys.exit(1 if soak.wrong else 0)


if __name__ == "__main__":
    main()
