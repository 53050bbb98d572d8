#!/usr/bin/python3
"""page_look.py BROWSER URL PROFILE [PICTURE]: what scripts/page_pictures.sh asks of a browser, over its debugging protocol.

Opens URL, and prints one JSON object: title, columns of the spectrogram and number of events once ten columns are there, and once more when the spectrogram
has moved on and an event is there, or what there is after half a minute each; PICTURE is what the page looks like then. Needs Debian's python3-websocket.
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
        self.socket = websocket.create_connection(address, timeout=20)
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


def wait_for(found, patience=30):
    """A busy machine is slow; the duration does not matter here."""
    end = time.monotonic() + patience
    while time.monotonic() < end and not found():
        time.sleep(0.25)


def main(browser, url, profile, picture=None):
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,1000", "--remote-debugging-port=0", "--remote-allow-origins=*"]
    process = subprocess.Popen([browser, *flags, f"--user-data-dir={profile}", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        page = Page(page_address(profile))
        wait_for(lambda: page.value("document.title") and page.counts()["columns"] >= 10)
        found = {"title": page.value("document.title"), "first": page.counts()}
        wait_for(lambda: page.counts()["columns"] >= found["first"]["columns"] + 200 and page.counts()["events"] > 0)
        found["second"] = page.counts()
        if picture is not None:
            with open(picture, "wb") as file:
                file.write(base64.b64decode(page.ask("Page.captureScreenshot", format="png")["data"]))
        print(json.dumps(found))
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
