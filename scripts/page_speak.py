#!/usr/bin/python3
"""page_speak.py BROWSER URL PROFILE RECORDING SECONDS [URL2]: what scripts/page_microphone.sh asks of a browser, over its debugging protocol.

Opens URL in Chromium with a fake microphone that plays RECORDING once, presses the button of the live page and lets it listen for SECONDS. Prints one JSON
object: what the page told, and for each event the milliseconds from the capture of the last sample that its decision needed to its arrival in the page. With
URL2, a second run: there the connection is broken and made again, a second tab asks for the microphone and takes it over, and the tab is closed. RUNNEL_PICTURE: a .png file for the page that listens.
"""
import contextlib
import json
import os
import subprocess
import sys
import time

from page_look import Page, page_address, wait_for

# The page's own functions, with the times at which samples were captured and events arrived.
WATCH = """(() => {
  window.log = { sent: [], events: [] };
  const passed = send, told = show.event;
  window.send = piece => { log.sent.push([speech.number + piece.byteLength / 2, performance.now()]); passed(piece); };
  show.event = m => { log.events.push([m.frame, performance.now()]); told(m); };
})()"""


def latencies(page):
    """Of each event: a frame of the digits' front end ends 25 ms after its beginning, every 10 ms; the page captures pieces of 20 ms."""
    log = page.value("({ sent: log.sent, events: log.events, rate: speech.rate || 48000 })")
    found = []
    for frame, arrived in log["events"]:
        needed = (frame * 0.010 + 0.025) * log["rate"]
        captured = next((when for number, when in log["sent"] if number >= needed), None)
        if captured is not None:
            found.append(round(arrived - captured, 2))
    return found


def press(page):
    page.ask("Runtime.evaluate", expression="document.getElementById('speak').click()", userGesture=True)


def permit(page, setting):
    page.ask("Browser.setPermission", permission={"name": "microphone"}, setting=setting)


def told(page):
    return page.value("document.getElementById('told').textContent")


def microphone(page):
    return page.value("document.body.dataset.microphone || ''")


def live(page):
    return page.value("typeof show === 'object' && document.getElementById('state').dataset.is === 'live' && !document.getElementById('microphone').hidden")


def open_tab(port, url):
    import urllib.request
    request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?{url}", method="PUT")
    with urllib.request.urlopen(request, timeout=20) as answer:
        target = json.load(answer)
    page = Page(target["webSocketDebuggerUrl"])
    wait_for(lambda: live(page))
    page.value("document.getElementById('pause').click()")  # pictures cost time that the sound of several tabs needs
    return page


def faults(profile, url):
    """A broken connection, a second tab, a closed tab."""
    with open(profile + "/DevToolsActivePort", encoding="ascii") as file:
        port = int(file.readline())
    found = {}
    first = open_tab(port, url)
    press(first)
    wait_for(lambda: first.value("Number(document.body.dataset.columns)") >= 5)
    # The samples captured until the connection is made again are the gap.
    first.value("socket.close()")
    wait_for(lambda: "lost" in first.value("document.getElementById('events').textContent"))
    found["gap"] = first.value("document.getElementById('events').textContent")
    second = open_tab(port, url)
    wait_for(lambda: "another page speaks" in told(second))
    found["second_sees"] = told(second)
    press(second)
    wait_for(lambda: microphone(second) == "refused")
    found["second_refused"] = told(second)
    press(second)  # Take over
    wait_for(lambda: microphone(second) == "open" and not first.value("speech.open"))
    found["first_after"] = told(first)
    found["second_after"] = microphone(second)
    third = open_tab(port, url)
    wait_for(lambda: "another page speaks" in told(third))
    second.socket.send(json.dumps({"id": 999, "method": "Page.close", "params": {}}))
    wait_for(lambda: "is off" in told(third))
    found["after_closing"] = told(third)
    # Permission refused, as a person would.
    permit(third, "denied")
    press(third)
    wait_for(lambda: microphone(third) == "refused")
    found["denied"] = told(third)
    return found


def urgent():
    """For the new process: sound in real time goes before the tests beside it, where the system lets us."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)


@contextlib.contextmanager
def opened(browser, url, profile, recording):
    """The live page of a run in a Chromium whose microphone plays RECORDING once, and which may use it."""
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1100,1000", "--remote-debugging-port=0", "--remote-allow-origins=*",
             "--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={recording}%noloop", "--ignore-certificate-errors",
             "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows"]
    process = subprocess.Popen([browser, *flags, f"--user-data-dir={profile}", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=urgent)
    try:
        page = Page(page_address(profile))
        wait_for(lambda: live(page))
        permit(page, "granted")
        yield page
    finally:
        process.terminate()
        process.wait()


def listen(page, seconds):
    """Speaks to the run until so much was captured."""
    page.value(WATCH)
    press(page)
    wait_for(lambda: microphone(page) == "open")
    during = told(page)
    wait_for(lambda: page.value("speech.number / (speech.rate || 1)") >= float(seconds), 60 + 2 * float(seconds))
    return during


def silence(page):
    press(page)
    wait_for(lambda: microphone(page) == "off")


def main(browser, url, profile, recording, seconds, url2=None):
    with opened(browser, url, profile, recording) as page:
        found = {"secure": page.value("location.protocol"), "before": told(page)}
        found["during"] = listen(page, seconds)
        found["events"] = page.value("Number(document.body.dataset.events)")
        found["columns"] = page.value("Number(document.body.dataset.columns)")
        found["latencies_ms"] = latencies(page)
        if picture := os.environ.get("RUNNEL_PICTURE"):
            page.picture(picture, 480, 400, "light")
        silence(page)
        print(json.dumps(found), file=sys.stderr)
        if url2 is not None:
            page.ask("Page.navigate", url="about:blank")
            found["faults"] = faults(profile, url2)
        print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
