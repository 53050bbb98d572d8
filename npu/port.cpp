#include "npu/port.h"

#include "base/checked.h"

namespace runnel::npu {

Result<std::size_t> read_size(const DelegateSegment& delegate, std::string_view name, std::size_t most) noexcept {
  RUNNEL_ASSIGN(const std::int64_t bytes, delegate.attributes().integer(name, 0));
  if (bytes < 0 || static_cast<std::uint64_t>(bytes) > most) return Status(Code::invalid_data) << "attribute " << name << " is " << bytes << ", expected 0 to " << most;
  return static_cast<std::size_t>(bytes);
}

Result<PortPlace> read_port(const Model& model, const DelegateSegment& delegate, bool output, std::size_t index, std::size_t scratch) noexcept {
  const std::string_view what = output ? "output" : "input", attribute = output ? "output_offsets" : "input_offsets";
  const auto tensors = output ? delegate.outputs() : delegate.inputs();
  const auto offsets = delegate.attributes().integers(attribute), states = delegate.attributes().integers("state_bytes"), values = delegate.attributes().integers("state_values");
  if (offsets.size() != tensors.size()) return Status(Code::invalid_data) << "attribute " << attribute << " has " << offsets.size() << " values for " << tensors.size() << " tensors";
  const auto fail = [&] { return Status(Code::invalid_data) << what << ' ' << index << ": "; };
  PortPlace port;
  port.tensor = tensors[index];
  if (port.tensor >= 0) {
    port.bytes = model.tensor(port.tensor).bytes();
  } else {
    if (output || index >= states.size() || states[index] <= 0) return fail() << "it is absent, and no state";
    port.bytes = static_cast<std::size_t>(states[index]);
    port.fill = index < values.size() ? static_cast<std::uint8_t>(values[index]) : 0;
  }
  if (offsets[index] < 0) return Status(Code::unsupported) << what << ' ' << index << ": the file does not say where it lies";
  if (!range_inside(static_cast<std::uint64_t>(offsets[index]), port.bytes, scratch)) {
    return fail() << port.bytes << " bytes at " << offsets[index] << ", outside of the scratch memory of " << scratch;
  }
  port.offset = static_cast<std::size_t>(offsets[index]);
  return port;
}

}  // namespace runnel::npu
