#include "tests/robustness/originals.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "compiler/import/espdl/importer.h"
#include "compiler/write/writer.h"
#include "tests/support/data.h"

namespace runnel::test {
namespace {

// Little endian.
void append(std::string& to, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

template <class Sample>
std::vector<std::byte> wav(std::uint16_t tag, Sample (*sample)(double)) {
  constexpr std::uint32_t kRate = 16000, kCount = 1600, kSize = sizeof(Sample);
  std::string bytes = "RIFF";
  append(bytes, 36 + kCount * kSize, 4);
  bytes += "WAVEfmt ";
  append(bytes, 16, 4);
  append(bytes, tag, 2);
  append(bytes, 1, 2);
  append(bytes, kRate, 4);
  append(bytes, kRate * kSize, 4);
  append(bytes, kSize, 2);
  append(bytes, kSize * 8, 2);
  bytes += "data";
  append(bytes, kCount * kSize, 4);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const Sample value = sample(0.5 * std::sin(0.1 * i));
    char raw[kSize];
    std::memcpy(raw, &value, kSize);
    bytes.append(raw, kSize);
  }
  const auto all = std::as_bytes(std::span(bytes));
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<std::byte> digits_espdl() {
  return read_file(RUNNEL_SOURCE_FOLDER "/models/digits/digits_c_s8.espdl");
}

std::vector<std::byte> digits_rnl() {
  auto imported = compiler::import_espdl(digits_espdl());
  if (!imported.ok()) {
    ADD_FAILURE() << imported.status().text();
    return {};
  }
  compiler::PipelineSettings& pipeline = imported->graph.pipeline;
  pipeline.sample_rate = 16000;
  pipeline.front_end = "fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600";
  pipeline.decision = "detect smoothing_frames=25 threshold=0.85";
  pipeline.labels = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "silence", "unknown"};
  const auto written = compiler::write_model(imported->graph);
  if (!written.ok()) {
    ADD_FAILURE() << written.status().text();
    return {};
  }
  return written->bytes;
}

std::vector<std::byte> short_wav() {
  return wav<std::int16_t>(1, [](double value) { return static_cast<std::int16_t>(value * 32767); });
}
std::vector<std::byte> float_wav() {
  return wav<float>(3, [](double value) { return static_cast<float>(value); });
}

std::vector<std::string> graph_texts() {
  return {
      "silence ! fbank preset=kaldi num_mel_bins=40 low_freq=20 high_freq=7600 ! cmvn mean=10 deviation=3 ! "
      "null",
      "silence rate=44100 channels=2 ! downmix ! resample rate=16000 ! fbank kind=mfcc snip_edges=false ! "
      "null",
      "silence name=s ! fbank window_type='hanning' frame_length=32ms frame_shift=\"16ms\" name=f ! null\nf. "
      "! cmvn ! null  # twice\ns. ! null",
      "silence rate=16kHz ! fbank use_power=false round_to_power_of_two=false frame_length=20 ! detect "
      "mode=clip ! null",
  };
}

}  // namespace runnel::test
