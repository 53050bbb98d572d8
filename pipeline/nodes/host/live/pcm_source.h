// The base of sources of bare samples.
#pragma once

#include <string_view>
#include <vector>

#include "pipeline/host/live/byte_input.h"
#include "pipeline/host/live/sample_code.h"
#include "pipeline/node.h"
#include "pipeline/nodes/host/live/live_source.h"

namespace runnel::pipeline {

// Gives float32 as soon as whole frames have arrived. Samples are interleaved and of one type; a read may end
// within a frame.
class PcmSource : public Node, public LiveSource {
 public:
  std::string_view format = "s16";
  std::int32_t rate = 16000;
  std::int32_t channels = 1;
  std::string_view nan = "error";
  std::string_view truncated = "error";

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Text note() const noexcept override;
  CaptureFacts capture_facts() const override { return {}; }
  std::int64_t waited_nanoseconds() const noexcept override { return input_.waited_nanoseconds(); }

 protected:
  // Opens input_.
  virtual Status open(NodeContext& context) noexcept = 0;
  // Reads between 1 and room.size() bytes of samples; 0: the end.
  virtual Result<std::size_t> read(std::span<std::byte> room) noexcept = 0;

  ByteInput input_;

 private:
  Status check_start() const noexcept;
  Status check(std::int64_t frames) noexcept;

  SampleCode code_ = SampleCode::s16;
  std::size_t frame_bytes_ = 2;
  std::vector<std::byte> bytes_;
  std::size_t have_ = 0;       // of bytes_
  std::int64_t position_ = 0;  // frames given
  std::int64_t replaced_ = 0;  // values that were not finite
  std::size_t cut_ = 0;        // bytes of an incomplete frame
};

// The parameters that all such sources share.
inline constexpr Parameter kPcmParameters[] = {
    text_parameter<&PcmSource::format>(
        "format", "s16|s32|s24|s24_3|float",
        "little-endian samples: integers of 16, 32, 24 in 32, and 24 bits in 3 bytes, or float32"),
    parameter<&PcmSource::rate>("rate", "Hz", 1, 768000, "samples per second and channel"),
    parameter<&PcmSource::channels>("channels", "", 1, 1024, "interleaved channels"),
    text_parameter<&PcmSource::nan>(
        "nan", "error|zero",
        "float samples that are infinite or not a number: refused, or replaced by 0 and counted"),
    text_parameter<&PcmSource::truncated>(
        "truncated", "error|accept",
        "a stream that ends within a frame: refused, or taken as far as it goes"),
};

}  // namespace runnel::pipeline
