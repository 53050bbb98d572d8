"""What the ways have in common: each is a program that sends the recording WAV through one bridge and writes the events that come
out, as lines of JSON, to the file EVENTS. A way whose samples are not those of WAV writes them to the recording HEARD, and the
events are those about that. Exit code 77: the way cannot be gone here, and the last line on stderr says why."""
import json
import os
import subprocess
import sys
import time

RUNNEL = os.environ["RUNNEL"]
MODEL = os.environ["MODEL"]
WAV = os.environ["WAV"]
DECISION = os.environ.get("DECISION", "")  # empty: the model's own
FOLDER = os.environ["FOLDER"]  # of this way alone
BUILD = os.environ["BUILD"]
EVENTS = os.path.join(FOLDER, "events.jsonl")
HEARD = os.path.join(FOLDER, "heard.wav")
PATIENCE = 60  # seconds, for whatever a busy machine may take


def skip(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)


def note(text):
    """A remark on the row of the table."""
    with open(os.path.join(FOLDER, "note"), "w", encoding="utf-8") as out:
        out.write(text)


def decision():
    return ["--decision", DECISION] if DECISION else []


def write(records):
    """Writes the events among these records or lines."""
    with open(EVENTS, "w", encoding="utf-8") as out:
        for record in records:
            if isinstance(record, (str, bytes)):
                record = json.loads(record)
            if record.get("type") == "event":
                out.write(json.dumps(record) + "\n")


def output_of(call, **more):
    return subprocess.run(call, check=True, stdout=subprocess.PIPE, timeout=PATIENCE, **more).stdout


def until(condition, what):
    """Waits for a condition; its value."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    sys.exit(f"{what}: not within {PATIENCE} s")


def read_wav(path):
    """Rate, channels and bytes of a recording of 16 bits."""
    import wave

    with wave.open(path, "rb") as wav:
        assert wav.getsampwidth() == 2
        return wav.getframerate(), wav.getnchannels(), wav.readframes(wav.getnframes())


class Serving:
    """`runnel serve` with further options, until the end of the block; gives its first record."""

    def __init__(self, *options):
        self.program = subprocess.Popen([RUNNEL, "serve", MODEL, "--listen", "127.0.0.1:0", *decision(), *options],
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        return json.loads(self.program.stdout.readline())

    def __exit__(self, *_):
        self.program.terminate()
        self.program.communicate(timeout=PATIENCE)


def address_of(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)
