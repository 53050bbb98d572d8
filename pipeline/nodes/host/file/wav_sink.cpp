#include "pipeline/nodes/host/file/wav_sink.h"

#include "base/host/output_name.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&WavSink::path>("path", "", "file to write", true),
    text_parameter<&WavSink::encoding>("encoding", "int16|int24|float32",
                                       "type of the samples in the file; integers saturate"),
};

}  // namespace

const NodeType WavSink::type = {
    .name = "wav",
    .help = "Writes a WAV file.",
    .input = {static_cast<Kinds>(Kind::audio), "float32"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<WavSink>,
};

Status WavSink::prepare(NodeContext& context) noexcept {
  const std::int64_t rate = context.input.clock.rate();
  if (rate == 0)
    return Status(Code::unsupported) << path << ": a WAV file has a whole number of samples per second";
  RUNNEL_TRY(check_output_name(path, {".wav"}));
  return file_.create(path, static_cast<int>(rate), context.input.channels, "wav", encoding);
}

Status WavSink::process(const Block& in, Output&) noexcept { return file_.write(in.as<float>(), in.count); }

Status WavSink::finish() noexcept { return file_.complete(); }

}  // namespace runnel::pipeline
