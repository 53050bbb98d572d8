#include "npu/port.h"

#include "base/checked.h"

namespace runnel::npu {
namespace {

// Names of the port attributes, for the program for whole clips and the one for blocks.
struct PortAttributes {
  std::string_view offsets[2], regions[2];  // inputs, outputs
};
constexpr PortAttributes kWhole{{"input_offsets", "output_offsets"}, {"input_regions", "output_regions"}},
    kBlock{{"block_input_offsets", "block_output_offsets"}, {"block_input_regions", "block_output_regions"}};

// Reads the place of port `index` of known size; no region belongs to two ports.
Status read_place(const DelegateSegment& delegate, const PortAttributes& names, bool output,
                  std::size_t index, std::size_t scratch, PortPlace& port) noexcept {
  const auto offsets = delegate.attributes().integers(names.offsets[output]);
  const std::size_t ports[] = {delegate.inputs().size(), delegate.outputs().size()};
  if (offsets.size() != ports[output])
    return Status(Code::invalid_data) << "attribute " << names.offsets[output] << " has " << offsets.size()
                                      << " values for " << ports[output] << " tensors";
  const auto fail = [&](Code code) {
    return Status(code) << (output ? "output " : "input ") << index << ": ";
  };
  std::int64_t region = kScratch;
  for (const bool side : {false, true}) {
    const auto regions = delegate.attributes().integers(names.regions[side]);
    if (regions.empty()) continue;
    if (regions.size() != ports[side])
      return Status(Code::invalid_data) << "attribute " << names.regions[side] << " has " << regions.size()
                                        << " values for " << ports[side] << " tensors";
    if (side == output) region = regions[index];
  }
  if (region != kScratch && (region < kFirstOwn || region >= static_cast<std::int64_t>(kRegions)))
    return fail(Code::invalid_data) << "it lies in region " << region;
  if (region != kScratch) {
    int users = 0;
    for (const bool side : {false, true}) {
      for (const std::int64_t other : delegate.attributes().integers(names.regions[side]))
        users += other == region ? 1 : 0;
    }
    if (users != 1)
      return fail(Code::invalid_data) << users << " inputs and outputs lie in region " << region;
    if (port.tensor < 0) return fail(Code::invalid_data) << "memory that is kept lies in region " << region;
  }
  if (offsets[index] < 0) return fail(Code::unsupported) << "the file does not state its place";
  const std::size_t memory = region == kScratch ? scratch : port.bytes;
  if (!range_inside(static_cast<std::uint64_t>(offsets[index]), port.bytes, memory)) {
    return fail(Code::invalid_data) << port.bytes << " bytes at " << offsets[index] << ", outside of the "
                                    << (region == kScratch ? "scratch memory of " : "region of ") << memory;
  }
  port.offset = static_cast<std::size_t>(offsets[index]);
  port.region = static_cast<std::uint8_t>(region);
  return {};
}

}  // namespace

Result<std::size_t> read_size(const DelegateSegment& delegate, std::string_view name,
                              std::size_t most) noexcept {
  RUNNEL_ASSIGN(const std::int64_t bytes, delegate.attributes().integer(name, 0));
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > most)
    return Status(Code::invalid_data)
           << "attribute " << name << " is " << bytes << ", expected 0 to " << most;
  return static_cast<std::size_t>(bytes);
}

Result<PortPlace> read_port(const Model& model, const DelegateSegment& delegate, bool output,
                            std::size_t index, std::size_t scratch) noexcept {
  const auto tensors = output ? delegate.outputs() : delegate.inputs();
  const auto states = delegate.attributes().integers("state_bytes"),
             values = delegate.attributes().integers("state_values");
  PortPlace port;
  port.tensor = tensors[index];
  if (port.tensor >= 0) {
    port.bytes = model.tensor(port.tensor).bytes();
  } else {
    if (output || index >= states.size() || states[index] <= 0)
      return Status(Code::invalid_data)
             << (output ? "output " : "input ") << index << ": it is absent, and no state";
    port.bytes = static_cast<std::size_t>(states[index]);
    port.fill = index < values.size() ? static_cast<std::uint8_t>(values[index]) : 0;
  }
  RUNNEL_TRY(read_place(delegate, kWhole, output, index, scratch, port));
  return port;
}

Result<PortPlace> read_block_port(const Model& model, const DelegateSegment& delegate, bool output,
                                  std::int64_t frames, int axis, std::size_t scratch) noexcept {
  PortPlace port;
  port.tensor = output ? delegate.outputs()[0] : delegate.inputs()[0];
  const TensorView view = model.tensor(port.tensor);
  port.bytes = view.bytes() / static_cast<std::size_t>(view.shape[axis]) * static_cast<std::size_t>(frames);
  RUNNEL_TRY(read_place(delegate, kBlock, output, 0, scratch, port));
  return port;
}

}  // namespace runnel::npu
