#include "pipeline/nodes/host/wav_sink.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {
    text_parameter<&WavSink::path>("path", "", "file to write", true),
    text_parameter<&WavSink::encoding>("encoding", "int16|int24|float32", "type of the samples in the file; integers saturate"),
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

WavSink::~WavSink() {
  if (sound_ != nullptr) sf_close(sound_);
}

Status WavSink::refused() const { return Status(Code::io_error) << path << ": cannot write: " << sf_strerror(sound_); }

Status WavSink::prepare(PrepareContext& context) noexcept {
  const std::int64_t rate = context.input.clock.rate();
  if (rate == 0) return Status(Code::unsupported) << path << ": a WAV file has a whole number of samples per second";
  RUNNEL_TRY(file_.open(path, false));
  SF_INFO info{};
  info.channels = context.input.channels;
  info.samplerate = static_cast<int>(rate);
  info.format = SF_FORMAT_WAV | (encoding == "int16" ? SF_FORMAT_PCM_16 : encoding == "int24" ? SF_FORMAT_PCM_24 : SF_FORMAT_FLOAT);
  sound_ = sf_open(file_.part().c_str(), SFM_WRITE, &info);
  if (sound_ == nullptr) return refused();
  sf_command(sound_, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  return {};
}

Status WavSink::process(const Block& in, Output&) noexcept {
  return sf_writef_float(sound_, in.as<float>(), in.count) == in.count ? Status() : refused();
}

Status WavSink::finish() noexcept {
  SNDFILE* sound = sound_;
  sound_ = nullptr;
  if (const int error = sf_close(sound); error != 0) return Status(Code::io_error) << path << ": cannot write: " << sf_error_number(error);
  return file_.commit();
}

}  // namespace runnel::pipeline
