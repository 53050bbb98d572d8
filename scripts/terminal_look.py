#!/usr/bin/python3
"""terminal_look.py SECONDS PAGE COMMAND...: what a program shows in a terminal of 100 columns after SECONDS.

Runs COMMAND there, ends it as Ctrl-C would, prints the last line that stood there before, and writes PAGE, HTML that shows the last twelve. Knows what
runnel's terminal view uses: carriage return, line feed, and clearing to the end of the line.
"""
import html
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from fcntl import ioctl

STYLE = "body{margin:0;background:#14171c;color:#d6dbe2;font:14px/1.5 monospace}pre{margin:0;padding:14px 18px}b{color:#7fd1ae;font-weight:normal}"


class Screen:
    def __init__(self):
        self.lines, self.column = [""], 0

    def show(self, text):
        at = 0
        while at < len(text):
            if text.startswith("\x1b[K", at):
                self.lines[-1] = self.lines[-1][: self.column]
                at += 3
                continue
            letter = text[at]
            at += 1
            if letter == "\r":
                self.column = 0
            elif letter == "\n":
                self.lines.append("")
                self.column = 0
            else:
                line = self.lines[-1]
                self.lines[-1] = line[: self.column] + letter + line[self.column + 1 :]
                self.column += 1


def watch(seconds, command):
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(command[0], command)
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    screen, rest, end = Screen(), b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
            break
        try:
            rest += os.read(terminal, 65536)
        except OSError:
            break
        # A sequence or a letter may be cut by the end of what was read.
        whole = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
        screen.show(rest[:whole].decode(errors="replace"))
        rest = rest[whole:]
    screen.show(rest.decode(errors="replace"))
    os.kill(child, signal.SIGINT)
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass
    os.waitpid(child, 0)
    return screen.lines


def main():
    seconds, page, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    lines = watch(seconds, command)
    shown = [html.escape(line) for line in lines[-12:]]
    if shown:
        shown[-1] = f"<b>{shown[-1]}</b>"
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>" + "\n".join(shown) + "</pre>")
    print(lines[-1])


main()
