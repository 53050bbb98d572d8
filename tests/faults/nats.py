"""A nats-server of the test's own, and as much of its protocol as reading what lies in its logs takes."""
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

SERVER = shutil.which("nats-server") or next((path for path in ("/usr/sbin/nats-server", "/usr/bin/nats-server") if os.path.exists(path)), None)


class Server:
    """With JetStream, on a port of its own. When it is killed, it is started again on the same port, unless `comes_back` is false."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="faults_nats_")
        self.port, self.comes_back, self.process = -1, True, None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.start()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def start(self):
        name = self.folder.name
        ports = [one for one in os.listdir(name) if one.endswith(".ports")]
        for one in ports:
            os.remove(os.path.join(name, one))
        config = os.path.join(name, "server.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f'listen: "127.0.0.1:{self.port}"\njetstream {{store_dir: "{name}/store"}}\nports_file_dir: "{name}"\nmax_payload: 2MB\n')
        with open(os.path.join(name, "log"), "ab") as log:
            self.process = subprocess.Popen([SERVER, "-c", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(1000):
            for one in os.listdir(name):
                try:
                    if one.endswith(".ports"):
                        with open(os.path.join(name, one), encoding="ascii") as file:
                            self.port = int(json.load(file)["nats"][0].rsplit(":", 1)[1])
                        return
                except (ValueError, KeyError, IndexError):
                    pass  # it is being written
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError("nats-server does not start")

    def _look(self):
        while not self._ended.wait(0.1):
            with self._lock:
                if self.process.poll() is not None and self.comes_back:
                    self.start()

    def is_there(self):
        """Starts it when it was killed, wakes it when it was stopped."""
        with self._lock:
            if self.process.poll() is not None:
                self.start()
            self.process.send_signal(signal.SIGCONT)

    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def end(self):
        self._ended.set()
        self._watch.join()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, subject, request=None):
        """The answer of JetStream's interface as an object; None: no answer, or a refusal."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                lines = connection.makefile("rb")
                lines.readline()
                body = json.dumps(request or {}).encode()
                connection.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nSUB _INBOX.faults 1\r\n'
                                   + f"PUB {subject} _INBOX.faults {len(body)}\r\n".encode() + body + b"\r\nPING\r\n")
                while True:
                    words = lines.readline().split()
                    if not words:
                        return None
                    if words[0] == b"MSG":
                        answer = json.loads(lines.read(int(words[-1])))
                        return None if "error" in answer else answer
                    if words[0] == b"HMSG":
                        return None  # nobody answers
        except (OSError, ValueError):
            return None

    def message(self, log, **which):
        """A message of a log by `seq` or `last_by_subj`: subject, headers, data; None: there is none."""
        answer = self.ask(f"$JS.API.STREAM.MSG.GET.{log}", which)
        if answer is None:
            return None
        one = answer["message"]
        lines = base64.b64decode(one.get("hdrs", "")).decode().split("\r\n")[1:]
        return one["subject"], dict(line.split(":", 1) for line in lines if ":" in line), base64.b64decode(one.get("data", ""))

    def messages(self, log):
        """All of a log, in its order; the server must answer."""
        for _ in range(50):
            facts = self.ask(f"$JS.API.STREAM.INFO.{log}")
            if facts is not None:
                break
            time.sleep(0.1)
        else:
            raise OSError(f"the server does not answer for {log}")
        found = [self.message(log, seq=number) for number in range(facts["state"]["first_seq"], facts["state"]["last_seq"] + 1)]
        return [one for one in found if one is not None]
