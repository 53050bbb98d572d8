"""Streams of runnel serve over WebSocket (docs/serve.md), with a client that is not ours: Debian's python3-websocket."""
import json
import threading

import way

try:
    import websocket
except ImportError:
    way.skip("no python3-websocket (scripts/install.sh browser)")

rate, channels, samples = way.read_wav(way.WAV)
with way.Serving("--http", "127.0.0.1:0") as listening:
    connection = websocket.create_connection(listening["http"].replace("http", "ws", 1) + "/stream", timeout=way.PATIENCE)

    def send_all():
        connection.send(json.dumps({"rate": rate, "channels": channels, "source": "samples"}))
        step = 1000 * 2 * channels
        for at in range(0, len(samples), step):
            connection.send_binary(samples[at:at + step])
        connection.send('{"type":"end"}')

    sender = threading.Thread(target=send_all)
    sender.start()
    lines = []
    try:
        while line := connection.recv():
            lines.append(json.loads(line))
    except websocket.WebSocketConnectionClosedException:
        pass
    sender.join()
assert lines[-1]["type"] == "summary", lines[-1]
way.write(lines)
