#include "tests/npu/feed.h"

#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/simulator.h"
#include "npu/validate.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

using npu::Long;
using npu::OpCode;
using npu::Short;

constexpr std::uint64_t kWork = std::uint64_t{1} << 18;

class Counter final : public npu::ViolationSink {
 public:
  void report(const npu::Operation&, std::string_view, std::string_view what) noexcept override { letters_ += what.size(); }

 private:
  std::size_t letters_ = 0;
};

// A convolution of 8 channels, its output pooled, added to itself, and copied.
Program several() {
  Program program;
  program.name = "several operations";
  std::vector<std::int16_t> weights(8 * 9 * 32, 3);
  for (int i = 0; i < 8; ++i) append_scale_record(program.constants, 100 * i, 1u << 30, 38);
  const std::int64_t at = static_cast<std::int64_t>(program.constants.size());
  const auto stream = plain_weights(weights);
  program.constants.insert(program.constants.end(), stream.begin(), stream.end());
  const MapSpec x{5, 4, 8, 1, true, false, 1, 0}, y{5, 4, 8, 1, true, true, 2, 512}, z{2, 2, 8, 1, true, true, 2, 1024}, sum{2, 2, 8, 1, true, false, 0, 1536};
  StreamMaker maker;
  maker.ifm(x).ofm(y).kernel({3, 3, 1, 1, 1, 1, false, 1, 1, 1, 1}).set(Short::weight_region, 0).set(Short::scale_region, 0);
  maker.set(Long::weight_base, at).set(Long::weight_length, static_cast<std::int64_t>(stream.size()), 0).set(Long::scale_base, 0).set(Long::scale_length, 80, 0).op(OpCode::conv);
  maker.ifm(y).ofm(z).kernel({2, 2, 2, 2}).op(OpCode::pool, 0);
  maker.ifm(z).ifm2(z).ofm(sum, npu::Rounding::natural, true).scale(Long::opa_scale, 1, 0).scale(Long::opb_scale, 1, 0).scale(Long::ofm_scale, 1, 1).op(OpCode::elementwise, 1);
  maker.set(Short::dma_source_region, 1).set(Long::dma_source, 1536).set(Short::dma_target_region, 1).set(Long::dma_target, 2048).set(Long::dma_length, 32, 0);
  maker.op(OpCode::kernel_wait).op(OpCode::dma_start).op(OpCode::dma_wait);
  program.payload = maker.payload();
  program.scratch = 4096;
  return program;
}

}  // namespace

std::vector<Program> made_programs() { return {several()}; }

Status feed_payload(const Program& beside, std::span<const std::byte> payload) {
  RUNNEL_ASSIGN(npu::Segment segment, segment_of(payload, beside.constants, beside.scratch));
  segment.fast_scratch = beside.fast_scratch;
  const auto sizes = segment.region_sizes();
  Counter counter;
  npu::ValidatorLimits limits;
  limits.regions = sizes;
  limits.work = kWork;
  npu::Validator validator(*segment.accelerator, limits, counter);
  npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
  for (npu::Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) break;
    validator.check(op);
    if (npu::to_text(op).empty()) return Status(Code::mismatch, "an operation without text");
  }
  RUNNEL_ASSIGN(const auto simulator, npu::Simulator::make(segment, {kWork}));
  return simulator->run();
}

}  // namespace runnel::test
