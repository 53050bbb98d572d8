#!/usr/bin/python3
"""bridge_pictures.py FOLDER: takes pictures of bridges at work, each from a real run: FOLDER/gstreamer.png, the pipeline of docs/gstreamer.md as GStreamer itself
draws it while it plays; FOLDER/pipewire.png, the graph of a PipeWire daemon of its own as pw-dot draws it; FOLDER/smart-home.png, a terminal with what a broker
has of `listen --discovery`. (The page of the browser's microphone: page_microphone.sh; that of WebAssembly: wasm.sh.)

RUNNEL_BUILD: a release build (default: build). RUNNEL_RECORDING: spoken digits, 16 kHz (default: the first of RUNNEL_TEST_DATA). Ends with 77 when a tool is
missing: scripts/install.sh pictures gstreamer pipewire browser test.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, f"{ROOT}/tests/bridges/pipewire")
from own_pipewire import OwnPipeWire  # noqa: E402

BUILD = os.path.abspath(os.environ.get("RUNNEL_BUILD", f"{ROOT}/build"))
RUNNEL = f"{BUILD}/runnel"
MODEL = f"{BUILD}/models/digits/digits.rnl"
RECORDING = os.environ.get("RUNNEL_RECORDING") or os.path.join(os.environ.get("RUNNEL_TEST_DATA", ""), "digits/stitched_90s.wav")
MOST = 60000  # bytes of a picture
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
TOOLS = ("dot", "gst-launch-1.0", "pipewire", "pw-link", "pw-dot", "mosquitto", "mosquitto_sub")


def run(*call, **more):
    return subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def wait_for(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within a minute")
        time.sleep(0.05)


def keep(picture, folder, name):
    size = os.path.getsize(picture)
    if size > MOST:
        sys.exit(f"{name} has {size} bytes, expected at most {MOST}")
    shutil.move(picture, f"{folder}/{name}")
    print(f"{name}: {size} bytes")


def draw(graph, picture, *options):
    run("dot", "-Tpng", *options, graph, "-o", picture)


def gstreamer(work):
    # The names of elements and files as in the page.
    os.symlink(os.path.abspath(RECORDING), f"{work}/digits.wav")
    environment = os.environ | {"GST_PLUGIN_PATH_1_0": f"{BUILD}/lib/gstreamer-1.0", "GST_REGISTRY_1_0": f"{work}/registry.bin", "GST_DEBUG_DUMP_DOT_DIR": work,
                                "GST_REGISTRY_FORK": "no"}
    run("gst-launch-1.0", "-q", *f"filesrc location=digits.wav ! wavparse ! runnel name=r model={MODEL} ! queue ! fakesink async=false "
        "r.text ! queue ! filesink async=false location=events.jsonl".split(), cwd=work, env=environment)
    if os.path.getsize(f"{work}/events.jsonl") == 0:
        sys.exit("the pipeline found no event")
    graph = next(name for name in os.listdir(work) if name.endswith("PLAYING_PAUSED.dot"))   # by then its formats are agreed
    with open(f"{work}/{graph}", encoding="utf-8") as read:
        text = re.sub(r"last-sample=[^\n]*?0x[0-9a-f]+\)(\\n)?", "", read.read().replace(os.path.dirname(MODEL) + "/", ""))
    with open(f"{work}/short.dot", "w", encoding="utf-8") as out:
        out.write(text)
    draw(f"{work}/short.dot", f"{work}/picture.png", "-Gdpi=60", "-Gnodesep=.1", "-Granksep=.2")
    return f"{work}/picture.png"


def pipewire(work):
    with OwnPipeWire(work, 1024) as own:
        ears = own.start("ears", [RUNNEL, "run", "pipewire target=none label=ears ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! "
                                  f"infer model={MODEL} ! detect threshold=0.85 ! jsonl"])
        mouth = own.start("mouth", [RUNNEL, "run", f"wav path={RECORDING} ! pipewire target=none label=mouth"])
        own.link("mouth:output_MONO", "ears:input_MONO", ears, mouth)
        own.until(lambda: '"event"' in own.text_of("ears.out"), ears, mouth)
        run("pw-dot", "-s", "-L", "-o", f"{work}/graph.dot", env=own.environment)
        ears.send_signal(signal.SIGINT)
        ears.wait()
    draw(f"{work}/graph.dot", f"{work}/picture.png", "-Gdpi=64")
    return f"{work}/picture.png"


def smart_home(work):
    os.symlink(os.path.abspath(RECORDING), f"{work}/digits.wav")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(f"{work}/broker.conf", "w", encoding="utf-8") as out:
        out.write(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = subprocess.Popen(["mosquitto", "-c", f"{work}/broker.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the broker")
        # What a house sees: each topic, and the beginning of what it has.
        look = (f"stdbuf -oL mosquitto_sub -p {port} -t 'homeassistant/event/#' -t 'homeassistant/sensor/#' -t 'homeassistant/binary_sensor/+/3/config' -t 'house/#' -F '%t %p' "
                "| cut -c1-88 & "
                f"exec {RUNNEL} listen {MODEL} --wav digits.wav --speed 1 --no-json --mqtt house/kitchen --broker 127.0.0.1:{port} "
                "--discovery homeassistant --device-name 'Kitchen ears' 2>/dev/null")
        page = f"{work}/terminal.html"
        subprocess.run([os.path.abspath(f"{ROOT}/scripts/terminal_look.py"), "9", page, "bash", "-c", look], check=True, stdout=subprocess.DEVNULL, cwd=work)
        with open(page, encoding="utf-8") as read:
            shown = read.read()
        if "house/kitchen {" not in shown:
            sys.exit(f"the house saw no event: {shown}")
        run(BROWSER, "--headless=new", "--no-sandbox", f"--user-data-dir={work}/profile", "--hide-scrollbars", "--window-size=780,230",
            f"--screenshot={work}/picture.png", f"file://{page}")
    finally:
        broker.terminate()
        broker.wait()
    return f"{work}/picture.png"


def main(folder):
    missing = [tool for tool in TOOLS if not shutil.which(tool)] + ([] if BROWSER else ["chromium"])
    if missing:
        print(f"SKIPPED WITHOUT {' '.join(missing)}: scripts/install.sh pictures gstreamer pipewire browser test", file=sys.stderr)
        sys.exit(77)
    if not os.path.exists(RECORDING):
        print("SKIPPED WITHOUT A RECORDING: RUNNEL_RECORDING, with spoken digits, or RUNNEL_TEST_DATA", file=sys.stderr)
        sys.exit(77)
    for take, name in ((gstreamer, "gstreamer.png"), (pipewire, "pipewire.png"), (smart_home, "smart-home.png")):
        with tempfile.TemporaryDirectory() as work:
            keep(take(work), folder, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
