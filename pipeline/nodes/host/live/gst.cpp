#include "pipeline/nodes/host/live/gst.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

#include "base/host/late_library.h"

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

constexpr int kWaitMilliseconds = 100;

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
  stop_ = context.stop;
  RUNNEL_ASSIGN(const auto* const module, open_module<decltype(make_sound_input)>("gst", "the node gst"));
  try {
    input_ = module->function();
    RUNNEL_ASSIGN(shape_, input_->open({std::string(pipeline), rate, channels, stop_}));
  } catch (const std::exception&) {
    return out_of_memory("a GStreamer pipeline");
  }
  Format& output = context.output;
  output.kind = Kind::audio;
  output.dtype = DType::float32;
  output.channels = shape_.channels;
  output.clock.sample_rate = shape_.rate;
  output.source = pipeline;
  context.max_output = context.max_input;
  return {};
}

// The next piece; waits for it.
Status Gst::fetch() noexcept {
  const auto start = std::chrono::steady_clock::now();
  given_ = 0;
  piece_ = {};
  while (piece_.frames == 0 && !piece_.end) {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) {
      piece_.end = true;
      break;
    }
    try {
      RUNNEL_ASSIGN(piece_, input_->next(kWaitMilliseconds));
    } catch (const std::exception&) {
      return out_of_memory("a block of sound");
    }
  }
  lost_ += piece_.lost;
  waited_ +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  return {};
}

Status Gst::process(const Block&, Output& out) noexcept {
  if (given_ == piece_.frames) RUNNEL_TRY(fetch());
  out.lost = piece_.lost;
  piece_.lost = 0;
  if (piece_.end && piece_.frames == 0) {
    out.end = true;
    return {};
  }
  out.count = std::min(out.capacity, piece_.frames - given_);
  const std::size_t frame_bytes = bytes_of(shape_.code) * static_cast<std::size_t>(shape_.channels);
  to_float(shape_.code, piece_.data + static_cast<std::size_t>(given_) * frame_bytes,
           std::span(out.as<float>(), static_cast<std::size_t>(out.count * shape_.channels)));
  given_ += out.count;
  return {};
}

}  // namespace runnel::pipeline
