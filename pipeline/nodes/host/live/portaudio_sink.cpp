#include "pipeline/nodes/host/live/portaudio_sink.h"

#include "pipeline/host/live/portaudio/library.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&PortAudioSink::device>(
        "device", "", "device of PortAudio to play on, as API: NAME or by its name alone"),
    parameter<&PortAudioSink::period>("period", "ms", 1, 1000, "how often the device asks for samples"),
    parameter<&PortAudioSink::buffer>("buffer", "ms", 2, 10000,
                                      "of the system: how long the program may stall before it falls silent"),
};

}  // namespace

const NodeType PortAudioSink::type = {
    .name = "portaudio",
    .help = "Plays on a sound device through PortAudio.",
    .input = {static_cast<Kinds>(Kind::audio), "float32; values outside [-1, 1) saturate"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<PortAudioSink>,
};

Status PortAudioSink::prepare(NodeContext& context) noexcept {
  const std::int64_t rate = context.input.clock.rate();
  if (rate == 0 || rate > 768000)
    return Status(Code::unsupported) << "device " << device
                                     << " plays a whole number of samples per second, up to 768000";
  PortAudioSettings settings;
  settings.name = device;
  settings.rate = static_cast<std::int32_t>(rate);
  settings.channels = context.input.channels;
  settings.period = period;
  settings.buffer = buffer;
  RUNNEL_TRY(stream_.open_playback(settings));
  if (stream_.rate() != settings.rate) return wants_rate(context, "portaudio", stream_.rate());
  return {};
}

Status PortAudioSink::process(const Block& in, Output&) noexcept {
  if (in.count == 0) return {};
  if (!started_) RUNNEL_TRY(stream_.start());
  started_ = true;
  const PaError error =
      portaudio().Pa_WriteStream(stream_.get(), in.as<float>(), static_cast<unsigned long>(in.count));
  // The block is taken all the same.
  if (error == paOutputUnderflowed)
    ++underruns_;
  else if (error != paNoError)
    return stream_.refused("play", error);
  return {};
}

Status PortAudioSink::finish() noexcept {
  if (!started_) return {};
  // Returns when all that was written has been played.
  const PaError error = portaudio().Pa_StopStream(stream_.get());
  return error == paNoError || error == paStreamIsStopped ? Status()
                                                          : stream_.refused("play to the end", error);
}

Text PortAudioSink::note() const noexcept {
  Text text;
  if (underruns_ > 0)
    text << "device " << device << " fell silent " << underruns_ << (underruns_ == 1 ? " time" : " times")
         << ": sound did not come in time";
  return text;
}

}  // namespace runnel::pipeline
