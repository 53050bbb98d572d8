#include "npu/host/simulator/simulator.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "npu/bounds.h"
#include "npu/decoder.h"
#include "npu/host/simulator/feature_map.h"
#include "npu/u85/chains.h"

namespace runnel::npu {
namespace {

// The limit for maps that name the same bytes repeatedly.
constexpr std::uint64_t kMaxAliases = 64;

Status named(const Operation& op, const Status& status) {
  return Status(status.code()) << "operation " << op.index << " (word " << op.word << "), " << name_of(op)
                               << ": " << status.text();
}

}  // namespace

Result<std::unique_ptr<Simulator>> Simulator::make(const Segment& segment, const SimulatorOptions& options) {
  auto simulator = std::unique_ptr<Simulator>(new Simulator(segment));
  RUNNEL_TRY(simulator->prepare(options));
  return simulator;
}

Status Simulator::prepare(const SimulatorOptions& options) {
  constexpr bool kFollow = true;
  Decoder decoder(segment_.payload.commands, *segment_.accelerator, kFollow);
  const bool u85 = segment_.accelerator->product == Product::u85;
  u85::Chains chains;
  for (Operation op;;) {
    RUNNEL_ASSIGN(const bool more, decoder.next(op));
    if (!more) break;
    if (const Status status = check(op); !status.ok()) return named(op, status);
    if (u85) {
      if (const Status status = chains.follow(op); !status.ok()) return named(op, status);
    }
    if (!checked_add(work_, work_of(op, *segment_.accelerator), work_) || work_ > options.work) {
      return named(op, Status(Code::invalid_data)
                           << "work up to here is " << work_ << ", expected at most " << options.work);
    }
    operations_.push_back(op);
  }
  for (const std::vector<Port>* ports : {&segment_.inputs, &segment_.outputs}) {
    for (const Port& port : *ports) {
      const std::uint64_t size = segment_.region_sizes()[port.region];
      if (!range_inside(port.offset, port.bytes, size))
        return Status(Code::invalid_data) << port.bytes << " bytes at " << port.offset << " of " << size;
    }
  }
  weights_.resize(operations_.size());
  if (u85) {
    u85::mark_kept(operations_);
    u85_.emplace(*segment_.accelerator, operations_.size(), options.isa, options.fault);
    for (Operation& op : operations_) u85::plant(options.fault, op);
  }
  kernels_.resize(operations_.size());
  pairs_.resize(operations_.size());
  isa_ = options.isa;
  fault_ = options.fault;
  reset();
  return {};
}

void Simulator::reset() {
  const auto sizes = segment_.region_sizes();
  for (std::size_t i = kScratch; i < kRegions; ++i) {
    memories_[i].assign(static_cast<std::size_t>(sizes[i]), std::byte{0});
    regions_[i] = memories_[i];
  }
  internal_.assign(segment_.accelerator->shram_bytes(), std::byte{0});
  if (u85_) u85_->reset();
  for (const Port& port : segment_.inputs) {
    if (port.kept)
      std::fill_n(memories_[kScratch].begin() + static_cast<std::ptrdiff_t>(port.offset), port.bytes,
                  fault_ == u85::Fault::states_start_at_zero ? std::byte{0} : std::byte{port.fill});
  }
}

// Checks beyond bounds.h: constants are not written, and no map is much larger than its memory.
Status Simulator::check(const Operation& op) const {
  const auto sizes = segment_.region_sizes();
  RUNNEL_TRY(check_bounds(op, *segment_.accelerator, sizes));
  const auto writes = [&](std::uint8_t region) -> Status {
    if (region == kConstants) return Status(Code::invalid_data) << "writes into region 0, the constants";
    const auto is_input = [&](const Port& port) { return port.region == region && region >= kFirstOwn; };
    if (std::any_of(segment_.inputs.begin(), segment_.inputs.end(), is_input))
      return Status(Code::invalid_data) << "writes into region " << int{region} << ", an input";
    return {};
  };
  if (op.kind == OperationKind::dma) return op.dma.target.internal ? Status() : writes(op.dma.target.region);
  if (!op.computes()) return {};
  if (op.ofm.width0 > 0) RUNNEL_TRY(writes(op.ofm.region));
  RUNNEL_TRY(check_maps(op));
  if (segment_.accelerator->product == Product::u85) return u85::check_executable(op, *segment_.accelerator);
  return check_first_generations(op);
}

Status Simulator::check_maps(const Operation& op) const {
  const auto sizes = segment_.region_sizes();
  for (const FeatureMap* map : {&op.ifm, &op.ifm2, &op.ofm}) {
    const std::uint64_t size = sizes[map->region];
    if (map->width0 > 0 && elements_of(*map) > kMaxAliases * size + 1)
      return Status(Code::invalid_data)
             << "a map of " << elements_of(*map) << " elements in a region of " << size << " bytes";
  }
  return {};
}

// Of U55 and U65.
Status Simulator::check_first_generations(const Operation& op) const {
  if (op.block_depth < op.cores)
    return Status(Code::invalid_data)
           << "blocks of " << op.block_depth << " channels for " << op.cores << " cores";
  const std::uint16_t function = op.activation.function;
  if ((function == Activation::kTanh || function == Activation::kSigmoid) && op.ofm.element != 2) {
    return Status(Code::unsupported) << "tanh or sigmoid in hardware for an output of " << 8 * op.ofm.element
                                     << " bits: how it is computed is not known";
  }
  return {};
}

std::span<const std::byte> Simulator::memory(std::uint8_t region) const noexcept {
  return region == kConstants ? segment_.constants : std::span<const std::byte>(regions_[region]);
}

Status Simulator::run(const Observer& observer) {
  observed_ = observer != nullptr;
  if (u85_) return run_u85(observer);
  for (const Operation& op : operations_) {
    if (const Status status = execute(op); !status.ok()) return named(op, status);
    if (observer && op.computes()) observer(op, result_);
  }
  return {};
}

Status Simulator::run_u85(const Observer& observer) {
  const u85::Memories memories{segment_.constants, regions_};
  for (const Operation& op : operations_) {
    if (const Status status = u85_->execute(op, memories); !status.ok()) return named(op, status);
    if (!observer || !op.computes()) continue;
    result_.clear();
    for (const std::int64_t value : u85_->result(op))
      result_.push_back(op.ofm.element == 8
                            ? static_cast<std::int32_t>(clamp_between(value, INT32_MIN, INT32_MAX))
                            : static_cast<std::int32_t>(value));
    observer(op, result_);
  }
  return {};
}

Status Simulator::execute(const Operation& op) {
  switch (op.kind) {
    case OperationKind::conv:
    case OperationKind::depthwise:
      return convolution(op);
    case OperationKind::pool:
      pool(op);
      break;
    case OperationKind::elementwise:
      elementwise(op);
      return {};
    case OperationKind::dma:
      copy(op.dma);
      return {};
    default:
      return {};
  }
  write_map(op.ofm, region(op.ofm.region), result_);
  return {};
}

// Copies rows in order; a one-dimensional end continues where the last row ended.
void Simulator::copy(const Dma& dma) {
  const auto offset = [&](const DmaPlace& place, std::int64_t plane, std::int64_t row) {
    const std::int64_t skip_row = place.dimensions > 1 ? dma.skip0 : 0,
                       skip_plane = place.dimensions > 2 ? dma.skip1 : 0;
    const std::int64_t step = dma.length + skip_row;
    return static_cast<std::size_t>(place.address + plane * (step * dma.rows + skip_plane) + row * step);
  };
  const std::span<const std::byte> from =
      dma.source.internal ? std::span<const std::byte>(internal_) : memory(dma.source.region);
  const std::span<std::byte> to = dma.target.internal ? std::span(internal_) : region(dma.target.region);
  for (std::int64_t plane = 0; plane < dma.planes; ++plane) {
    for (std::int64_t row = 0; row < dma.rows; ++row) {
      std::memmove(to.data() + offset(dma.target, plane, row), from.data() + offset(dma.source, plane, row),
                   static_cast<std::size_t>(dma.length));
    }
  }
}

Result<const std::vector<std::int16_t>*> Simulator::weights_of(const Operation& op) {
  if (!convolves(op) || op.u85.second_weights)
    return Status(Code::unsupported) << "operation " << op.index << " has no weights of its own";
  if (u85_) return u85_->weights_of(op, {segment_.constants, regions_});
  const std::span<const std::byte> region = memory(op.weight_region);
  std::array<std::span<const std::byte>, kStreams> streams;
  for (std::size_t core = 0; core < static_cast<std::size_t>(op.cores); ++core)
    streams[core] = region.subspan(static_cast<std::size_t>(op.weights[core].base),
                                   static_cast<std::size_t>(op.weights[core].length));
  DecodedWeights& known = weights_[op.index];
  if (known.made_of(streams)) return &known.values;
  kernels_[op.index] = {};
  return known.decode(streams, [&]() -> Result<std::vector<std::int16_t>> {
    std::vector<std::int16_t> values;
    for (std::int32_t core = 0; core < op.cores; ++core) {
      const WeightOrder order = weight_order(op, *segment_.accelerator, core);
      if (order.outs == 0) continue;
      RUNNEL_ASSIGN(const std::vector<std::int16_t> own,
                    unpack_weights(order, streams[static_cast<std::size_t>(core)]));
      const std::size_t each = own.size() / static_cast<std::size_t>(order.outs);
      values.resize(each * static_cast<std::size_t>(op.ofm.depth));
      // Channels are dealt to the cores in turn.
      for (std::size_t out = 0; out < static_cast<std::size_t>(order.outs); ++out) {
        const std::size_t channel = static_cast<std::size_t>(core) + out * static_cast<std::size_t>(op.cores);
        std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(out * each), each,
                    values.begin() + static_cast<std::ptrdiff_t>(channel * each));
      }
    }
    return values;
  });
}

std::vector<ScaleRecord> Simulator::scales_of(const Operation& op) const {
  if (u85_) return u85_->scales_of(op, {segment_.constants, regions_});
  const std::span<const std::byte> region = memory(op.scale_region);
  std::vector<ScaleRecord> records(static_cast<std::size_t>(op.ofm.depth));
  for (std::size_t channel = 0; channel < records.size(); ++channel) {
    const std::size_t core = channel % static_cast<std::size_t>(op.cores),
                      position = channel / static_cast<std::size_t>(op.cores);
    records[channel] = read_scale_record(region.data() + static_cast<std::size_t>(op.scales[core].base) +
                                         position * static_cast<std::size_t>(kScaleRecord));
    if (op.global_scale) {
      records[channel].multiplier = op.ofm_scale.multiplier;
      records[channel].shift = op.ofm_scale.shift;
    }
  }
  return records;
}

}  // namespace runnel::npu
