// Streams of one or more operations, made by hand and by the compiler's back end.
#include "npu/host/encoder/program.h"
#include "tests/npu/feed.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::Long;
using npu::OpCode;
using npu::Short;

// A convolution of 8 channels, its output pooled, added to itself, and copied.
Program several() {
  Program program;
  program.name = "several operations";
  std::vector<std::int16_t> weights(8 * 9 * 32, 3);
  for (int i = 0; i < 8; ++i) append_scale_record(program.constants, 100 * i, 1u << 30, 38);
  const std::int64_t at = static_cast<std::int64_t>(program.constants.size());
  const auto stream = plain_weights(weights);
  program.constants.insert(program.constants.end(), stream.begin(), stream.end());
  const MapSpec x{5, 4, 8, 1, true, false, 1, 0}, y{5, 4, 8, 1, true, true, 2, 512},
      z{2, 2, 8, 1, true, true, 2, 1024}, sum{2, 2, 8, 1, true, false, 0, 1536};
  StreamMaker maker;
  maker.ifm(x)
      .ofm(y)
      .kernel({3, 3, 1, 1, 1, 1, false, 1, 1, 1, 1})
      .set(Short::weight_region, 0)
      .set(Short::scale_region, 0);
  maker.set(Long::weight_base, at)
      .set(Long::weight_length, static_cast<std::int64_t>(stream.size()), 0)
      .set(Long::scale_base, 0)
      .set(Long::scale_length, 80, 0)
      .op(OpCode::conv);
  maker.ifm(y).ofm(z).kernel({2, 2, 2, 2}).op(OpCode::pool, 0);
  maker.ifm(z)
      .ifm2(z)
      .ofm(sum, npu::Rounding::natural, true)
      .scale(Long::opa_scale, 1, 0)
      .scale(Long::opb_scale, 1, 0)
      .scale(Long::ofm_scale, 1, 1)
      .op(OpCode::elementwise, 1);
  maker.set(Short::dma_source_region, 1)
      .set(Long::dma_source, 1536)
      .set(Short::dma_target_region, 1)
      .set(Long::dma_target, 2048)
      .set(Long::dma_length, 32, 0);
  maker.op(OpCode::kernel_wait).op(OpCode::dma_start).op(OpCode::dma_wait);
  program.payload = maker.payload();
  program.scratch = 4096;
  return program;
}

// A map in rows of all channels, without gaps.
npu::FeatureMap rows(std::int32_t height, std::int32_t width, std::int32_t depth, std::uint8_t element) {
  npu::FeatureMap map;
  map.height = map.height0 = map.height1 = height;
  map.width = map.width0 = width;
  map.depth = depth;
  map.element = element;
  map.is_signed = true;
  map.stride_c = element;
  map.stride_x = std::int64_t{element} * depth;
  map.stride_y = map.stride_x * width;
  return map;
}

npu::Step start(npu::OperationKind kind, int mode, const npu::FeatureMap& in, npu::BufferId from,
                const npu::FeatureMap& out, npu::BufferId to) {
  npu::Step step;
  step.op.kind = kind;
  step.op.mode = static_cast<std::uint8_t>(mode);
  step.op.ifm = in;
  step.op.ofm = out;
  step.op.opa_scale = step.op.opb_scale = step.op.ofm_scale = {1, 0};
  step.op.activation.low = -128;
  step.op.activation.high = 127;
  step.ifm = from;
  step.ofm = to;
  return step;
}

// Without a payload if it could not be made.
Program finished(const char* name, npu::Program& made) {
  Program program;
  program.name = name;
  auto compiled = made.finish();
  if (!compiled.ok()) return program;
  program.payload = std::move(compiled->payload);
  program.constants = std::move(compiled->constants);
  program.scratch = compiled->scratch;
  program.fast_scratch = compiled->fast_scratch;
  return program;
}

