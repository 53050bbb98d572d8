#!/usr/bin/env python3
"""A server with two models over the Wyoming protocol: `transcribe` gives the text that `listen` writes, and `detect` finds words for the
same client. Usage: wyoming_text.py PROGRAM MODELS-FOLDER RECORDING..., of which the first that exists is taken."""
import json
import os
import socket
import subprocess
import sys
import threading
import wave

PATIENCE = 120


def receive(stream):
    """The next event: its type and its data."""
    header = json.loads(stream.readline())
    data = dict(header.get("data") or {})
    if header.get("data_length"):
        data.update(json.loads(stream.read(header["data_length"])))
    stream.read(header.get("payload_length") or 0)
    return header["type"], data


def listen(runnel, model, recording):
    call = [runnel, "listen", model, "--wav", recording]
    lines = subprocess.run(call, check=True, stdout=subprocess.PIPE, timeout=PATIENCE).stdout.splitlines()
    return [json.loads(line) for line in lines]


def main():
    runnel, models = sys.argv[1:3]
    recording = next(path for path in sys.argv[3:] if os.path.exists(path))
    digits, commands = f"{models}/digits/digits.rnl", f"{models}/commands/commands.rnl"
    with wave.open(recording, "rb") as wav:
        sound = {"rate": wav.getframerate(), "width": wav.getsampwidth(), "channels": wav.getnchannels()}
        samples = wav.readframes(wav.getnframes())
    step = 1024 * sound["width"] * sound["channels"]
    server = subprocess.Popen([runnel, "serve", digits, "--wyoming", "127.0.0.1:0", "--also", commands], stdout=subprocess.PIPE)
    try:
        host, port = json.loads(server.stdout.readline())["wyoming"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
            stream = connection.makefile("rb")

            def send(kind, data=None, payload=b""):
                header = {"type": kind, "data": data or {}, "payload_length": len(payload)}
                connection.sendall(json.dumps(header).encode() + b"\n" + payload)

            def send_sound():
                send("audio-start", sound)
                for at in range(0, len(samples), step):
                    send("audio-chunk", sound, samples[at:at + step])
                send("audio-stop")
                send("ping", {"text": "over"})

            def hear(kind, data):
                send(kind, data)
                sender = threading.Thread(target=send_sound)
                sender.start()
                events = []
                while (event := receive(stream))[0] != "pong":
                    events.append(event)
                sender.join()
                return events

            send("describe")
            kind, info = receive(stream)
            assert kind == "info", kind
            names = [model["name"] for program in info["asr"] for model in program["models"]]
            assert names == ["commands"], names
            texts = [line["text"] for line in listen(runnel, commands, recording) if line["type"] == "final"]
            events = hear("transcribe", {"name": "commands", "language": "en-GB"})
            assert events == [("transcript", {"text": " ".join(text for text in texts if text)})], (events, texts)
            print("text:", events[0][1]["text"])
            found = [(line["label"], line["frame"]) for line in listen(runnel, digits, recording) if line["type"] == "event"]
            events = hear("detect", {"names": ["digits"]})
            heard = [(data["name"], data["runnel"]["frame"]) for kind, data in events if kind == "detection"]
            assert heard == found, (heard, found)
            send("transcribe", {"name": "commands", "language": "de"})
            kind, data = receive(stream)
            assert kind == "error" and "language" in data["text"], (kind, data)
    finally:
        server.terminate()
        lines = server.communicate(timeout=PATIENCE)[0].splitlines()
    assert server.returncode == 0, server.returncode
    counted = json.loads(lines[0])
    assert (counted["type"], counted["clients"], counted["requests"], counted["errors"]) == ("wyoming", 1, 2, 1), counted


if __name__ == "__main__":
    main()
