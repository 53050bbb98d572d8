"""What the ways through GStreamer share: a GStreamer of their own, which knows few plugins."""
import os
import shutil
import subprocess

import way

PLUGINS = ("coreelements", "app", "audioconvert", "audioresample", "ogg", "opus", "playback", "typefindfunctions", "wavenc", "wavparse")


def ready():
    if not shutil.which("gst-launch-1.0") or not os.path.exists(f"{way.BUILD}/lib/gstreamer-1.0/libgstrunnel.so"):
        way.skip("no gst-launch-1.0, or no element runnel (scripts/install.sh gstreamer)")
    system = subprocess.run(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], stdout=subprocess.PIPE, text=True,
                            check=False).stdout.strip()
    folder = f"{way.FOLDER}/plugins"
    os.mkdir(folder)
    for plugin in PLUGINS:
        file = f"libgst{plugin}.so"
        if not os.path.exists(f"{system}/{file}"):
            way.skip(f"GStreamer's plugin {plugin} (scripts/install.sh gstreamer)")
        os.symlink(f"{system}/{file}", f"{folder}/{file}")
    os.environ |= {"GST_PLUGIN_SYSTEM_PATH_1_0": folder, "GST_PLUGIN_PATH_1_0": f"{way.BUILD}/lib/gstreamer-1.0",
                   "GST_REGISTRY_1_0": f"{way.FOLDER}/registry.bin", "GST_REGISTRY_FORK": "no"}
    os.environ.pop("GST_DEBUG", None)


def launch(*words):
    """Runs a pipeline: words with blanks inside stay whole, texts are cut at blanks."""
    call = ["gst-launch-1.0", "-q"]
    for word in words:
        call += word if isinstance(word, list) else word.split()
    way.output_of(call)


def hearing():
    """The element, whose lines go to the returned file."""
    lines = f"{way.FOLDER}/lines.jsonl"
    own = [f"decision={way.DECISION}"] if way.DECISION else []
    return lines, (f"runnel name=r model={way.MODEL}", own,
                   f"! queue ! fakesink async=false r.text ! queue ! filesink async=false location={lines}")


def write(lines):
    with open(lines, "rb") as read:
        way.write(read)
