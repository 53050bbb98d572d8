#!/usr/bin/python3
"""browser.py compare BROWSER PAGE RECORDING DESK PROFILE [PICTURE], or bench BROWSER PAGE RECORDING PROFILE.

compare: PAGE, a file, in headless Chromium. A recording that is dropped on it gives the features, outputs and events of the desk
(DESK.features.npy, DESK.output.npy, DESK.events), byte by byte; files that are no recordings give a sentence; the microphone (Chromium's fake
one plays the recording) gives features and events. PICTURE: a picture of the page then. bench: seconds of sound in a second.
Needs Debian's python3-websocket.
"""
import base64
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))
from page_look import Page, page_address, wait_for  # noqa: E402


SPEED = 200  # times real time, at least; about a tenth of what an idle machine does


class Browser:
    def __init__(self, program, page, profile, *flags):
        common = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1000,1000", "--remote-debugging-port=0",
                  "--remote-allow-origins=*", "--autoplay-policy=no-user-gesture-required"]
        self.process = subprocess.Popen([program, *common, *flags, f"--user-data-dir={profile}", "file://" + os.path.abspath(page)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class Look(Page):
    """A page that is asked for values, also those that come later."""

    def value(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def state(self):
        return self.value("document.body?.dataset.state")

    def drop(self, path):
        """A file dropped on the page, as a person drops it."""
        data = {"items": [], "files": [os.path.abspath(path)], "dragOperationsMask": 1}
        self.value("document.body.dataset.state = 'waiting'")
        for kind in ("dragEnter", "dragOver", "drop"):
            self.ask("Input.dispatchDragEvent", type=kind, x=400, y=140, data=data)
        wait_for(lambda: self.state() in ("done", "failed"), 120)


def opened(profile):
    page = Look(page_address(profile, 60))
    page.socket.settimeout(180)
    wait_for(lambda: page.state() == "ready")
    return page


def body(path):
    with open(path, "rb") as file:
        data = file.read()
    return data[10 + int.from_bytes(data[8:10], "little"):]


def desk_events(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line, parse_float=str) for line in file]
    return [[one["label"], one["score"], one["start"], one["end"], str(one["frame"])] for one in lines if one["type"] == "event"]


def seconds(samples, rate=16000):
    return f"{(samples * 1000 + rate // 2) // rate / 1000:.3f}"


def lines_of(events):
    return [[one["label"], f"{one['score']:.4f}", seconds(int(one["begin"])), seconds(int(one["end"])), str(int(one["frame"]))] for one in events]


def labels_of(page):
    return json.loads(page.value("JSON.stringify((heard?.events ?? []).map((one) => one.label))"))


def follows(labels, wanted, words=3):
    """Whether so many labels in a row are in the recording, which is played over and over."""
    played = " ".join(wanted + wanted)
    return any(" ".join(labels[at:at + words]) in played for at in range(len(labels) - words + 1))


def check(condition, sentence):
    if not condition:
        sys.exit(f"browser.py: {sentence}")


# Hears a recording and keeps the bytes of every frame.
HEAR = """(async () => {
  const bytes = Uint8Array.from(atob('%s'), (one) => one.charCodeAt(0)).buffer, kept = {features: [], output: []};
  const events = await hear(bytes, (stage, frames) => kept[stage].push(new Uint8Array(frames.slice().buffer)));
  const text = (parts) => {
    let all = '';
    for (const part of parts) all += String.fromCharCode(...part);
    return btoa(all);
  };
  return JSON.stringify({events, features: text(kept.features), output: text(kept.output), error: document.body.dataset.error ?? ''});
})()"""


def compare(program, page_file, recording, desk, profile, picture=None):
    with open(recording, "rb") as file:
        sound = file.read()
    expected = desk_events(desk + ".events")
    with Browser(program, page_file, profile):
        page = opened(profile)
        found = json.loads(page.value(HEAR % base64.b64encode(sound).decode("ascii")))
        check(not found["error"], f"the page said {found['error']}")
        for stage in ("features", "output"):
            check(base64.b64decode(found[stage]) == body(f"{desk}.{stage}.npy"), f"{stage} differ from the desk")
        check(lines_of(found["events"]) == expected, f"events: expected {expected}, found {lines_of(found['events'])}")

        page.drop(recording)
        check(page.state() == "done", f"a dropped recording: {page.value('element(`said`).textContent')}")
        check(lines_of(json.loads(page.value("JSON.stringify(heard.events)"))) == expected, "a dropped recording gives other events")
        if picture is not None:
            with open(picture, "wb") as file:
                file.write(base64.b64decode(page.ask("Page.captureScreenshot", format="png")["data"]))

        check(page.value(DRAWN) == [True, True], "the features or the outputs are not drawn")
        fast, _ = speed(page, profile, recording, 10)
        check(fast >= SPEED, f"expected {SPEED} times real time of processor time, found {fast:.0f}")

        text = os.path.join(profile, "text.wav")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no recording at all")
        page.drop(text)
        said = page.value("document.body.dataset.error")
        check(page.state() == "failed" and said.startswith("readWav: expected a RIFF WAVE file, found 19 bytes"), f"a text file: {said}")
        check(page.value("measure(new Uint8Array(0), 1).catch((error) => error.message)").startswith("readWav: expected a RIFF WAVE file, found 0 bytes"), "an empty file")
        page.socket.close()

    wanted = [one[0] for one in expected]
    flags = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={os.path.abspath(recording)}"]
    with Browser(program, page_file, profile + "_microphone", *flags):
        page = opened(profile + "_microphone")
        page.value("speak()")
        # The first word may have begun before the page listened, and a busy machine loses sound: half a word is another one, or none.
        end = time.monotonic() + 60
        while page.state() != "failed" and not follows(labels_of(page), wanted) and time.monotonic() < end:
            time.sleep(0.1)
        columns, error = (page.value(f"document.body.dataset.{name} || ''") for name in ("columns", "error"))
        labels = labels_of(page)
        check(not error, f"the microphone: {error}")
        check(follows(labels, wanted), f"the microphone gave {columns} frames within a minute and heard {labels}, the recording has {wanted}")
        check(int(columns) > 100, f"the microphone gave {columns} frames")
        check(page.value(DRAWN) == [True, True], "the features or the outputs of the microphone are not drawn")
        page.value("speak()")
        page.socket.close()
    print(f"the bytes of the desk in Chromium: {len(expected)} events of a recording; from the microphone {' '.join(labels)}; "
          f"{fast:.0f} times real time of processor time, and no growth of memory")


# Whether something is drawn.
DRAWN = "[spectrogram, posteriors].map((one) => one.context.getImageData(0, 0, one.canvas.width, one.canvas.height).data.some((value) => value > 0))"


def renderers_time(profile):
    """Seconds of processor time of the pages so far: other than a clock, it does not depend on how busy the machine is."""
    with open(profile + "/DevToolsActivePort", encoding="ascii") as file:
        port, path = file.read().split()
    whole = Page(f"ws://127.0.0.1:{port}{path}")
    found = sum(one["cpuTime"] for one in whole.ask("SystemInfo.getProcessInfo")["processInfo"] if one["type"] == "renderer")
    whole.socket.close()
    return found


def speed(page, profile, recording, repeats):
    """Seconds of sound in a second of processor time. The memory must not grow."""
    with open(recording, "rb") as file:
        sound = base64.b64encode(file.read()).decode("ascii")
    before = renderers_time(profile)
    found = json.loads(page.value(f"measure(Uint8Array.from(atob('{sound}'), (one) => one.charCodeAt(0)).buffer, {repeats}).then(JSON.stringify)"))
    used = renderers_time(profile) - before
    check(found["grown"] == 0, f"the memory grew by {found['grown']} bytes")
    return found["audio"] / used, found["audio"] / found["seconds"]


def bench(program, page_file, recording, profile):
    with Browser(program, page_file, profile):
        page = opened(profile)
        of_processor, by_clock = max(speed(page, profile, recording, 4) for _ in range(5))
        version = page.ask("Browser.getVersion")["product"]
    print(f"{version}: {of_processor:.0f} times real time of processor time, {by_clock:.0f} by the clock")


if __name__ == "__main__":
    {"compare": compare, "bench": bench}[sys.argv[1]](*sys.argv[2:])
