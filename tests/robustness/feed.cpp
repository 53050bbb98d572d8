#include "tests/robustness/feed.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/host/heap_memory.h"
#include "compiler/import/onnx/importer.h"
#include "compiler/import/pte/importer.h"
#include "compiler/import/tflite/importer.h"
#include "compiler/write/writer.h"
#include "inference/host/check.h"
#include "inference/host/describe.h"
#include "inference/model/model.h"
#include "inference/operator.h"
#include "inference/prepared.h"
#include "inference/session.h"
#include "pipeline/host/graph.h"
#include "pipeline/host/text.h"
#include "pipeline/nodes/nodes.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace runnel::test {
namespace {

#ifdef __GLIBC__
// Tens of thousands of inputs, each with large blocks: if the system provided them anew every time, clearing
// their pages would dominate.
[[maybe_unused]] const bool kept =
    mallopt(M_MMAP_THRESHOLD, 32 << 20) != 0 && mallopt(M_TRIM_THRESHOLD, 256 << 20) != 0;
#endif

struct FreeAligned {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte[], FreeAligned>;

// An exact copy, so that AddressSanitizer sees reads past the end.
AlignedBytes exact_copy(std::span<const std::byte> bytes) {
  AlignedBytes copy(static_cast<std::byte*>(
      ::operator new[](std::max<std::size_t>(bytes.size(), 1), std::align_val_t{64})));
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

// Not constant, so that saturation, ReLU and tables have an effect.
void fill(std::span<std::byte> bytes) {
  unsigned value = 1;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((value = value * 1664525u + 1013904223u) >> 24);
}

// Reads every output frame.
unsigned touch(const Session& session) {
  unsigned sum = 0;
  const Model& model = session.prepared().model();
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    const OutputFrames out = session.output(static_cast<int>(i));
    const Placement& at = session.prepared().placement(model.outputs()[i]);
    if (out.count > 0)
      sum += std::to_integer<unsigned>(out.block[0]) + std::to_integer<unsigned>(out.block[at.bytes - 1]);
  }
  return sum;
}

Status run(const Model& model, RunMode mode) {
  HeapMemory memory(kMemoryLimit);
  PrepareOptions options;
  options.mode = mode;
  RUNNEL_ASSIGN(const Prepared* const prepared, Prepared::make(model, all_operators(), options, memory));
  RUNNEL_ASSIGN(Workspace* const workspace, Workspace::make(*prepared, memory));
  auto* state = static_cast<std::byte*>(memory.allocate(prepared->state_bytes(), 64));
  if (state == nullptr)
    return Status(Code::out_of_memory) << "a session of " << prepared->state_bytes() << " bytes";
  RUNNEL_ASSIGN(Session session, Session::make(*prepared, *workspace, {state, prepared->state_bytes()}));
  unsigned sum = 0;
  const auto step = [&](std::int64_t valid) {
    for (std::size_t i = 0; i < model.inputs().size(); ++i) fill(session.input(static_cast<int>(i)));
    session.run(valid);
    sum += touch(session);
  };
  if (mode == RunMode::whole) {
    step(prepared->block());
  } else {
    for (int i = 0; i < 3; ++i) step(prepared->block());
    step(prepared->block() - 1);
    for (int i = 0; i < 4 && session.flush_calls_left() > 0; ++i) step(0);
  }
  static volatile unsigned sink;
  sink = sum;
  static_cast<void>(sink);
  return {};
}

constexpr std::size_t kMostOfAStep = std::size_t{1} << 20;

// Filters to so few samples a second have up to a million coefficients.
bool is_slow_rate(const std::string& text) {
  const double rate = std::strtod(text.c_str(), nullptr);
  return rate >= 1 && rate < 100;
}

// Of a length that is no power of two, the tables of half a million points take a second, and sanitizers six.
constexpr double kMostPoints = 1 << 16;
bool is_long_transform(const std::string& text) { return std::strtod(text.c_str(), nullptr) > kMostPoints; }

// A short silence, as the source of graphs.
class Silence final : public pipeline::Node {
 public:
  static const pipeline::NodeType type;
  std::int64_t rate = 16000;
  std::int64_t channels = 1;

  Status prepare(pipeline::NodeContext& context) noexcept override {
    context.output.kind = pipeline::Kind::audio;
    context.output.dtype = DType::float32;
    context.output.channels = static_cast<std::int32_t>(channels);
    context.output.clock.sample_rate = rate;
    context.output.source = "silence";
    context.max_output = context.max_input;
    return {};
  }
  Status process(const pipeline::Block&, pipeline::Output& out) noexcept override {
    out.count = std::min<std::int64_t>(out.capacity, 2000 - position_);
    std::fill_n(out.as<float>(), out.count * channels, 0.25f);
    position_ += out.count;
    out.end = position_ == 2000;
    return {};
  }

 private:
  std::int64_t position_ = 0;
};

constexpr pipeline::Parameter kSilenceParameters[] = {
    pipeline::parameter<&Silence::rate>("rate", "Hz", 1000, 1000000, "sample rate"),
    pipeline::parameter<&Silence::channels>("channels", "", 1, 4, "channels"),
};
const pipeline::NodeType Silence::type = {
    .name = "silence",
    .help = "A short recording of one value.",
    .input = {},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "float32"},
    .parameters = kSilenceParameters,
    .make = pipeline::make_node<Silence>};

}  // namespace

