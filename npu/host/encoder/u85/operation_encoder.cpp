#include "npu/host/encoder/u85/operation_encoder.h"

#include <bit>

#include "npu/u85/configuration.h"
#include "npu/u85/registers.h"

namespace runnel::npu::u85 {
namespace {

constexpr std::int32_t kScalarBit = 8;

std::int32_t storage_field(const FeatureMap& map) { return static_cast<std::int32_t>(map.storage) << 14; }

class Writer {
 public:
  Writer(const Operation& op, const Accelerator& accelerator, RegisterWriter& to)
      : op_(op), u85_(op.u85), accelerator_(accelerator), to_(to) {}

  void write() {
    switch (op_.kind) {
      case OperationKind::conv:
      case OperationKind::depthwise:
        window_input();
        if (u85_.second_weights)
          operand(op_.ifm2, kIfm2);
        else
          weights();
        if (op_.has_scales) records();
        output();
        accumulators();
        return to_.command(op_.kind == OperationKind::conv ? OpCode::conv : OpCode::depthwise,
                           u85_.second_weights ? 1 : 0);
      case OperationKind::pool:
        if (static_cast<PoolMode>(op_.mode) != PoolMode::none) window_input();
        if (op_.has_scales) records();
        output();
        accumulators();
        return to_.command(OpCode::pool, op_.mode);
      case OperationKind::elementwise:
        elementwise();
        return to_.command(OpCode::elementwise, op_.mode);
      case OperationKind::resize:
        resize();
        return to_.command(OpCode::resize, op_.mode);
      default:
        return;
    }
  }

 private:
  void scale(Long code, const Scale& scale) {
    to_.set_long(code,
                 static_cast<std::uint16_t>(scale.shift | scale.double_round << 6 |
                                            static_cast<int>(scale.rounding) << 13),
                 scale.multiplier);
  }

  void place(const FeatureMap& map, const MapRegisters& codes) {
    if (map.storage == Storage::tiles_2x2 || map.storage == Storage::tiles_3x1) return to_.map(map, codes);
    // In a buffer between two operations, whose number is the region; or a scalar.
    if (map.storage == Storage::chained) to_.set(codes.region, map.region);
    to_.set(codes.zero_point, map.zero_point);
  }
  void operand(const FeatureMap& map, const MapRegisters& codes) {
    to_.set(codes.precision,
            (map.is_signed ? 1 : 0) | width_field(map.element) << 2 | layout_field(map) | storage_field(map));
    place(map, codes);
  }
  void window_input() {
    operand(op_.ifm, kIfm);
    to_.set(Short::ifm_depth_m1, op_.ifm.depth - 1);
    to_.set(Short::ifm_upscale, static_cast<int>(op_.upscale));
    to_.window(op_);
  }

  void weights() {
    constexpr Long kBases[] = {Long::weight_base, Long::weight1_base, Long{0x092}, Long{0x094}};
    to_.set(Short::weight_region, op_.weight_region);
    to_.set(reg::weight_format, (u85_.fast_weights ? 1 : 0) | (u85_.sparse_weights ? 1 << 4 : 0));
    for (int stream = 0; stream < blocks_of(accelerator_).decoders; ++stream) {
      to_.set(kBases[stream], op_.weights[stream].base);
      to_.set(plus(kBases[stream], 1), op_.weights[stream].length);
    }
  }
  void records() {
    to_.set(Short::scale_region, op_.scale_region);
    to_.set(Long::scale_base, op_.scales[0].base);
    to_.set(Long::scale_length, op_.scales[0].length);
  }

  void output() {
    const FeatureMap& map = op_.ofm;
    place(map, kOfm);
    to_.set(Short::ofm_height_m1, map.height - 1);
    to_.set(Short::ofm_width_m1, map.width - 1);
    to_.set(Short::ofm_depth_m1, map.depth - 1);
    to_.set(Short::ofm_precision, (map.is_signed ? 1 : 0) | width_field(map.element) << 1 |
                                      layout_field(map) | (op_.global_scale ? 1 << 8 : 0) |
                                      static_cast<int>(u85_.reversed) << 9 |
                                      static_cast<int>(u85_.transpose) << 11 | storage_field(map));
    to_.output_block(op_);
    to_.set(Short::activation,
            static_cast<int>(u85_.function) | u85_.table << 5 | (u85_.clips ? 0 : 1 << 12));
    if (u85_.clips) {
      to_.set(Short::activation_min, op_.activation.low);
      to_.set(Short::activation_max, op_.activation.high);
    }
    to_.set(Short::block_dependency, op_.block_dependency);
  }
  void accumulators() {
    to_.set(Short::acc_format, op_.acc_format | static_cast<int>(u85_.start) << 4 |
                                   (u85_.silent ? 1 << 6 : 0) | op_.microblock << 8);
    if (u85_.start == AccumulatorStart::ifm2) operand(op_.ifm2, kIfm2);
    if (!u85_.silent) scale(Long::ofm_scale, u85_.ofm_scale);
  }

