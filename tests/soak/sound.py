"""What the soak sends, and the events that it must give: made once, offline."""
import array
import json
import subprocess
import wave

RATE = 16000
# Few labels are ignored and the threshold is low, so that much is decided.
DECISION = "detect smoothing_frames=5 threshold=0.1 release=0.05 refractory_frames=5"


def bare(line):
    """An event without the name of its stream."""
    event = json.loads(line) if isinstance(line, str) else dict(line)
    event.pop("source", None)
    return event


class Recording:
    """Samples of 16 bits as bytes, and the events of an offline run."""

    def __init__(self, samples):
        self.samples = samples
        self.events = []

    @property
    def seconds(self):
        return len(self.samples) / 2 / RATE


class Sounds:
    """Recordings of several lengths from one, each with another beginning and another level; and one without an end."""

    def __init__(self, path, seconds, folder):
        with wave.open(path, "rb") as file:
            if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (RATE, 1, 2):
                raise SystemExit(f"soak: {path}: expected one channel of 16 bits at {RATE} Hz")
            self.source = array.array("h", file.readframes(file.getnframes()))
        self.folder = folder
        self.recordings = []
        for i, length in enumerate(seconds):
            level = 1 - 0.1 * i
            start = len(self.source) * i // len(seconds)
            turned = self.source[start:] + self.source[:start]
            count = int(length * RATE)
            samples = array.array("h", (int(level * value) for value in turned))
            samples *= count // len(samples) + 1
            self.recordings.append(Recording(samples[:count].tobytes()))
        self.endless = self.source.tobytes()

    def piece(self, first, count):
        """Bytes of the samples [first, first + count) of the recording without an end."""
        period = len(self.endless)
        at, left, parts = 2 * first % period, 2 * count, []
        while left > 0:
            part = self.endless[at:at + left]
            parts.append(part)
            left -= len(part)
            at = 0
        return b"".join(parts)

    def listen_offline(self, program, model):
        """The events of each recording."""
        for i, recording in enumerate(self.recordings):
            path = f"{self.folder}/{i}.wav"
            with wave.open(path, "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(RATE)
                file.writeframes(recording.samples)
            done = subprocess.run([program, "listen", model, "--wav", path, "--decision", DECISION], stdout=subprocess.PIPE, check=True, timeout=600)
            recording.events = [bare(line) for line in done.stdout.decode().splitlines() if '"type":"event"' in line]
            if not recording.events:
                raise SystemExit("soak: the recordings have no events: nothing could be compared")

    def endless_offline(self, program, model, count):
        """The events of the first `count` samples of the recording without an end."""
        call = [program, "listen", model, "--stdin", "--decision", DECISION]
        with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process, open(f"{self.folder}/endless", "wb") as out:
            import threading
            reader = threading.Thread(target=lambda: out.write(process.stdout.read()))
            reader.start()
            for first in range(0, count, RATE):
                process.stdin.write(self.piece(first, min(RATE, count - first)))
            process.stdin.close()
            reader.join()
            if process.wait() != 0:
                raise SystemExit(f"soak: listen over the same samples ends with exit code {process.returncode}")
        with open(f"{self.folder}/endless", encoding="utf-8") as file:
            return [bare(line) for line in file if '"type":"event"' in line]