Status feed_model(std::span<const std::byte> bytes, bool check_crc) {
  const AlignedBytes copy = exact_copy(bytes);
  const std::span<const std::byte> file(copy.get(), bytes.size());
  RUNNEL_ASSIGN(const Model model, Model::open(file, ModelOptions{.check_crc = check_crc}));
  const Status streamed = run(model, RunMode::stream), whole = run(model, RunMode::whole);
  // Whole-model checks take as much memory as they need: only for small models.
  if (whole.ok()) {
    RUNNEL_ASSIGN(const auto owned, OwnedModel::from_bytes(bytes, ModelOptions{.check_crc = check_crc}));
    RUNNEL_TRY(describe_model(owned).status());
    RUNNEL_TRY(check_vectors(owned).status());
  }
  return streamed.ok() ? whole : streamed;
}

Status feed_espdl(std::span<const std::byte> bytes, compiler::EspdlTarget target) {
  return feed_espdl(bytes, compiler::EspdlOptions{.target = target});
}

Status feed_espdl(std::span<const std::byte> bytes, const compiler::EspdlOptions& options) {
  const AlignedBytes copy = exact_copy(bytes);
  RUNNEL_ASSIGN(const compiler::EspdlImport imported,
                compiler::import_espdl({copy.get(), bytes.size()}, options));
  RUNNEL_ASSIGN(const compiler::WrittenModel written, compiler::write_model(imported.graph));
  return Model::open(written.bytes).status();
}

Status feed_foreign(std::span<const std::byte> bytes) {
  const AlignedBytes copy = exact_copy(bytes);
  const std::span<const std::byte> file(copy.get(), bytes.size());
  compiler::Graph graph;
  if (compiler::is_tflite(file)) {
    RUNNEL_ASSIGN(graph, compiler::import_tflite(file));
  } else if (compiler::is_pte(file)) {
    RUNNEL_ASSIGN(compiler::PteImport imported, compiler::import_pte(file));
    graph = std::move(imported.graph);
  } else {
    RUNNEL_ASSIGN(compiler::OnnxImport imported, compiler::import_onnx(file));
    graph = std::move(imported.graph);
  }
  RUNNEL_ASSIGN(const compiler::WrittenModel written, compiler::write_model(graph));
  return Model::open(written.bytes).status();
}

Status feed_attention(std::span<const std::byte> bytes) {
  const AlignedBytes copy = exact_copy(bytes);
  RUNNEL_ASSIGN(const compiler::OnnxImport imported, compiler::import_onnx({copy.get(), bytes.size()}));
  compiler::WriteOptions options;
  options.stream.time_axis = 1;
  options.stream.attention = compiler::AttentionWindow{2, 0, 1};
  RUNNEL_ASSIGN(const compiler::WrittenModel written, compiler::write_model(imported.graph, options));
  return feed_model(written.bytes, true);
}

Status feed_recording(const std::filesystem::path& path, std::string_view parameters) {
  const std::string text = "wav path='" + path.string() + "' " + std::string(parameters) + " ! null";
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(text, {}));
  return graph->run();
}

Status feed_graph(std::string_view text) {
  RUNNEL_ASSIGN(const pipeline::GraphText parsed, pipeline::parse_graph(text));
  const std::string again = pipeline::to_text(parsed);
  const auto second = pipeline::parse_graph(again);
  if (!second.ok()) return second.status().at("what was parsed and written cannot be parsed again");
  for (const pipeline::NodeText& node : parsed.nodes) {
    for (const pipeline::ParameterText& parameter : node.parameters) {
      if (node.type == "resample" && parameter.key == "rate" && is_slow_rate(parameter.value))
        return Status(Code::unsupported, "a resampler to a few Hz: its filter alone takes a second");
      if (parameter.key == "n_fft" && is_long_transform(parameter.value))
        return Status(Code::unsupported, "a transform of so many points: its tables alone take a second");
    }
  }
  static const std::vector<const pipeline::NodeType*> nodes = [] {
    // These touch no files.
    const pipeline::NodeTable device = pipeline::device_nodes();
    std::vector<const pipeline::NodeType*> all(device.begin(), device.end());
    all.push_back(&Silence::type);
    return all;
  }();
  pipeline::GraphOptions options;
  options.nodes = nodes;
  options.tick = 64;
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(text, options));
  // A text may ask for hours of work (a sound of 1 kHz as one of 768 kHz, with a spectrum for each sample),
  // and gets them: it is code. Here it is run where a step makes little.
  std::size_t made = 0;
  for (int i = 0; i < graph->size(); ++i)
    made += static_cast<std::size_t>(graph->capacity(i)) * graph->format(i).frame_bytes();
  if (made > kMostOfAStep)
    return Status(Code::unsupported) << "a step that makes " << made << " bytes: expected at most "
                                     << kMostOfAStep << " here";
  return graph->run();
}

}  // namespace runnel::test