// A depthwise convolution with a table after it, and the steps of a reciprocal: powers of e by a 32-bit
// table, shifted, summed, and shifted by their leading zeros.
Program tables() {
  npu::ProgramOptions options;
  options.accelerator = *npu::find_accelerator(std::string_view("ethos-u55-128"));
  npu::Program made(options);
  const auto buffer = [&](const npu::FeatureMap& map) {
    return made.buffer(static_cast<std::size_t>(map.stride_y), npu::Program::Lifetime::always);
  };
  const npu::FeatureMap bytes = rows(1, 6, 12, 1), words = rows(1, 6, 12, 4), one = rows(1, 6, 1, 4);
  const npu::BufferId x = buffer(bytes), y = buffer(bytes), power = buffer(words), sum = buffer(one),
                      zeros = buffer(one);
  const auto two = [](npu::Step step, const npu::FeatureMap& map, npu::BufferId from, int broadcast) {
    step.op.has_ifm2 = true;
    step.op.ifm2 = map;
    step.op.broadcast = static_cast<std::uint8_t>(broadcast);
    step.ifm2 = from;
    return step;
  };
  using npu::OperationKind;
  npu::Step depthwise = start(OperationKind::depthwise, 0, bytes, x, bytes, y);
  depthwise.op.kernel.width = 3;
  depthwise.op.kernel.left = depthwise.op.kernel.right = 1;
  for (std::int16_t i = 0; i < 36; ++i) depthwise.weights.push_back(static_cast<std::int16_t>(i - 18));
  depthwise.scales.assign(12, {5, 1u << 30, 34});
  depthwise.op.activation.function = npu::Activation::kFirstTable;
  for (int i = 0; i < 256; ++i) depthwise.table.push_back(static_cast<std::byte>(255 - i));
  made.add(depthwise);
  npu::Step powers = two(
      start(OperationKind::elementwise, static_cast<int>(npu::ElementwiseMode::sub), bytes, y, words, power),
      bytes, x, 0);
  powers.op.activation.function = npu::Activation::kFirstTable;
  for (int i = 0; i < 1024; ++i) powers.table.push_back(static_cast<std::byte>(i % 4 == 3 ? 0 : i / 3));
  made.add(powers);
  made.add(two(start(OperationKind::elementwise, static_cast<int>(npu::ElementwiseMode::mul), words, power,
                     words, power),
               words, power, 0));
  npu::Step add =
      start(OperationKind::pool, static_cast<int>(npu::PoolMode::reduce_sum), words, power, one, sum);
  add.op.global_scale = true;
  made.add(add);
  made.add(
      start(OperationKind::elementwise, static_cast<int>(npu::ElementwiseMode::clz), one, sum, one, zeros));
  made.add(two(start(OperationKind::elementwise, static_cast<int>(npu::ElementwiseMode::shl), words, power,
                     words, power),
               one, zeros, 1 << 2));
  made.add(two(
      start(OperationKind::elementwise, static_cast<int>(npu::ElementwiseMode::shr), words, power, bytes, y),
      one, zeros, 1 << 2));
  return finished("tables and words", made);
}

// Three layers with bricks of channels between them, from and to external memory.
Program bricks() {
  npu::ProgramOptions options;
  options.accelerator = *npu::find_accelerator(std::string_view("ethos-u65-256"));
  npu::Program made(options);
  const npu::FeatureMap map = rows(4, 5, 32, 1);
  const auto bytes = static_cast<std::size_t>(map.stride_y * map.height);
  const npu::BufferId x = made.own_region(), between[] = {made.buffer(bytes), made.buffer(bytes)},
                      y = made.own_region();
  const auto layer = [&](npu::OperationKind kind, npu::BufferId from, npu::BufferId to) {
    npu::Step step = start(kind, 0, map, from, map, to);
    const bool depthwise = kind == npu::OperationKind::depthwise;
    if (depthwise) {
      step.op.kernel.height = step.op.kernel.width = 3;
      step.op.kernel.top = step.op.kernel.left = step.op.kernel.bottom = step.op.kernel.right = 1;
    }
    for (int i = 0; i < 32 * (depthwise ? 9 : 32); ++i)
      step.weights.push_back(static_cast<std::int16_t>(i * 37 % 255 - 127));
    step.scales.assign(32, {-7, 1u << 30, 40});
    made.add(step);
  };
  layer(npu::OperationKind::conv, x, between[0]);
  layer(npu::OperationKind::depthwise, between[0], between[1]);
  layer(npu::OperationKind::conv, between[1], y);
  Program program = finished("bricks between borders", made);
  program.inputs.push_back({"x", 0, bytes, 0, false, npu::kFirstOwn});
  program.outputs.push_back({"y", 0, bytes, 0, false, npu::kFirstOwn + 1});
  return program;
}

}  // namespace

std::vector<Program> made_programs() { return {several(), tables(), bricks()}; }

}  // namespace runnel::test
