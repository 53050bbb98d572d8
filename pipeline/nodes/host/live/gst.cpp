#include "pipeline/nodes/host/live/gst.h"

#include <string>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    required(text_parameter<&Gst::pipeline>("pipeline", "",
                                            "elements as gst-launch-1.0 takes them, the last of which gives "
                                            "sound: filesrc location=a.opus ! decodebin")),
    parameter<&Gst::rate>("rate", "Hz", 0, 768000, "GStreamer converts to this rate; 0: that of the sound"),
    parameter<&Gst::channels>("channels", "", 0, 1024,
                              "GStreamer converts to this number of channels; 0: that of the sound"),
};

}  // namespace

const NodeType Gst::type = {
    .name = "gst",
    .help = "Takes the sound of a GStreamer pipeline: files of any format, RTP and RTSP, Bluetooth.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32; integers in [-1, 1)"},
    .parameters = kParameters,
    .make = make_node<Gst>,
};

Status Gst::prepare(NodeContext& context) noexcept {
  SoundInput::Settings settings;
  settings.what = pipeline;
  return open(context, "gst", std::move(settings), pipeline);
}

}  // namespace runnel::pipeline
