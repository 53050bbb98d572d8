#include "npu/host/simulator/u85/executor.h"

#include <cstring>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/host/u85/weights.h"
#include "npu/u85/configuration.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::size_t kMostInside = std::size_t{1} << 26;  // elements of a map that is not in memory

// Values of the stored map, from those before reversal and transposition.
std::vector<std::int64_t> arranged(const Operation& op, const std::vector<std::int64_t>& values) {
  const FeatureMap stored = stored_output(op);
  std::vector<std::int64_t> out(values.size());
  const std::int64_t height = op.ofm.height, width = op.ofm.width, depth = op.ofm.depth;
  // Distances in the stored map for steps of the computed one.
  const std::int64_t rows = std::int64_t{stored.width} * stored.depth, columns = stored.depth;
  std::int64_t y_step = rows, x_step = columns, c_step = 1;
  switch (op.u85.transpose) {
    case Transpose::hwc:
      break;
    case Transpose::whc:
      y_step = columns, x_step = rows;
      break;
    case Transpose::hcw:
      x_step = 1, c_step = columns;
      break;
    case Transpose::wch:
      y_step = 1, x_step = rows, c_step = columns;
      break;
    case Transpose::chw:
      y_step = columns, x_step = 1, c_step = rows;
      break;
    case Transpose::cwh:
      y_step = 1, x_step = columns, c_step = rows;
      break;
  }
  std::size_t at = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t to_y = op.u85.reversed == Axis::height ? height - 1 - y : y;
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t to_x = op.u85.reversed == Axis::width ? width - 1 - x : x;
      for (std::int64_t c = 0; c < depth; ++c, ++at) {
        const std::int64_t to_c = op.u85.reversed == Axis::depth ? depth - 1 - c : c;
        out[static_cast<std::size_t>(to_y * y_step + to_x * x_step + to_c * c_step)] = values[at];
      }
    }
  }
  return out;
}

}  // namespace

Status check_executable(const Operation& op, const Accelerator& accelerator) noexcept {
  if (!op.computes()) return {};
  for (const FeatureMap* map : {&op.ifm, &op.ifm2, &op.ofm}) {
    if (map->width0 == 0 && elements_of(*map) > kMostInside)
      return Status(Code::invalid_data)
             << "a map of " << elements_of(*map) << " elements inside the accelerator, expected at most "
             << kMostInside;
  }
  if (op.ifm.element == 8) return Status(Code::unsupported) << "operands of 64 bits";
  const bool start = op.kind != OperationKind::elementwise && op.u85.start == AccumulatorStart::ifm2;
  if (op.ifm2.element == 8 && !start) return Status(Code::unsupported) << "operands of 64 bits";
  if (convolves(op)) {
    const int bits =
        8 * (op.u85.second_weights && op.ifm2.element > op.ifm.element ? op.ifm2 : op.ifm).element;
    if (bits > 16) return Status(Code::unsupported) << "a convolution of " << bits << " bits";
    if (!op.u85.second_weights && microblock(accelerator, op.microblock).depth == 0)
      return Status(Code::invalid_data)
             << "micro-block " << op.microblock << ", which " << accelerator.name << " does not have";
  }
  return {};
}

void Executor::read(const FeatureMap& map, Values& values) const {
  if (map.storage == Storage::chained)
    values = chained_[map.region];
  else
    read_map(map, memory_->read(map.region), values);
}
void Executor::read_operand(const FeatureMap& map, Values& values) const {
  read(map, values);
  for (std::int64_t& value : values) value -= map.zero_point;
}

void Executor::write(const Operation& op) {
  if (op.ofm.storage == Storage::none) return;
  if (op.ofm.storage == Storage::chained) {
    chained_[op.ofm.region] = result_;
    return;
  }
  const std::span<std::byte> to = memory_->regions[op.ofm.region];
  if (op.u85.transpose == Transpose::hwc && op.u85.reversed == Axis::none)
    return write_map(op.ofm, to, std::span<const std::int64_t>(result_));
  const Values stored = arranged(op, result_);
  write_map(stored_output(op), to, std::span<const std::int64_t>(stored));
}

bool Executor::accumulate(const Operation& op) {
  const auto add = [&](const Values& other) {
    for (std::size_t i = 0; i < result_.size(); ++i)
      result_[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(result_[i]) +
                                             static_cast<std::uint64_t>(other[i]));
  };
  if (op.u85.start == AccumulatorStart::keep) add(accumulators_);
  if (op.u85.start == AccumulatorStart::ifm2) {
    read(op.ifm2, second_);
    add(second_);
  }
  const int bits = op.acc_format == 0 ? 32 : 48;
  for (std::int64_t& value : result_) value = wrap(value, bits);
  if (op.u85.kept) accumulators_ = result_;
  return !op.u85.silent;
}

