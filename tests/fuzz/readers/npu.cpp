// Command streams of an Ethos-U, from device libraries alone (scripts/fuzz_device32.sh builds them for 32
// bits).
#include <array>
#include <cstddef>

#include "npu/decoder.h"
#include "npu/payload.h"
#include "npu/validate.h"
#include "tests/fuzz/readers/blocks.h"
#include "tests/fuzz/readers/reader.h"

namespace runnel::fuzz {
namespace {

class Counter final : public npu::ViolationSink {
 public:
  void report(const npu::Operation&, std::string_view, std::string_view what) noexcept override {
    letters_ += what.size();
  }

 private:
  std::size_t letters_ = 0;
};

// The payload of a driver for an Ethos-U55, U65 or U85, as a device reads and judges it before it starts it.
Status feed_npu_stream(std::span<const std::byte> bytes) {
  Blocks memory(bytes.size() + 64);
  RUNNEL_ASSIGN(const npu::Payload payload, npu::read_payload(copied(memory, bytes)));
  RUNNEL_ASSIGN(const npu::Accelerator* const accelerator, npu::find_accelerator(payload.config));
  Counter counter;
  npu::ValidatorLimits limits;
  constexpr std::array<std::uint64_t, 8> kRegions = {4096, 4096, 4096};
  limits.regions = kRegions;
  limits.work = 1 << 18;
  npu::Validator validator(*accelerator, limits, counter);
  npu::Decoder decoder(payload.commands, *accelerator);
  for (npu::Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) return {};
    validator.check(op);
  }
}

}  // namespace

std::vector<Reader> npu_readers() {
  return {{"npu_stream",
           feed_npu_stream,
           {corpus_file("npu_stream/several_operations"), corpus_file("npu_stream/bricks_u65"),
            corpus_file("npu_stream/u85_elementwise"), corpus_file("npu_stream/u85_pool")}}};
}

}  // namespace runnel::fuzz
