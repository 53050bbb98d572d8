"""What is disturbed: calls of the program, what each must have left behind, and how it goes on after a fault."""
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import wave

import injectors

DETECT = "detect smoothing_frames=5 threshold=0.1 release=0.05 refractory_frames=5"


class Broken(Exception):
    """A promise that was not kept."""


def events(text):
    """The events among lines of JSON; a last line that is cut is none."""
    found = []
    for line in text.splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        record = json.loads(line)
        if record.get("type") != "summary":
            found.append(line)
    return found


def check_beginning(given, expected):
    """Of a stream that was ended: its last event may be one of the end itself."""
    if given[:-1] != expected[:max(len(given) - 1, 0)]:
        raise Broken(f"gave {given[-2]!r}, which no undisturbed run gives there")


class Scene:
    """One verb at work in a folder of its own. `paths`: of the program, the source tree and the models."""

    name = ""
    # Files that may be there after a fault, besides those of an undisturbed run.
    may_leave = ()
    # Whether its results are lines of the standard output, files; whether it listens to the standard input, has clients, a broker.
    prints_results = writes_files = live = has_clients = False
    # Whether a signal is its usual end, with exit code 0.
    ends_well = False
    broker = None
    # A slow scene is disturbed at fewer places; in the short form by these faults alone.
    share, short = 1.0, None
    stdout_name = "printed"
    # Pages that it needs on a disk at most; None: those of what an undisturbed run leaves.
    disk_pages = None

    def __init__(self, paths):
        self.paths = paths
        self.inputs = set()  # of this run, absolute
        self.outputs = set()  # of the undisturbed run, in its folder
        self.changed = None  # the input that was changed, in its folder
        self.stdout_file = None  # where its output goes instead of a pipe
        self.reads_after = 0  # seconds, until then nobody reads it
        self.environment = {}
        self.counted = {}  # occasions of faults, which others have too
        self.feed_until = None  # bytes of the standard input; None: all

    def missing(self):
        """Why it cannot be played here; None: it can."""
        return None

    def begin(self):
        """What all runs share."""

    def end(self):
        """The end of what begin() has made."""

    def take(self, folder, path):
        """A copy of an input, which may be changed."""
        return shutil.copy(path, folder)

    def samples(self):
        with wave.open(self.paths.recording, "rb") as file:
            return file.getframerate(), file.readframes(file.getnframes())

    def feed_size(self):
        return len(self.samples()[1])

    def go(self, call, environment):
        """Runs the call, which may be one that injects a fault around that of prepare()."""
        if self.reads_after:
            there, here = os.pipe()
            fcntl.fcntl(here, fcntl.F_SETPIPE_SZ, 4096)
            filling = bytes(4095)  # so that the first line waits already
            os.write(here, filling)
        elif self.stdout_file:
            here = os.open(self.stdout_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        else:
            here = subprocess.PIPE
        with subprocess.Popen(call, env={**os.environ, **self.environment, **environment}, stdin=subprocess.PIPE if self.live else subprocess.DEVNULL, stdout=here,
                              stderr=subprocess.PIPE) as program:
            if here != subprocess.PIPE:
                os.close(here)
            feeder = threading.Thread(target=self._feed, args=(program.stdin,)) if self.live else None
            program.stdin = None
            if feeder is not None:
                feeder.start()
            if self.reads_after:
                time.sleep(self.reads_after)
                program.stdout = open(there, "rb")
            try:
                stdout, stderr = program.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                program.kill()
                program.communicate()
                raise
            finally:
                if feeder is not None:
                    feeder.join()
        if self.reads_after:
            stdout = stdout[len(filling):]
        if self.stdout_file:
            with open(self.stdout_file, "rb") as file:
                stdout = file.read()
        return subprocess.CompletedProcess(call, program.returncode, stdout, stderr)

    def _feed(self, pipe):
        try:
            with pipe:
                pipe.write(self.samples()[1][:self.feed_until])
        except BrokenPipeError:
            pass

    def prepare(self, folder):
        """The call, after its input was made."""
        raise NotImplementedError

    def kept(self, folder, stdout):
        """What a finished run has given: compared with that of the undisturbed one."""
        raise NotImplementedError

    def check_failed(self, folder, stdout, expected):
        """After a run that ended with a fault: raises Broken unless what is there is whole, and going on gives what was expected."""
        raise NotImplementedError

    def check_other(self, folder, stdout, expected, code):
        """After a run whose input changed under it: raises Broken unless what is there is whole, whatever it says."""
        raise NotImplementedError


class ToStdout(Scene):
    """Gives lines: after a fault those of the beginning, each whole."""

    prints_results = True

    def kept(self, folder, stdout):
        return events(stdout)

    def check_failed(self, folder, stdout, expected):
        # A killed program may leave a line cut in a pipe; a whole one must be the next that was expected.
        given = events(stdout)
        if given != expected[:len(given)]:
            raise Broken(f"gave {given[-1]!r}, which no undisturbed run gives there")

    def check_other(self, folder, stdout, expected, code):
        events(stdout)


class Listen(ToStdout):
    name = "listen"

    def prepare(self, folder):
        return [self.paths.program, "listen", self.take(folder, self.paths.model), "--wav", self.take(folder, self.paths.recording), "--decision", DETECT]


class ListenLive(ToStdout):
    """To a pipe: until a signal, or the end of what is heard."""

    name, live, ends_well = "listen, live", True, True

    def check_ended_early(self, folder, stdout, expected):
        check_beginning(events(stdout), expected)

    def prepare(self, folder):
        return [self.paths.program, "listen", self.take(folder, self.paths.model), "--stdin", "--rate", str(self.samples()[0]), "--decision", DETECT]


class Inspect(ToStdout):
    name = "inspect"

    def prepare(self, folder):
        return [self.paths.program, "inspect", self.take(folder, self.paths.model)]

    def kept(self, folder, stdout):
        return stdout.splitlines(keepends=True)

    def check_failed(self, folder, stdout, expected):
        if not "".join(expected).startswith(stdout):
            raise Broken(f"said {stdout!r}")

    def check_other(self, folder, stdout, expected, code):
        # Of a file that is read once, there is all or nothing.
        if code == 0 and not stdout.endswith("\n"):
            raise Broken(f"said {stdout!r}")


class ToFile(Scene):
    """Writes one file: it is there whole or not at all."""

    writes_files = True
    output = "made.rnl"

    def kept(self, folder, stdout):
        path = os.path.join(folder, self.output)
        if not os.path.exists(path):
            raise Broken("ended well without its file")
        with open(path, "rb") as file:
            return file.read()

    def check_failed(self, folder, stdout, expected):
        path = os.path.join(folder, self.output)
        if os.path.exists(path):
            with open(path, "rb") as file:
                if file.read() != expected:
                    raise Broken("left half a file")

    def check_other(self, folder, stdout, expected, code):
        path = os.path.join(folder, self.output)
        if os.path.exists(path) != (code == 0):
            raise Broken("left a file though it failed" if code else "ended well without its file")
        if code == 0:
            self.check_whole(path)

    def check_whole(self, path):
        done = injectors.run([self.paths.program, "inspect", path], {})
        if done.returncode != 0:
            raise Broken(f"made a file that is refused: {done.stderr.decode()}")


class Import(ToFile):
    name = "import"

    def prepare(self, folder):
        return [self.paths.program, "import", self.take(folder, self.paths.onnx), "-o", os.path.join(folder, self.output), "--name", "m"]


class Quantize(ToFile):
    name = "quantize"

    def prepare(self, folder):
        return [self.paths.program, "quantize", self.take(folder, self.paths.onnx), "--table", self.take(folder, self.paths.table), "--layout", "frames-first", "--front-end",
                "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600", "-o", os.path.join(folder, self.output), "--name", "m", "--quiet"]


class Features(ToFile):
    name, output = "features", "made.npy"

    def prepare(self, folder):
        return [self.paths.program, "features", "--preset", "kaldi80", self.take(folder, self.paths.recording), "--output", os.path.join(folder, self.output)]

    def check_whole(self, path):
        with open(path, "rb") as file:
            head = file.read(10)
            size = 10 + struct.unpack("<H", head[8:10])[0]
            rows, columns = map(int, re.search(rb"\((\d+), ?(\d+)\)", file.read(size - 10)).groups())
        if os.stat(path).st_size != size + 4 * rows * columns:
            raise Broken("made an array of another size than its head says")


class Batch(Scene):
    """Over a list of recordings, with settings: after any fault --resume gives the bytes of an undisturbed run."""

    name, writes_files = "batch", True
    may_leave = ("made.jsonl", "made.jsonl.part", "made.jsonl.journal")

    def prepare(self, folder):
        sounds = os.path.join(folder, "sounds")
        os.makedirs(sounds)
        for name in ("a.wav", "b.wav", "c.wav"):
            shutil.copy(self.paths.recording, os.path.join(sounds, name))
            with open(os.path.join(folder, "list.txt"), "a", encoding="utf-8") as file:
                file.write(os.path.join(sounds, name) + "\n")
        settings = os.path.join(folder, "settings.toml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("[batch]\njobs = 2\n\n[listen]\nthreads = 1\n")
        self.environment = {"RUNNEL_CONFIG": settings}
        self.take(folder, self.paths.model)
        return self.call_of(folder)

    def kept(self, folder, stdout):
        with open(os.path.join(folder, "made.jsonl"), encoding="utf-8") as file:
            return file.read().replace(folder, "")

    def check_failed(self, folder, stdout, expected):
        again = injectors.run([*self.call_of(folder), "--resume"], {})
        kept = self.kept(folder, "")
        if again.returncode == 0 and kept == expected:
            return
        # A recording that could not be read has a record that says so; all others are as they were.
        records = [json.loads(line) for line in kept.splitlines()]
        failed = {record["source"] for record in records if record["type"] == "error" and "source" in record}
        if not failed or again.returncode == 0:
            raise Broken(f"a resumed run gives other bytes, exit code {again.returncode}: {again.stderr.decode()}")
        self.check_others(kept, expected, failed)

    @staticmethod
    def check_others(kept, expected, failed):
        """All but these recordings have what they have without a fault."""

        def of_others(text):
            found = [json.loads(line) for line in text.splitlines()]
            return [record for record in found if record["type"] != "summary" and not any(record["source"].endswith(one) for one in failed)]

        if of_others(kept) != of_others(expected):
            raise Broken("a recording that failed has changed the others")

    def check_other(self, folder, stdout, expected, code):
        if os.path.exists(os.path.join(folder, "made.jsonl")):
            # A model, a list or settings that changed before they were read are others for all recordings.
            if self.changed.endswith(".wav"):
                self.check_others(self.kept(folder, ""), expected, {self.changed})
        elif code == 0:
            raise Broken("ended well without its file")

    def call_of(self, folder):
        return [self.paths.program, "batch", os.path.join(folder, os.path.basename(self.paths.model)), "@" + os.path.join(folder, "list.txt"), "--no-timing", "--jobs", "2", "--decision", DETECT,
                "--progress", "0", "--output", os.path.join(folder, "made.jsonl")]


class Serve(Scene):
    """A server that is disturbed while two clients speak; two come after them. A client has all of its events, or an end that says so, and the events until there; the next one has all of them."""

    name, has_clients, ends_well = "serve", True, True

    def prepare(self, folder):
        return [self.paths.program, "serve", self.take(folder, self.paths.model), "--listen", "127.0.0.1:0", "--decision", DETECT]

    def speak(self, address, lines, reads_after=0):
        rate, samples = self.samples()
        try:
            with socket.create_connection(address, timeout=30) as connection:
                def send(message):
                    connection.sendall(struct.pack("<I", len(message)) + message)

                send(json.dumps({"rate": rate, "channels": 1, "source": "samples"}).encode())
                for at in range(0, len(samples), 16000):
                    send(samples[at:at + 16000])
                send(b"")
                time.sleep(reads_after)
                for line in connection.makefile("r", encoding="utf-8"):
                    lines.append(line)
        except (OSError, UnicodeDecodeError):
            pass  # the server has ended the connection: what has come by then counts

    def go(self, call, environment):
        with subprocess.Popen(call, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as program:
            # A guard for everything below: what waits for a server that hangs ends.
            guard = threading.Timer(30, os.killpg, (program.pid, signal.SIGKILL))
            guard.start()
            first = program.stdout.readline()
            heard = [[], [], [], []]
            try:
                host, port = json.loads(first)["address"].rsplit(":", 1)
            except ValueError:  # it has ended
                host = None
            if host is not None:
                together = [threading.Thread(target=self.speak, args=((host, int(port)), lines, after)) for lines, after in zip(heard, (self.reads_after, 0))]
                for one in together:
                    one.start()
                for one in together:
                    one.join()
                for lines in heard[2:]:
                    self.speak((host, int(port)), lines)
            if program.poll() is None:
                program.terminate()  # a tracer passes it on
            _, stderr = program.communicate()
            hung = not guard.is_alive()
            guard.cancel()
            if hung:
                raise subprocess.TimeoutExpired(call, 30)
        return subprocess.CompletedProcess(call, program.returncode, json.dumps(heard).encode(), stderr)

    def kept(self, folder, stdout):
        # Clients whose connection was ended have a part; what they have is checked in either case.
        heard = [events("".join(lines)) for lines in json.loads(stdout)]
        whole = max(heard, key=len)
        for lines in heard:
            if lines != whole[:len(lines)]:
                raise Broken(f"gave {lines[-1]!r}, which no undisturbed run gives there")
        # The fault may have met one of them.
        if whole not in heard[2:]:
            raise Broken("no client after the fault has got its events")
        return whole

    def check_failed(self, folder, stdout, expected):
        for lines in json.loads(stdout):
            given = events("".join(lines))
            if given != expected[:len(given)]:
                raise Broken(f"gave {given[-1]!r}, which no undisturbed run gives there")

    def check_ended_early(self, folder, stdout, expected):
        for lines in json.loads(stdout):
            check_beginning(events("".join(lines)), expected)

    def check_other(self, folder, stdout, expected, code):
        for lines in json.loads(stdout):
            events("".join(lines))


SCENES = [Listen, ListenLive, Batch, Features, Inspect, Import, Quantize, Serve]


def sentence(stderr):
    """The program's own last words, without the folder of the run."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    return re.sub(r"/\S*/", "", lines[-1]) if lines else ""