  void element(const FeatureMap& map, const MapRegisters& codes, Short broadcast, std::uint8_t axes,
               bool scalar) {
    to_.set(broadcast, scalar ? kScalarBit : axes);
    operand(map, codes);
    if (scalar) to_.set(reg::scalar, std::int64_t{static_cast<std::uint32_t>(u85_.scalar)});
  }
  void elementwise() {
    element(op_.ifm, kIfm, Short::ifm_broadcast, u85_.first_broadcast, u85_.first_scalar);
    if (op_.has_ifm2) element(op_.ifm2, kIfm2, Short::ifm2_broadcast, op_.broadcast, op_.scalar);
    output();
    to_.set(Short::acc_format, op_.acc_format | op_.microblock << 8);
    scale(Long::ofm_scale, u85_.ofm_scale);
    scale(reg::ifm_scale, u85_.ifm_scale);
    scale(reg::ifm2_scale, u85_.ifm2_scale);
  }

  void axis(const ResizeAxis& axis, Short denominator, Short offset, Long step) {
    to_.set(denominator, axis.denominator - 1);
    to_.set(offset, axis.offset & 0xfff);
    // From block to block, too: a block is one row, and as wide as it is.
    const bool columns = step == reg::resize_x;
    const std::int64_t way = std::int64_t{axis.whole} * axis.denominator + axis.part,
                       block = way * ((columns ? op_.block_width : op_.block_height) - 1);
    to_.set_long(step, static_cast<std::uint16_t>(axis.whole | (block / axis.denominator & 0x7ff) << 4),
                 static_cast<std::uint32_t>(axis.part | (block % axis.denominator) << 16));
  }
  void resize() {
    operand(op_.ifm, kIfm);
    to_.set(Short::ifm_depth_m1, op_.ifm.depth - 1);
    to_.set(Short::kernel_height_m1, op_.ifm.height - 1);
    to_.set(Short::kernel_width_m1, op_.ifm.width - 1);
    output();
    to_.set(Short::acc_format, op_.acc_format | op_.microblock << 8);
    scale(Long::ofm_scale, u85_.ofm_scale);
    axis(u85_.rows, reg::resize_y_scale, reg::resize_y_offset, reg::resize_y);
    axis(u85_.columns, reg::resize_x_scale, reg::resize_x_offset, reg::resize_x);
  }

  const Operation& op_;
  const Fields& u85_;
  const Accelerator& accelerator_;
  RegisterWriter& to_;
};

}  // namespace

std::uint32_t config_word(const Accelerator& accelerator) noexcept {
  const Blocks& blocks = blocks_of(accelerator);
  const auto log2 = [](std::int32_t value) {
    return static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(value)) - 1);
  };
  constexpr std::uint32_t kProduct = 2, kCommands = 1;
  return log2(blocks.macs) | kCommands << 4 | log2(blocks.sram_ports) << 8 |
         log2(blocks.external_ports) << 10 | log2(blocks.decoders) << 12 | kProduct << 28;
}

void write(const Operation& op, const Accelerator& accelerator, RegisterWriter& to) {
  Writer(op, accelerator, to).write();
}

void write_copy(const Operation& op, RegisterWriter& to) {
  const Dma& dma = op.dma;
  const Fields& u85 = op.u85;
  const auto place = [](const DmaPlace& at, const CopyEnd& end) {
    return at.region | (at.internal ? 1 << 8 : 0) | (end.indexed ? 1 << 11 : 0);
  };
  const int mode = dma.source.dimensions - 1;
  to.set(Short::dma_source_region, place(dma.source, u85.source) | mode << 9);
  to.set(Short::dma_target_region, place(dma.target, u85.target));
  to.set(Long::dma_source, dma.source.address);
  to.set(Long::dma_target, dma.target.address);
  to.set(Long::dma_length, dma.length);
  const bool indexed = u85.source.indexed || u85.target.indexed;
  to.set(Short::dma_size0, static_cast<std::int32_t>(dma.rows));
  if (mode > 1) to.set(Short::dma_size1, static_cast<std::int32_t>(dma.planes));
  const auto strides = [&](const CopyEnd& end, Long row, Long plane) {
    if (mode > 0 || end.indexed) to.set(row, end.row);
    if (mode > 1) to.set(plane, end.plane);
  };
  strides(u85.source, reg::source_stride0, reg::source_stride1);
  strides(u85.target, reg::target_stride0, reg::target_stride1);
  if (!indexed) return;
  to.set(reg::index_region, u85.index_region);
  to.set(reg::index, u85.index_address);
  to.set(reg::index_most, u85.index_most);
  if (mode > 1) to.set(reg::index_skip, u85.index_skip);
}

}  // namespace runnel::npu::u85
