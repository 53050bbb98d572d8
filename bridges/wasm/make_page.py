#!/usr/bin/env python3
"""make_page.py NAME PACKAGE PAGE: one file of HTML from page.html, page.js, and a package with runnel.js, worklet.js and NAME.wasm.

Pages of files may not load modules or anything else, so all is in the page: the scripts without their imports, the module in base64.
"""
import base64
import html
import json
import pathlib
import re
import sys


def classic(text):
    """A module of JavaScript as an ordinary script: without `export`, and without its imports."""
    text = re.sub(r"^import .*?;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def in_script(text):
    """What a <script> may hold: nothing that ends it."""
    return text.replace("</", "<\\/")


def main(name, package, page):
    here, package = pathlib.Path(__file__).parent, pathlib.Path(package)
    runnel = classic((package / "runnel.js").read_text(encoding="utf-8"))
    worklet = runnel + classic((package / "worklet.js").read_text(encoding="utf-8"))
    module = base64.b64encode((package / f"{name}.wasm").read_bytes()).decode("ascii")
    script = "\n".join([
        "'use strict';",
        runnel,
        f"const RUNNEL_MODULE = Uint8Array.from(atob('{module}'), (one) => one.charCodeAt(0));",
        f"const RUNNEL_WORKLET = {json.dumps(worklet)};",
        (here / "page.js").read_text(encoding="utf-8"),
    ])
    text = (here / "page.html").read_text(encoding="utf-8").replace("@NAME@", html.escape(name)).replace("@SCRIPT@", in_script(script))
    part = pathlib.Path(page + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(page)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: make_page.py NAME PACKAGE PAGE")
    main(*sys.argv[1:])
