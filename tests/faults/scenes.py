"""What is disturbed: calls of the program, what each must have left behind, and how it goes on after a fault."""
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
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


class Scene:
    """One verb at work in a folder of its own. `paths`: of the program, the source tree and the models."""

    name = ""
    # Files that may be there after a fault, besides those of an undisturbed run.
    may_leave = ()

    def __init__(self, paths):
        self.paths = paths

    def missing(self):
        """Why it cannot be played here; None: it can."""
        return None

    def go(self, call, environment):
        """Runs the call, which may be one that injects a fault around that of prepare()."""
        return injectors.run(call, environment)

    def prepare(self, folder):
        """The call, after its input was made."""
        raise NotImplementedError

    def kept(self, folder, stdout):
        """What a finished run has given: compared with that of the undisturbed one."""
        raise NotImplementedError

    def check_failed(self, folder, stdout, expected):
        """After a run that ended with a fault: raises Broken unless what is there is whole, and going on gives what was expected."""
        raise NotImplementedError


class ToStdout(Scene):
    """Gives lines: after a fault those of the beginning, each whole."""

    def kept(self, folder, stdout):
        return events(stdout)

    def check_failed(self, folder, stdout, expected):
        # A killed program may leave a line cut in a pipe; a whole one must be the next that was expected.
        given = events(stdout)
        if given != expected[:len(given)]:
            raise Broken(f"gave {given[-1]!r}, which no undisturbed run gives there")


class Listen(ToStdout):
    name = "listen"

    def prepare(self, folder):
        return [self.paths.program, "listen", self.paths.model, "--wav", self.paths.recording, "--decision", DETECT]


class Inspect(ToStdout):
    name = "inspect"

    def prepare(self, folder):
        return [self.paths.program, "inspect", self.paths.model]

    def kept(self, folder, stdout):
        return stdout.splitlines(keepends=True)

    def check_failed(self, folder, stdout, expected):
        if not "".join(expected).startswith(stdout):
            raise Broken(f"said {stdout!r}")


class ToFile(Scene):
    """Writes one file: it is there whole or not at all."""

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


class Import(ToFile):
    name = "import"

    def prepare(self, folder):
        return [self.paths.program, "import", self.paths.onnx, "-o", os.path.join(folder, self.output), "--name", "m"]


class Quantize(ToFile):
    name = "quantize"

    def prepare(self, folder):
        return [self.paths.program, "quantize", self.paths.onnx, "--table", self.paths.table, "--layout", "frames-first", "--front-end",
                "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600", "-o", os.path.join(folder, self.output), "--name", "m", "--quiet"]


class Features(ToFile):
    name, output = "features", "made.npy"

    def prepare(self, folder):
        return [self.paths.program, "features", "--preset", "kaldi80", self.paths.recording, "--output", os.path.join(folder, self.output)]


class Batch(Scene):
    """Over recordings: after any fault --resume gives the bytes of an undisturbed run."""

    name = "batch"
    may_leave = ("made.jsonl", "made.jsonl.part", "made.jsonl.journal")

    def prepare(self, folder):
        sounds = os.path.join(folder, "sounds")
        os.makedirs(sounds)
        for name in ("a.wav", "b.wav", "c.wav"):
            shutil.copy(self.paths.recording, os.path.join(sounds, name))
        return [self.paths.program, "batch", self.paths.model, sounds, "--no-timing", "--jobs", "2", "--decision", DETECT, "--progress", "0",
                "--output", os.path.join(folder, "made.jsonl")]

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

        def of_others(text):
            found = [json.loads(line) for line in text.splitlines()]
            return [record for record in found if record["type"] != "summary" and record["source"] not in failed]

        if of_others(kept) != of_others(expected):
            raise Broken("a recording that failed has changed the others")

    def call_of(self, folder):
        return [self.paths.program, "batch", self.paths.model, os.path.join(folder, "sounds"), "--no-timing", "--jobs", "2", "--decision", DETECT,
                "--progress", "0", "--output", os.path.join(folder, "made.jsonl")]




class Serving(Scene):
    """A server that is disturbed while two clients speak; a third comes after them."""

    def read(self):
        with wave.open(self.paths.recording, "rb") as file:
            return file.getframerate(), file.readframes(file.getnframes())


class Serve(Serving):
    """A client has all of its events, or an end that says so, and the events until there; the next one has all of them."""

    name = "serve"

    def prepare(self, folder):
        self.folder = folder
        return [self.paths.program, "serve", self.paths.model, "--listen", "127.0.0.1:0", "--decision", DETECT]

    def speak(self, address, lines):
        rate, samples = self.read()
        try:
            with socket.create_connection(address, timeout=30) as connection:
                def send(message):
                    connection.sendall(struct.pack("<I", len(message)) + message)

                send(json.dumps({"rate": rate, "channels": 1, "source": "samples"}).encode())
                for at in range(0, len(samples), 16000):
                    send(samples[at:at + 16000])
                send(b"")
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
            heard = [[], [], []]
            try:
                host, port = json.loads(first)["address"].rsplit(":", 1)
            except ValueError:  # it has ended
                host = None
            if host is not None:
                together = [threading.Thread(target=self.speak, args=((host, int(port)), lines)) for lines in heard[:2]]
                for one in together:
                    one.start()
                for one in together:
                    one.join()
                self.speak((host, int(port)), heard[2])
            self.end(program, call)
            _, stderr = program.communicate()
            hung = not guard.is_alive()
            guard.cancel()
            if hung:
                raise subprocess.TimeoutExpired(call, 30)
        return subprocess.CompletedProcess(call, program.returncode, json.dumps(heard).encode(), stderr)

    @staticmethod
    def end(program, call):
        """SIGTERM for the program itself, which may be a child of strace."""
        if program.poll() is not None:
            return
        children = []
        if call[0] == injectors.STRACE:
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="ascii") as file:
                children = file.read().split()
        for pid in children or [program.pid]:
            try:
                os.kill(int(pid), signal.SIGTERM)
            except ProcessLookupError:
                pass

    def kept(self, folder, stdout):
        # Clients whose connection was ended have a part; what they have is checked in either case.
        heard = [events("".join(lines)) for lines in json.loads(stdout)]
        whole = max(heard, key=len)
        for lines in heard:
            if lines != whole[:len(lines)]:
                raise Broken(f"gave {lines[-1]!r}, which no undisturbed run gives there")
        if heard[2] != whole:
            raise Broken("the client after the fault has not got its events")
        return whole

    def check_failed(self, folder, stdout, expected):
        for lines in json.loads(stdout):
            given = events("".join(lines))
            if given != expected[:len(given)]:
                raise Broken(f"gave {given[-1]!r}, which no undisturbed run gives there")


SCENES = [Listen, Batch, Features, Inspect, Import, Quantize, Serve]


def sentence(stderr):
    """The program's own last words, without the folder of the run."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    return re.sub(r"/\S*/", "", lines[-1]) if lines else ""
