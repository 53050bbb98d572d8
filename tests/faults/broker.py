"""A server as a process of its own that may be killed and stopped, and is started again on its port unless that is not wanted yet."""
import signal
import subprocess
import tempfile
import threading
import time


class Broker:
    """`port` is chosen by the first start. When the process is killed, it is started again at once if `comes_back`."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="faults_broker_")
        self.port, self.comes_back, self.process = 0, True, None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.start()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def call(self):
        """What is started, for `port`; 0: any."""
        raise NotImplementedError

    def found_port(self):
        """The port, once it listens; None: not yet."""
        raise NotImplementedError

    def start(self):
        with open(f"{self.folder.name}/log", "ab") as log:
            self.process = subprocess.Popen(self.call(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(3000):
            port = self.found_port()
            if port is not None:
                self.port = port
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        with open(f"{self.folder.name}/log", encoding="utf-8", errors="replace") as log:
            raise OSError(f"{self.call()[0]} does not start: {log.read()[-500:]}")

    def _look(self):
        while not self._ended.wait(0.1):
            with self._lock:
                if self.process.poll() is not None and self.comes_back:
                    self.start()

    def is_there(self):
        """Starts it when it was killed, wakes it when it was stopped."""
        with self._lock:
            self.comes_back = True
            if self.process.poll() is not None:
                self.start()
            self.process.send_signal(signal.SIGCONT)

    def is_away(self):
        return not self.comes_back and self.process.poll() is not None

    def end(self):
        self._ended.set()
        self._watch.join()
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
