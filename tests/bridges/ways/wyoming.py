"""The Wyoming protocol, as Home Assistant's satellites send it (docs/smart-home.md)."""
import json
import socket
import threading

import way

rate, channels, samples = way.read_wav(way.WAV)
FORMAT = {"rate": rate, "width": 2, "channels": channels}


def receive(stream):
    """The next event: its type and its data; None at the end."""
    line = stream.readline()
    if not line:
        return None
    header = json.loads(line)
    data = dict(header.get("data") or {})
    if header.get("data_length"):
        data.update(json.loads(stream.read(header["data_length"])))
    stream.read(header.get("payload_length") or 0)
    return header["type"], data


with way.Serving("--wyoming", "127.0.0.1:0") as listening, \
        socket.create_connection(way.address_of(listening["wyoming"])) as connection:
    def send(kind, data=None, payload=b""):
        header, text = {"type": kind, "version": "1.7.0"}, b""
        if data:
            text = json.dumps(data).encode()
            header["data_length"] = len(text)
        if payload:
            header["payload_length"] = len(payload)
        connection.sendall(json.dumps(header).encode() + b"\n" + text + payload)

    def send_all():
        send("detect", {"names": names})
        send("audio-start", FORMAT | {"timestamp": 0})
        step = 1024 * 2 * channels
        for at in range(0, len(samples), step):
            send("audio-chunk", FORMAT | {"timestamp": at // (2 * channels) * 1000 // rate}, samples[at:at + step])
        send("audio-stop", {"timestamp": None})
        connection.shutdown(socket.SHUT_WR)

    stream = connection.makefile("rb")
    send("describe")
    kind, info = receive(stream)
    assert kind == "info", kind
    names = [model["name"] for program in info["wake"] for model in program["models"]]
    sender = threading.Thread(target=send_all)
    sender.start()
    records = []
    while (event := receive(stream)) is not None:
        kind, data = event
        assert kind in ("detection", "not-detected"), event
        if kind == "detection":
            assert data["name"] == data["runnel"]["label"], data
            assert data["timestamp"] == round(1000 * data["runnel"]["end"]), data
            records.append(data["runnel"])
    sender.join()
    way.write(records)
