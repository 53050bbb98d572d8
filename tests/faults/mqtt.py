"""mqtt.py PORT FOLDER: a broker of MQTT 3.1.1 that keeps what is published with quality of service 1 in a file of its own, and has it on the
disk before it acknowledges. It has no subscribers. Port 0: any; FOLDER/port has it. As a module: that broker as a process."""
import os
import socket
import struct
import sys
import threading

from broker import Broker


class Mqtt(Broker):
    def call(self):
        path = os.path.join(self.folder.name, "port")
        if os.path.exists(path):
            os.remove(path)
        return [sys.executable, "-B", os.path.abspath(__file__), str(self.port), self.folder.name]

    def found_port(self):
        try:
            with open(os.path.join(self.folder.name, "port"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def published(self):
        """Topics and payloads, in their order, with what came again."""
        try:
            with open(os.path.join(self.folder.name, "published"), "rb") as file:
                data, found = file.read(), []
        except FileNotFoundError:
            return []
        while len(data) >= 8:
            topic, payload = struct.unpack("<II", data[:8])
            # Not acknowledged when its end is missing: it was killed here.
            if len(data) < 8 + topic + payload:
                break
            found.append((data[8:8 + topic].decode(), data[8 + topic:8 + topic + payload]))
            data = data[8 + topic + payload:]
        return found


def exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def packet(connection):
    """Its first byte and its body."""
    kind, length, shift = exactly(connection, 1)[0], 0, 0
    while True:
        byte = exactly(connection, 1)[0]
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return kind, exactly(connection, length)


def talk(connection, file, lock):
    try:
        while True:
            kind, body = packet(connection)
            if kind >> 4 == 1:  # CONNECT
                connection.sendall(b"\x20\x02\x00\x00")
            elif kind >> 4 == 3:  # PUBLISH
                size = struct.unpack(">H", body[:2])[0]
                topic, rest = body[2:2 + size], body[2 + size:]
                number, payload = (rest[:2], rest[2:]) if kind & 6 else (None, rest)
                with lock:
                    file.write(struct.pack("<II", len(topic), len(payload)) + topic + payload)
                    file.flush()
                    os.fsync(file.fileno())
                if number is not None:
                    connection.sendall(b"\x40\x02" + number)
            elif kind >> 4 == 8:  # SUBSCRIBE
                connection.sendall(b"\x90\x03" + body[:2] + b"\x01")
            elif kind >> 4 == 12:  # PINGREQ
                connection.sendall(b"\xd0\x00")
            elif kind >> 4 == 14:  # DISCONNECT
                return
    except (EOFError, OSError):
        pass
    finally:
        connection.close()


def main():
    port, folder = int(sys.argv[1]), sys.argv[2]
    path = os.path.join(folder, "published")
    # The part of a record that a kill has cut off is taken away.
    if os.path.exists(path):
        whole, size = 0, os.stat(path).st_size
        with open(path, "r+b") as file:
            while whole + 8 <= size:
                file.seek(whole)
                more = 8 + sum(struct.unpack("<II", file.read(8)))
                if whole + more > size:
                    break
                whole += more
            file.truncate(whole)
    with open(path, "ab") as file, socket.create_server(("127.0.0.1", port)) as listener:
        with open(os.path.join(folder, "port.part"), "w", encoding="ascii") as said:
            said.write(str(listener.getsockname()[1]))
        os.rename(os.path.join(folder, "port.part"), os.path.join(folder, "port"))
        lock = threading.Lock()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=talk, args=(connection, file, lock), daemon=True).start()


if __name__ == "__main__":
    main()
