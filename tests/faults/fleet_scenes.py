"""Verbs of a fleet, disturbed: whatever happens, another run of the verb completes the work, and nothing is there twice or missing."""
import itertools
import json
import os
import subprocess
import tempfile
import time

import mqtt
import nats
from scenes import DETECT, Broken, Scene, ToStdout, events

STREAMS = ("hall", "yard")


class Fleet(Scene):
    """With a broker of its own for all runs; each run has names of its own there."""

    share = 0.3
    short = ("write: EIO", "send: ECONNRESET", "receive: ECONNRESET", "allocation", "clock back", "SIGTERM", "SIGKILL", "broker: killed", "broker: stopped")

    def missing(self):
        return None if nats.SERVER else "nats-server is not installed (scripts/install.sh nats)"

    def begin(self):
        self.broker = nats.Server()
        self.numbers = itertools.count(1)

    def end(self):
        self.broker.end()

    def name_run(self):
        self.number = next(self.numbers)
        self.logs = {"--input-log": f"IN_{self.number}", "--streams": f"audio.{self.number}.>"}

    def finish(self, program, call, done, seconds):
        """Waits until done() or the end of the program, then asks it to end; its exit code and words."""
        end = time.monotonic() + seconds
        while program.poll() is None and not done() and time.monotonic() < end:
            time.sleep(0.05)
        if program.poll() is None:
            program.terminate()
        try:
            return program.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            program.kill()
            program.communicate()
            raise

    def start(self, call, environment, **more):
        return subprocess.Popen(call, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


class Work(Fleet):
    """Two streams wait in the log. A worker is disturbed; where it has ended before the work, a second one completes it."""

    name = "work"
    short = ("send: ECONNRESET", "allocation", "SIGKILL", "broker: killed", "broker: stopped")

    def prepare(self, folder):
        self.name_run()
        for stream in STREAMS:
            sent = subprocess.run([self.paths.program, "send", self.broker.url(), "--stream", f"audio.{self.number}.{stream}", "--wav", self.paths.recording,
                                   "--run", "1", "--chunk", "1000", *itertools.chain(*self.logs.items())], capture_output=True, check=False)
            if sent.returncode != 0:
                raise OSError(sent.stderr.decode())
        self.model = self.take(folder, self.paths.model)
        return self.call()

    def call(self):
        return [self.paths.program, "work", self.model, "--nats", self.broker.url(), "--decision", DETECT, "--save", "0.2", "--events", f"events.{self.number}",
                "--events-log", f"OUT_{self.number}", "--bucket", f"f{self.number}", *itertools.chain(*self.logs.items())]

    def done(self):
        for stream in STREAMS:
            entry = self.broker.message(f"KV_f{self.number}", last_by_subj=f"$KV.f{self.number}.s.audio.{self.number}.{stream}")
            if entry is None or entry[1].get("Runnel-Ended", "").strip() != "1":
                return False
        return True

    def go(self, call, environment):
        program = self.start(call, environment)
        stdout, stderr = self.finish(program, call, lambda: self.done() or self.broker.is_away(), 15)
        code = program.returncode
        self.broker.is_there()
        if not self.done():
            # As its owner starts it again, or as others that were there all the time.
            model = os.path.basename(self.paths.model)
            with tempfile.TemporaryDirectory() as other:
                self.model = self.take(other, self.paths.model)
                second = self.start(self.call(), {})
                _, words = self.finish(second, call, self.done, 40)
            if not self.done():
                raise Broken(f"{model}: a second worker does not complete the work: {stderr.decode()} {words.decode()}")
        return subprocess.CompletedProcess(call, code, json.dumps(self.events()).encode(), stderr)

    def events(self):
        """Of each stream, with their numbers."""
        found = {stream: [] for stream in STREAMS}
        for subject, headers, data in self.broker.messages(f"OUT_{self.number}"):
            words = json.loads(data)
            words["source"] = ""
            found[subject.rsplit(".", 1)[1]].append([headers["Runnel-Event"].strip(), words])
        return found

    def kept(self, folder, stdout):
        found = json.loads(stdout)
        for stream, events in found.items():
            if [number for number, _ in events] != [str(i + 1) for i in range(len(events))]:
                raise Broken(f"{stream} has the events {[number for number, _ in events]}")
        return found

    def check_failed(self, folder, stdout, expected):
        if self.kept(folder, stdout) != expected:
            raise Broken("events are lost, or there twice")

    def check_other(self, folder, stdout, expected, code):
        # A model that was another one before it was read.
        self.kept(folder, stdout)


class Send(Fleet):
    """A recording goes into a log, and what is not stored into a spool. The same call again completes it."""

    name, writes_files = "send", True
    may_leave = ("spool",)
    disk_pages = 260  # of a spool of 1 MiB

    def prepare(self, folder):
        self.name_run()
        recording = self.take(folder, self.paths.recording)
        self.call = [self.paths.program, "send", self.broker.url(), "--stream", f"audio.{self.number}.{STREAMS[0]}", "--wav", recording, "--spool",
                     os.path.join(folder, "spool"), "--spool-size", "1", "--drain", "0.5", *itertools.chain(*self.logs.items())]
        return self.call

    def go(self, call, environment):
        program = self.start(call, environment)
        stdout, stderr = self.finish(program, call, self.broker.is_away, 20)
        self.broker.is_there()
        return subprocess.CompletedProcess(call, program.returncode, stdout, stderr)

    def kept(self, folder, stdout):
        """The samples that the log has, in its order, as a reader takes them."""
        samples, ended, run = bytearray(), False, None
        for _, headers, data in self.broker.messages(f"IN_{self.number}"):
            facts = {name: value.strip() for name, value in headers.items()}
            if run is not None and facts["Runnel-Run"] != run:
                raise Broken("the log has two runs of one recording")
            run, first = facts["Runnel-Run"], 2 * int(facts["Runnel-First"])
            if first != len(samples):
                raise Broken(f"the log has a chunk from sample {first // 2} on after sample {len(samples) // 2}")
            samples += data
            ended = ended or facts.get("Runnel-End") == "1"
        if not ended:
            raise Broken(f"the run in the log has no end: {len(samples) // 2} samples")
        return bytes(samples)

    def check_failed(self, folder, stdout, expected):
        again = subprocess.run(self.call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        if again.returncode != 0:
            raise Broken(f"the same call again fails: {again.stderr.decode()}")
        if self.kept(folder, stdout) != expected:
            raise Broken("the log has other samples than the recording")

    def check_other(self, folder, stdout, expected, code):
        if code == 0:
            self.kept(folder, stdout)


class Publish(ToStdout):
    """Events of a recording go to a broker of MQTT. What the program does not complain about has come, at least once."""

    name, share, short = "listen, MQTT", 0.5, Fleet.short

    def begin(self):
        self.broker = mqtt.Mqtt()
        self.numbers = itertools.count(1)

    def end(self):
        self.broker.end()

    def missing(self):
        done = subprocess.run([self.paths.program, "inspect", "mqtt"], capture_output=True, check=False)
        return None if done.returncode == 0 else "the program has no MQTT"

    def prepare(self, folder):
        self.topic = f"heard/{next(self.numbers)}"
        return [self.paths.program, "listen", self.take(folder, self.paths.model), "--wav", self.take(folder, self.paths.recording), "--decision", DETECT,
                "--mqtt", self.topic, "--broker", f"127.0.0.1:{self.broker.port}"]

    def published(self, folder):
        return [payload.decode().replace(folder, "") for topic, payload in self.broker.published() if topic == self.topic]

    def kept(self, folder, stdout):
        given = events(stdout)
        missing = set(line.strip() for line in given) - set(line.strip() for line in self.published(folder))
        if missing:
            raise Broken(f"exit code 0, but the broker has not got {missing}")
        return given

    def check_failed(self, folder, stdout, expected):
        ToStdout.check_failed(self, folder, stdout, expected)
        self.check_published(folder, expected)

    def check_published(self, folder, expected):
        other = set(line.strip() for line in self.published(folder)) - set(line.strip() for line in expected)
        if other:
            raise Broken(f"published {other}, which no undisturbed run gives")


SCENES = [Publish, Send, Work]
