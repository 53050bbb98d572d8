#include "library/settings.h"

#include "pipeline/host/registry.h"
#include "pipeline/host/text.h"
#include "pipeline/node.h"

namespace runnel::library {
namespace {

// The data sheet of the settings, so that their syntax, ranges and sentences are those of graphs.
class Sheet final : public pipeline::Node {
 public:
  std::int64_t rate = 16000, channels = 1, chunk = 0, events = 1024, frames = 0;
  double threshold = -1;
  std::string_view on_gap = "reset", front_end, decision, source = "samples", key_file, trust;

  Status prepare(pipeline::NodeContext&) noexcept override {
    return Status(Code::unsupported, "settings do not run");
  }
  Status process(const pipeline::Block&, pipeline::Output&) noexcept override { return {}; }
};

using pipeline::parameter;
using pipeline::text_parameter;
constexpr pipeline::Parameter kParameters[] = {
    parameter<&Sheet::rate>("rate", "Hz", 0, 768000, "of the pushed samples; 0: that of the front end"),
    parameter<&Sheet::channels>("channels", "", 1, 1024, "of the pushed samples"),
    parameter<&Sheet::threshold>("threshold", "", 0, 1, "posterior at which a decision is made"),
    text_parameter<&Sheet::front_end>("front_end", "", "graph text before the model"),
    text_parameter<&Sheet::decision>("decision", "", "graph text after the model"),
    parameter<&Sheet::chunk>("chunk", "frames", 0, 1 << 20, "frames per run of a streamed model"),
    text_parameter<&Sheet::on_gap>("on_gap", "reset|zeros", "of lost samples"),
    parameter<&Sheet::events>("events", "", 1, 1 << 24, "decisions and texts that may wait"),
    parameter<&Sheet::frames>("frames", "frames", 0, 1 << 24, "of each stage that may wait"),
    text_parameter<&Sheet::source>("source", "", "name in lines of JSON"),
    text_parameter<&Sheet::key_file>("key_file", "", "key of an encrypted model"),
    text_parameter<&Sheet::trust>("trust", "", "public key, or keys, whose signatures of models are taken"),
};
const pipeline::NodeType kType = {.name = "settings",
                                  .help = "Settings of a program.",
                                  .input = {},
                                  .output = {},
                                  .parameters = kParameters,
                                  .make = nullptr};

}  // namespace

Result<Settings> parse_settings(std::string_view given) {
  RUNNEL_ASSIGN(const pipeline::GraphText text, pipeline::parse_graph("settings " + std::string(given)));
  if (text.nodes.size() != 1 || text.nodes[0].type != kType.name || !text.nodes[0].name.empty())
    return Status(Code::invalid_argument)
           << "settings \"" << given << "\": expected key=value key=value, such as rate=48000 threshold=0.7";
  Sheet sheet;
  for (const pipeline::ParameterText& one : text.nodes[0].parameters) {
    RUNNEL_ASSIGN(const pipeline::Parameter* const found, pipeline::find_parameter(kType, one.key));
    const Result<pipeline::Value> value = pipeline::parse_value(*found, one.value);
    if (!value.ok()) return value.status().at(kType.name);
    RUNNEL_TRY(found->set(*found, sheet, *value));
  }
  Settings settings;
  settings.rate = sheet.rate;
  settings.channels = sheet.channels;
  settings.chunk = sheet.chunk;
  settings.events = sheet.events;
  settings.frames = sheet.frames;
  settings.threshold = sheet.threshold;
  settings.zeros_in_gaps = sheet.on_gap == "zeros";
  settings.front_end = sheet.front_end;
  settings.decision = sheet.decision;
  settings.source = sheet.source;
  settings.key_file = sheet.key_file;
  settings.trust = sheet.trust;
  return settings;
}

}  // namespace runnel::library
