#include "pipeline/nodes/host/live/pipewire_sink.h"

#include <exception>
#include <string>
#include <utility>

#include "base/host/late_library.h"

namespace runnel::pipeline {
namespace {

constexpr std::int64_t kMostRate = 768000;
constexpr std::int32_t kMostChannels = 64;

constexpr Parameter kParameters[] = {
    text_parameter<&PipeWireSink::target>("target", "",
                                          "name or serial number of the node to play to; empty: the default "
                                          "speaker; none: none, others make the links"),
    text_parameter<&PipeWireSink::label>("label", "", "name of the stream in patch bays and volume controls"),
};

}  // namespace

const NodeType PipeWireSink::type = {
    .name = "pipewire",
    .help = "Plays to a node of PipeWire.",
    .input = {static_cast<Kinds>(Kind::audio), "float32"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<PipeWireSink>,
};

Status PipeWireSink::prepare(NodeContext& context) noexcept {
  const std::int64_t rate = context.input.clock.rate();
  if (rate == 0 || rate > kMostRate)
    return Status(Code::unsupported) << "pipewire plays a whole number of samples per second, up to "
                                     << kMostRate;
  if (context.input.channels > kMostChannels)
    return Status(Code::unsupported) << "pipewire plays up to " << kMostChannels << " channels, "
                                     << context.input_label << " gives " << context.input.channels;
  try {
    RUNNEL_ASSIGN(const auto* const opened,
                  open_module<decltype(make_sound_output)>("pipewire_sink", "the sink pipewire"));
    output_ = opened->function();
    SoundOutput::Settings settings;
    settings.what = target;
    settings.name = label;
    settings.rate = static_cast<std::int32_t>(rate);
    settings.channels = context.input.channels;
    settings.stop = context.stop;
    return output_->open(settings);
  } catch (const std::exception&) {
    return out_of_memory("live sound");
  }
}

Status PipeWireSink::process(const Block& in, Output&) noexcept {
  return output_->write(in.as<float>(), in.count);
}

Status PipeWireSink::finish() noexcept { return output_->drain(); }

std::int64_t PipeWireSink::underruns() const noexcept {
  return output_ == nullptr ? 0 : output_->underruns();
}

Text PipeWireSink::note() const noexcept {
  Text text;
  if (underruns() > 0)
    text << "PipeWire stream " << label << " fell silent " << underruns()
         << (underruns() == 1 ? " time" : " times") << ": sound did not come in time";
  return text;
}

}  // namespace runnel::pipeline
