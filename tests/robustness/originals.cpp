#include "tests/robustness/originals.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "compiler/import/espdl/importer.h"
#include "compiler/write/writer.h"
#include "tests/inference/graph_builder.h"
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

namespace {

std::vector<std::byte> written(const compiler::Graph& graph) {
  const auto model = compiler::write_model(graph);
  EXPECT_TRUE(model.ok()) << model.status().text();
  return model.ok() ? model->bytes : std::vector<std::byte>();
}

}  // namespace

std::vector<std::byte> attention_rnl() {
  GraphBuilder builder(3, DType::float32);
  const auto x = builder.input({1, 12, 4});
  const auto heads = [&](int channels) {
    return builder.reshape(builder.conv(x, 2 * channels, {}), {1, 12, 2, channels});
  };
  const auto q = heads(5), k = heads(3), v = heads(2), y = builder.tensor({1, 12, 2, 2}, 0);
  const auto bias = builder.constant({2, 8}, DType::float32, {}, -1, 100),
             distances = builder.constant({8, 1, 2}, DType::float32, {}, -1, 100);
  compiler::AttentionOptions options;
  options.left = 4;
  options.right = 1;
  options.chunk = 2;
  builder.node(OpCode::attention, {q, k, v, bias, distances}, {y}, options);
  builder.output(builder.reshape(y, {1, 12, 4}));
  return written(builder.graph());
}

std::vector<std::byte> integer_attention_rnl() {
  GraphBuilder builder(5, DType::int8);
  const auto x = builder.input({1, 12, 4});
  const auto heads = [&](int channels) {
    return builder.reshape(builder.conv(x, 2 * channels, {}), {1, 12, 2, channels});
  };
  const auto q = heads(5), k = heads(3), v = heads(2), y = builder.tensor({1, 12, 2, 2}, -5);
  const auto bias = builder.constant({2, 8}, DType::int32, {}, -1, 100),
             distances = builder.constant({8, 1, 2}, DType::int8, {-6}, -1, 100);
  compiler::AttentionOptions options;
  options.left = 4;
  options.right = 1;
  options.chunk = 2;
  builder.node(OpCode::attention, {q, k, v, bias, distances}, {y}, options, Arithmetic::fixed_point);
  const auto flat = builder.reshape(y, {1, 12, 4}), z = builder.tensor({1, 12, 4}, -5);
  compiler::NormOptions norm;
  norm.axis = 2;
  norm.epsilon = 1e-5f;
  builder.node(OpCode::layer_norm,
               {flat, builder.constant({4}, DType::int16, {-14}, -1, 20000),
                builder.constant({4}, DType::int32, {}, -1, 5000)},
               {z}, norm, Arithmetic::fixed_point);
  builder.output(z);
  return written(builder.graph());
}

std::vector<std::byte> steps_rnl() {
  GraphBuilder builder(4, DType::float32);
  const auto x = builder.input({1, 6, 2}), y = builder.slice(x, 1, 1, 2, 2);
  builder.output(y);
  compiler::Graph& graph = builder.graph();
  const auto counter = [&](const char* name) {
    compiler::Tensor made;
    made.name = name;
    made.shape = {1};
    made.dtype = DType::int64;
    graph.tensors.push_back(made);
    return static_cast<compiler::TensorId>(graph.tensors.size() - 1);
  };
  const auto seen = counter("seen"), step = counter("step"), next = counter("next");
  graph.tensors[static_cast<std::size_t>(step)].data = std::vector<std::byte>(8, std::byte{1});
  builder.node(OpCode::add, {seen, step}, {next}, compiler::BinaryOptions{});
  graph.inputs.push_back(seen);
  graph.outputs.push_back(next);
  graph.pipeline.usage = UsageKind::step;
  graph.pipeline.step = 4;
  graph.pipeline.look_ahead = 2;
  graph.pipeline.output_frames = 2;
  graph.pipeline.states = {{next, seen}};
  return written(graph);
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
