#!/usr/bin/python3
"""page_look.py BROWSER URL PROFILE [PICTURE [STREAMS]]: what scripts/page_pictures.sh asks of a browser, over its debugging protocol.

Opens URL, and prints one JSON object: title, columns of the spectrogram and number of events once ten columns are there, and once more when the spectrogram
has moved on and an event is there, or what there is after half a minute each; and how wide the page is in a window of 360 pixels. PICTURE.png is what the
page looks like then; beside it PICTURE-dark.png, PICTURE-narrow.png and PICTURE-narrow-dark.png. With STREAMS, the page is that of a server: waits for so many
of them, and takes PICTURE alone. Needs Debian's python3-websocket.
"""
import base64
import json
import subprocess
import sys
import time
import urllib.request

import websocket


def page_address(profile, patience=20):
    """The debugging address of the only page, once the browser has written its port down."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            with open(profile + "/DevToolsActivePort", encoding="ascii") as file:
                port = int(file.readline())
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=2) as answer:
                for target in json.load(answer):
                    if target["type"] == "page":
                        return target["webSocketDebuggerUrl"]
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    raise TimeoutError("the browser did not write down its debugging port")


class Page:
    def __init__(self, address):
        self.socket = websocket.create_connection(address, timeout=120)
        self.number = 0

    def ask(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def counts(self):
        return {"columns": int(self.value("document.body.dataset.columns || 0")), "events": int(self.value("document.body.dataset.events || 0"))}


    def window(self, width, height, scheme="light"):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        # Two frames: the layout is new, and its pictures are drawn.
        self.ask("Runtime.evaluate", expression="new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 300))", awaitPromise=True)

    def picture(self, name, width, height, scheme):
        self.window(width, height, scheme)
        with open(name, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))


def wait_for(found, patience=60):
    """A busy machine is slow; the duration does not matter here."""
    end = time.monotonic() + patience
    while time.monotonic() < end and not found():
        time.sleep(0.25)


def main(browser, url, profile, picture=None, streams=None):
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,1000", "--remote-debugging-port=0", "--remote-allow-origins=*"]
    process = subprocess.Popen([browser, *flags, f"--user-data-dir={profile}", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        page = Page(page_address(profile))
        if streams is not None:
            # Nothing comes from a page that is not there yet.
            wait_for(lambda: (page.value("Number(document.body.dataset.sessions || 0)") or 0) >= int(streams))
            print(json.dumps({"streams": page.value("document.body.dataset.sessions"), "text": page.value("document.getElementById('streams').textContent")}))
            if picture:
                page.picture(picture, 900, 420, "light")
            return
        wait_for(lambda: page.value("document.title") and page.counts()["columns"] >= 10)
        found = {"title": page.value("document.title"), "first": page.counts()}
        wait_for(lambda: page.counts()["columns"] >= found["first"]["columns"] + 200 and page.counts()["events"] > 0)
        found["second"] = page.counts()
        if picture:
            name = picture.removesuffix(".png")
            page.picture(name + ".png", 1100, 900, "light")
            page.picture(name + "-dark.png", 1100, 900, "dark")
            page.picture(name + "-narrow.png", 360, 740, "light")
            page.picture(name + "-narrow-dark.png", 360, 740, "dark")
        page.window(360, 740)
        found["width"] = page.value("document.documentElement.scrollWidth")
        # What a person sees: every node but the watches in the graph, curves, and a button for each key.
        found["nodes"] = page.value("document.querySelectorAll('#graph svg svg').length")
        found["curves"] = page.value("document.querySelectorAll('#legend span').length")
        before = page.value("getComputedStyle(document.documentElement).colorScheme")
        page.ask("Input.dispatchKeyEvent", type="keyDown", key="t")
        found["theme"] = [before, page.value("getComputedStyle(document.documentElement).colorScheme")]
        print(json.dumps(found))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
