#include "pipeline/nodes/host/live/pipewire.h"

#include <string>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&PipeWire::target>("target", "",
                                      "name or serial number of the node to hear; empty: the default "
                                      "microphone; none: none, others make the links"),
    text_parameter<&PipeWire::label>("label", "", "name of the stream in patch bays and volume controls"),
    switch_parameter<&PipeWire::monitor>("monitor", "hears what the target, a sink, plays"),
    parameter<&PipeWire::rate>("rate", "Hz", 1000, 768000,
                               "requested sample rate, to which PipeWire converts"),
    parameter<&PipeWire::channels>("channels", "", 1, 64, "requested channels, to which PipeWire converts"),
};

}  // namespace

const NodeType PipeWire::type = {
    .name = "pipewire",
    .help = "Captures from a node of PipeWire.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio), "float32 in [-1, 1)"},
    .parameters = kParameters,
    .make = make_node<PipeWire>,
};

Status PipeWire::prepare(NodeContext& context) noexcept {
  SoundInput::Settings settings;
  settings.what = target;
  settings.name = label;
  settings.monitor = monitor;
  return open(context, "pipewire", std::move(settings),
              target.empty() ? std::string_view("default") : target);
}

}  // namespace runnel::pipeline