std::vector<ScaleRecord> Executor::scales_of(const Operation& op, const Memories& memory) const {
  if (!op.global_scale) return records(op, memory);
  return std::vector<ScaleRecord>(static_cast<std::size_t>(op.ofm.depth),
                                  {0, op.u85.ofm_scale.multiplier, op.u85.ofm_scale.shift});
}
std::vector<ScaleRecord> Executor::records(const Operation& op, const Memories& memory) {
  std::vector<ScaleRecord> records(static_cast<std::size_t>(op.ofm.depth));
  const std::byte* from = memory.read(op.scale_region).data() + op.scales[0].base;
  for (ScaleRecord& record : records) {
    record = read_scale_record(from, op.acc_format != 0);
    from += kScaleRecord;
  }
  return records;
}

// Accumulators in result_ become stored elements.
void Executor::scale(const Operation& op) {
  const OutputStage output(op, tables_, fault_);
  if (op.global_scale) {
    for (std::int64_t& value : result_) value = output(value);
    return;
  }
  const std::vector<ScaleRecord> scales = records(op);
  // Convolutions have added the bias before they wrapped.
  const bool biased = !convolves(op);
  for (std::size_t i = 0; i < result_.size();) {
    for (const ScaleRecord& record : scales) {
      result_[i] =
          output(Wide{result_[i]} + (biased ? record.bias : 0), npu::Scale{record.multiplier, record.shift});
      ++i;
    }
  }
}

Status Executor::execute(const Operation& op, const Memories& memory) {
  memory_ = &memory;
  result_.clear();
  unread_ = {};
  switch (op.kind) {
    case OperationKind::conv:
    case OperationKind::depthwise:
      RUNNEL_TRY(convolution(op));
      break;
    case OperationKind::pool:
      pool(op);
      break;
    case OperationKind::elementwise:
      elementwise(op);
      break;
    case OperationKind::resize:
      resize(op);
      break;
    case OperationKind::dma:
      return copy(op);
    default:
      return {};
  }
  if (!result_.empty()) write(op);
  return {};
}

void Executor::store(const Operation& op, const OutputStage& output, const KernelOutput& kernel,
                     std::span<std::byte> results) {
  const bool in_place = op.ofm.storage != Storage::chained && op.ofm.storage != Storage::none &&
                        op.u85.transpose == Transpose::hwc && op.u85.reversed == Axis::none &&
                        output.finish(results);
  if (in_place) {
    write_bytes(op.ofm, memory_->regions[op.ofm.region], results);
    unread_ = results;
    return;
  }
  FeatureMap dense;
  dense.element = kernel.element;
  dense.is_signed = kernel.is_signed;
  result_.resize(elements_of(op.ofm));
  load_elements(dense, results.data(), result_.size(), result_.data());
  output.finish(result_);
}

std::span<const std::int64_t> Executor::result(const Operation& op) {
  if (unread_.empty()) return result_;
  result_.resize(elements_of(op.ofm));
  load_elements(op.ofm, unread_.data(), result_.size(), result_.data());
  unread_ = {};
  return result_;
}

// Rows of bytes in order; a number from memory may replace a row's.
Status Executor::copy(const Operation& op) {
  const Dma& dma = op.dma;
  const Fields& u85 = op.u85;
  const std::span<const std::byte> from =
      dma.source.internal ? std::span<const std::byte>(tables_) : memory_->read(dma.source.region);
  const std::span<std::byte> to =
      dma.target.internal ? std::span(tables_) : memory_->regions[dma.target.region];
  const bool indexed = u85.source.indexed || u85.target.indexed;
  for (std::int64_t plane = 0; plane < dma.planes; ++plane) {
    for (std::int64_t row = 0; row < dma.rows; ++row) {
      std::int64_t number = 0;
      if (indexed) {
        std::int32_t index = 0;
        std::memcpy(&index,
                    memory_->read(u85.index_region).data() + u85.index_address + plane * u85.index_skip +
                        4 * (row + plane * dma.rows),
                    sizeof index);
        if (index < 0 || index > u85.index_most)
          return Status(Code::invalid_data)
                 << "index " << index << " of row " << row << ", expected 0 to " << u85.index_most;
        number = index;
      }
      const auto offset = [&](const DmaPlace& place, const CopyEnd& end) {
        return static_cast<std::size_t>(place.address + (end.indexed ? number : row) * end.row +
                                        plane * end.plane);
      };
      std::memmove(to.data() + offset(dma.target, u85.target), from.data() + offset(dma.source, u85.source),
                   static_cast<std::size_t>(dma.length));
    }
  }
  return {};
}

}  // namespace runnel::npu::u85
