"""A recording through GStreamer's element (docs/gstreamer.md)."""
import gst
import way

gst.ready()
lines, element = gst.hearing()
gst.launch(f"filesrc location={way.WAV} ! wavparse ! audioconvert ! audioresample !", *element)
gst.write(lines)
