"""A nats-server of the test's own, and as much of its protocol as reading what lies in its logs takes."""
import base64
import json
import os
import shutil
import socket
import time

from broker import Broker

SERVER = shutil.which("nats-server") or next((path for path in ("/usr/sbin/nats-server", "/usr/bin/nats-server") if os.path.exists(path)), None)


class Server(Broker):
    """With JetStream."""

    def call(self):
        name = self.folder.name
        for one in os.listdir(name):
            if one.endswith(".ports"):
                os.remove(os.path.join(name, one))
        config = os.path.join(name, "server.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(f'listen: "127.0.0.1:{self.port or -1}"\njetstream {{store_dir: "{name}/store"}}\nports_file_dir: "{name}"\nmax_payload: 2MB\n')
        return [SERVER, "-c", config]

    def found_port(self):
        for one in os.listdir(self.folder.name):
            if not one.endswith(".ports"):
                continue
            try:
                with open(os.path.join(self.folder.name, one), encoding="ascii") as file:
                    return int(json.load(file)["nats"][0].rsplit(":", 1)[1])
            except (ValueError, KeyError, IndexError):
                pass  # it is being written
        return None

    def url(self):
        return f"nats://127.0.0.1:{self.port}"

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
