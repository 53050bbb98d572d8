#!/usr/bin/python3
"""page_streams.py URL RECORDING STREAMS SEEN: sends a recording (WAV, 16 bits, mono) to a server's /stream over WebSocket, so many times at once, and prints what comes back.

Until the file SEEN exists, at about twice the pace of the sound, and its last piece waits; then as fast as the server takes it. Needs Debian's python3-websocket.
"""
import json
import os
import sys
import threading
import time
import wave

import websocket

NAMES = ["kitchen", "hall", "garden", "attic"]


def stream(url, recording, name, seen, lines):
    with wave.open(recording) as sound:
        rate, samples = sound.getframerate(), sound.readframes(sound.getnframes())
    socket = websocket.create_connection(url.replace("http", "ws", 1) + "/stream", timeout=60)
    socket.send(json.dumps({"source": name, "rate": rate}))

    def speak():
        for at in range(0, len(samples), 6400):
            last = at + 6400 >= len(samples)
            end = time.monotonic() + (60 if last else 0.1)
            while time.monotonic() < end and not os.path.exists(seen):
                time.sleep(0.02)
            socket.send_binary(samples[at:at + 6400])
        socket.send('{"type":"end"}')

    speaker = threading.Thread(target=speak)
    speaker.start()
    try:
        while line := socket.recv():
            lines.append(line)
    except websocket.WebSocketConnectionClosedException:
        pass
    speaker.join()


def main(url, recording, streams, seen):
    lines = [[] for _ in range(int(streams))]
    threads = [threading.Thread(target=stream, args=(url, recording, NAMES[i], seen, lines[i])) for i in range(int(streams))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in lines:
        if not each or json.loads(each[-1])["type"] != "summary":
            sys.exit(f"a stream ended with {each[-1:]}")
        print("\n".join(each))


if __name__ == "__main__":
    main(*sys.argv[1:])
