#include "tests/npu/feed.h"

#include "npu/decoder.h"
#include "npu/host/disassemble.h"
#include "npu/host/simulator/simulator.h"
#include "npu/validate.h"
#include "tests/npu/stream_maker.h"

namespace runnel::test {
namespace {

class Counter final : public npu::ViolationSink {
 public:
  void report(const npu::Operation&, std::string_view, std::string_view what) noexcept override {
    letters_ += what.size();
  }

 private:
  std::size_t letters_ = 0;
};

}  // namespace

Status feed_payload(const Program& beside, std::span<const std::byte> payload) {
  RUNNEL_ASSIGN(npu::Segment segment, segment_of(payload, beside.constants, beside.scratch));
  segment.fast_scratch = beside.fast_scratch;
  segment.inputs = beside.inputs;
  segment.outputs = beside.outputs;
  const auto sizes = segment.region_sizes();
  Counter counter;
  npu::ValidatorLimits limits;
  limits.regions = sizes;
  limits.work = beside.work;
  npu::Validator validator(*segment.accelerator, limits, counter);
  npu::Decoder decoder(segment.payload.commands, *segment.accelerator);
  for (npu::Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) break;
    validator.check(op);
    if (npu::to_text(op).empty() || npu::to_json(op).empty())
      return Status(Code::mismatch, "an operation without text");
  }
  RUNNEL_ASSIGN(const auto simulator, npu::Simulator::make(segment, {beside.work}));
  return simulator->run();
}

}  // namespace runnel::test
