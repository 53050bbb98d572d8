"""The own protocol of runnel serve (docs/serve.md)."""
import json
import socket
import struct
import threading

import way

rate, channels, samples = way.read_wav(way.WAV)
with way.Serving() as listening, socket.create_connection(way.address_of(listening["address"])) as connection:
    def send(message):
        connection.sendall(struct.pack("<I", len(message)) + message)

    def send_all():
        send(json.dumps({"rate": rate, "channels": channels, "source": "samples"}).encode())
        step = 1000 * 2 * channels
        for at in range(0, len(samples), step):
            send(samples[at:at + step])
        send(b"")

    sender = threading.Thread(target=send_all)
    sender.start()
    way.write(connection.makefile("rb"))
    sender.join()
