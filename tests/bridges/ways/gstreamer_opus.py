"""The recording as Opus at 64 kbit/s through GStreamer's element, beside the samples of the same decoder."""
import gst
import way

gst.ready()
opus = f"{way.FOLDER}/sound.opus"
gst.launch(f"filesrc location={way.WAV} ! wavparse ! audioconvert ! audioresample ! opusenc bitrate=64000 ! oggmux ! filesink "
           f"location={opus}")
lines, element = gst.hearing()
gst.launch(f"filesrc location={opus} ! oggdemux ! opusdec ! audioconvert ! audioresample ! "
           "audio/x-raw,format=S16LE,rate=16000,channels=1 ! tee name=t ! queue ! wavenc ! "
           f"filesink async=false location={way.HEARD} t. ! queue !", *element)
gst.write(lines)
