#include "npu/u85/decoder.h"

#include "npu/register_reader.h"
#include "npu/u85/configuration.h"
#include "npu/u85/registers.h"

namespace runnel::npu::u85 {
namespace {

constexpr int kStorageBit = 14;
constexpr std::uint8_t kScalarBit = 8;

bool known(ElementwiseMode mode) noexcept {
  const auto code = static_cast<int>(mode);
  return code <= 11 || (code >= 16 && code <= 19) || (code >= 33 && code <= 36) || code == 42;
}
bool unary(ElementwiseMode mode) noexcept {
  return mode == ElementwiseMode::leaky_relu || mode == ElementwiseMode::abs ||
         mode == ElementwiseMode::clz || mode == ElementwiseMode::bit_not;
}
bool known(Function function) noexcept {
  switch (function) {
    case Function::none:
    case Function::u8_u8:
    case Function::s8_s8:
    case Function::s8_s16:
    case Function::s8_s32:
    case Function::s16_s16:
    case Function::s16_s32:
    case Function::tanh:
    case Function::sigmoid:
      return true;
  }
  return false;
}

class Builder : RegisterReader {
 public:
  using RegisterReader::RegisterReader;

  Status build() noexcept {
    switch (op_.kind) {
      case OperationKind::conv:
      case OperationKind::depthwise:
        convolution();
        break;
      case OperationKind::pool:
        pool();
        break;
      case OperationKind::elementwise:
        elementwise();
        break;
      case OperationKind::resize:
        resize();
        break;
      case OperationKind::dma:
        dma();
        break;
      default:
        break;
    }
    return status_;
  }

 private:
  Fields& u85() noexcept { return op_.u85; }

  Scale scale(Long code) noexcept {
    const std::uint16_t fields = registers_.param(need(code));
    const int rounding = fields >> 13 & 7;
    if (rounding > static_cast<int>(Rounding::to_lower))
      refuse(fail() << "rounding " << rounding << ", expected 0 to 5");
    return {registers_.payload(code) & 0x7fffffffu, static_cast<std::uint8_t>(fields & 63),
            static_cast<std::uint8_t>(fields >> 6 & 31), static_cast<Rounding>(rounding % 6)};
  }
  // The two modes that operands know.
  Scale operand_scale(Long code) noexcept {
    Scale out = scale(code);
    out.rounding = static_cast<Rounding>(registers_.param(code) >> 13 & 1);
    return out;
  }

  void operand(FeatureMap& map, const MapRegisters& from, std::int64_t height, std::int64_t width,
               std::int64_t depth, const char* name) noexcept {
    map.storage = static_cast<Storage>(get(from.precision) >> kStorageBit & 3);
    if (map.storage == Storage::none) {
      refuse(fail() << name << " is stored nowhere");
    } else if (map.storage == Storage::chained) {
      size(map, height, width, depth, name);
      type(map, from);
      chain(map, from, name);
    } else {
      place(map, from, height, width, depth, name);
    }
    zero_point(map, from);
  }
  void chain(FeatureMap& map, const MapRegisters& from, const char* name) noexcept {
    const std::uint16_t number = get(from.region);
    if (number >= kChains)
      return refuse(fail() << name << " in chaining buffer " << number << ", expected 0 to 5");
    map.region = static_cast<std::uint8_t>(number);
  }
  void zero_point(FeatureMap& map, const MapRegisters& from) noexcept {
    map.zero_point = as_signed(get_or(from.zero_point, 0), map.is_signed);
  }

  void output() noexcept {
    const std::uint16_t precision = get(Short::ofm_precision);
    const int transpose = precision >> 11 & 7;
    if (transpose == 4 || transpose == 5)
      return refuse(fail() << "transposition " << transpose << ", expected 0 to 3, 6 or 7");
    u85().transpose = static_cast<Transpose>(transpose);
    u85().reversed = static_cast<Axis>(precision >> 9 & 3);
    FeatureMap& map = op_.ofm;
    size(map, get(Short::ofm_height_m1) + 1, get(Short::ofm_width_m1) + 1, get(Short::ofm_depth_m1) + 1,
         "OFM");
    map.storage = static_cast<Storage>(precision >> kStorageBit & 3);
    if (!status_.ok()) return;
    if (map.storage == Storage::chained || map.storage == Storage::none) {
      type(map, kOfm);
      if (map.storage == Storage::chained) chain(map, kOfm, "OFM");
    } else {
      FeatureMap stored = stored_output(op_);
      place(stored, kOfm, stored.height, stored.width, stored.depth, "OFM");
      stored.height = map.height;
      stored.width = map.width;
      stored.depth = map.depth;
      map = stored;
    }
    zero_point(map, kOfm);
    op_.global_scale = (precision >> 8 & 1) != 0;
    block();
    activation();
  }

  void activation() noexcept {
    const std::uint16_t fields = get_or(Short::activation, 0);
    u85().function = static_cast<Function>(fields & 31);
    u85().table = static_cast<std::uint8_t>(fields >> 5 & 7);
    u85().clips = (fields >> 12 & 1) == 0;
    if (!known(u85().function))
      return refuse(fail() << "activation " << (fields & 31) << ", expected 0, 1, 4, 5 or 7 to 11");
    if (!u85().clips) return;
    const std::uint16_t low = get(Short::activation_min), high = get(Short::activation_max);
    const bool is_signed = op_.ofm.is_signed || (fields & 31) >= static_cast<int>(Function::s8_s8);
    // A negative lower limit of unsigned values stands for none.
    op_.activation.low = as_signed(low, is_signed || low >= 0x8000);
    op_.activation.high = as_signed(high, is_signed);
  }

  void accumulators() noexcept {
    const std::uint16_t format = get(Short::acc_format);
    op_.acc_format = static_cast<std::uint8_t>((format & 3) != 0 ? 1 : 0);
    if ((format & 3) > 1) refuse(fail() << "accumulators of format " << (format & 3) << ", expected 0 or 1");
    op_.microblock = static_cast<std::uint8_t>(format >> 8 & 7);
    const int start = format >> 4 & 3;
    if (start > 2) refuse(fail() << "accumulators that start from source 3, expected 0 to 2");
    u85().start = static_cast<AccumulatorStart>(start % 3);
    u85().silent = (format >> 6 & 1) != 0;
    if (!status_.ok()) return;
    if (u85().start == AccumulatorStart::ifm2) {
      op_.has_ifm2 = true;
      operand(op_.ifm2, kIfm2, op_.ofm.height, op_.ofm.width, op_.ofm.depth, "IFM2");
    }
    if (!u85().silent) u85().ofm_scale = scale(Long::ofm_scale);
  }
  void records() noexcept {
    if (op_.global_scale) return;
    op_.has_scales = true;
    op_.scale_region = static_cast<std::uint8_t>(get(Short::scale_region) & 7);
    op_.scales[0] = bytes(Long::scale_base, Long::scale_length);
  }

  void window_input() noexcept {
    window();
    if (!status_.ok()) return;
    operand(op_.ifm, kIfm, window_rows(), window_columns(), get(Short::ifm_depth_m1) + 1, "IFM");
  }

  void convolution() noexcept {
    output();
    if (status_.ok()) window_input();
    if (status_.ok()) accumulators();
    if (!status_.ok()) return;
    records();
    const bool depthwise = op_.kind == OperationKind::depthwise;
    if (depthwise && op_.ifm.depth < op_.ofm.depth)
      refuse(fail() << "IFM of " << op_.ifm.depth << " channels, expected at least those of the OFM, "
                    << op_.ofm.depth);
    u85().second_weights = !depthwise && (op_.param & 1) != 0;
    if (!u85().second_weights) return weights();
    if (op_.has_ifm2) return refuse(fail() << "IFM2 as weights and as the start of the accumulators");
    if (op_.kernel.taps_y() > 1 || op_.kernel.taps_x() > 1)
      return refuse(fail() << "a kernel of " << op_.kernel.taps_y() << " x " << op_.kernel.taps_x()
                           << " with weights from IFM2, expected 1 x 1");
    op_.has_ifm2 = true;
    operand(op_.ifm2, kIfm2, 1, op_.ofm.depth, op_.ifm.depth, "IFM2");
  }
  void weights() noexcept {
    op_.weight_region = static_cast<std::uint8_t>(get(Short::weight_region) & 7);
    const std::uint16_t format = get(reg::weight_format);
    u85().fast_weights = (format & 1) != 0;
    u85().sparse_weights = (format >> 4 & 1) != 0;
    constexpr Long kBases[] = {Long::weight_base, Long::weight1_base, Long{0x092}, Long{0x094}};
    const int streams = u85().fast_weights ? 1 : blocks_of(accelerator_).decoders;
    for (int stream = 0; stream < streams; ++stream) {
      const Long base = kBases[stream], length = plus(base, 1);
      if (registers_.is_set(length) && registers_.payload(length) > 0)
        op_.weights[stream] = bytes(base, length);
    }
  }

  void pool() noexcept {
    if (op_.mode > 7) return refuse(fail() << "pooling " << int{op_.mode} << ", expected 0 to 7");
    const auto mode = static_cast<PoolMode>(op_.mode);
    output();
    // Without pooling there is only what the accumulators start from.
    if (status_.ok() && mode != PoolMode::none) window_input();
    if (status_.ok()) accumulators();
    if (!status_.ok()) return;
    records();
    if (mode == PoolMode::reduce_sum) {
      if (op_.ofm.depth != 1)
        refuse(fail() << "a sum of all channels into " << op_.ofm.depth << ", expected 1");
    } else if (mode != PoolMode::none && op_.ifm.depth < op_.ofm.depth) {
      refuse(fail() << "IFM of " << op_.ifm.depth << " channels, expected at least those of the OFM, "
                    << op_.ofm.depth);
    }
  }

  // One of the operands of an element-wise operation; returns its broadcast axes.
  std::uint8_t element(FeatureMap& map, const MapRegisters& from, Short broadcast, bool& scalar,
                       const char* name) noexcept {
    const std::uint16_t flags = get(broadcast);
    map.storage = static_cast<Storage>(get(from.precision) >> kStorageBit & 3);
    scalar = (flags & kScalarBit) != 0 || map.storage == Storage::none;
    const auto along = [&](int axis, std::int32_t full) { return (flags >> axis & 1) != 0 ? 1 : full; };
    if (scalar) {
      map.storage = Storage::none;
      map.height = map.width = map.depth = 1;
      type(map, from);
      zero_point(map, from);
      u85().scalar = static_cast<std::int32_t>(registers_.payload(need(reg::scalar)));
    } else {
      operand(map, from, along(0, op_.ofm.height), along(1, op_.ofm.width), along(2, op_.ofm.depth), name);
    }
    return flags & 7;
  }

  void elementwise() noexcept {
    const auto mode = static_cast<ElementwiseMode>(op_.mode);
    if (!known(mode)) return refuse(fail() << "element-wise operation " << int{op_.mode});
    output();
    if (!status_.ok()) return;
    u85().first_broadcast = element(op_.ifm, kIfm, Short::ifm_broadcast, u85().first_scalar, "IFM");
    op_.has_ifm2 = !unary(mode);
    if (op_.has_ifm2) op_.broadcast = element(op_.ifm2, kIfm2, Short::ifm2_broadcast, op_.scalar, "IFM2");
    const std::uint16_t format = get_or(Short::acc_format, 0);
    op_.acc_format = static_cast<std::uint8_t>(format & 1);
    op_.microblock = static_cast<std::uint8_t>(format >> 8 & 7);
    u85().ofm_scale = scale(Long::ofm_scale);
    if (mode == ElementwiseMode::add || mode == ElementwiseMode::sub || mode == ElementwiseMode::leaky_relu) {
      u85().ifm_scale = operand_scale(reg::ifm_scale);
      u85().ifm2_scale = operand_scale(reg::ifm2_scale);
    }
  }

  ResizeAxis resize_axis(Short denominator, Short offset, Long step) noexcept {
    ResizeAxis axis;
    axis.denominator = (get(denominator) & 0x7ff) + 1;
    const int bits = get(offset) & 0xfff;
    axis.offset = bits >= 0x800 ? bits - 0x1000 : bits;
    axis.whole = registers_.param(need(step)) & 15;
    axis.part = static_cast<std::int32_t>(registers_.payload(step) & 0x7ff);
    return axis;
  }
  void resize() noexcept {
    if (op_.param > 2) return refuse(fail() << "resizing " << op_.param << ", expected 0 to 2");
    op_.mode = static_cast<std::uint8_t>(op_.param);
    output();
    if (!status_.ok()) return;
    operand(op_.ifm, kIfm, get(Short::kernel_height_m1) + 1, get(Short::kernel_width_m1) + 1, op_.ofm.depth,
            "IFM");
    const std::uint16_t format = get_or(Short::acc_format, 0);
    op_.acc_format = static_cast<std::uint8_t>(format & 1);
    op_.microblock = static_cast<std::uint8_t>(format >> 8 & 7);
    u85().ofm_scale = scale(Long::ofm_scale);
    u85().rows = resize_axis(reg::resize_y_scale, reg::resize_y_offset, reg::resize_y);
    u85().columns = resize_axis(reg::resize_x_scale, reg::resize_x_offset, reg::resize_x);
  }

  void dma() noexcept {
    Dma& dma = op_.dma;
    const std::uint16_t from = get(Short::dma_source_region), to = get(Short::dma_target_region);
    const int mode = from >> 9 & 3;
    if (mode > 2) refuse(fail() << "a copy of mode " << mode << ", expected 0 to 2");
    const auto place = [&](std::uint16_t fields, Long at) {
      return DmaPlace{static_cast<std::uint8_t>(fields & 7), (fields >> 8 & 1) != 0,
                      static_cast<std::uint8_t>(1 + mode), address(at)};
    };
    dma.source = place(from, Long::dma_source);
    dma.target = place(to, Long::dma_target);
    dma.length = registers_.payload(need(Long::dma_length));
    u85().source.indexed = (from >> 11 & 1) != 0;
    u85().target.indexed = (to >> 11 & 1) != 0;
    const bool indexed = u85().source.indexed || u85().target.indexed;
    if (mode > 0 || indexed) dma.rows = get(Short::dma_size0);
    if (mode > 1) dma.planes = get(Short::dma_size1);
    const auto strides = [&](CopyEnd& end, Long row, Long plane) {
      if (mode > 0 || end.indexed) end.row = distance(row);
      if (mode > 1) end.plane = distance(plane);
    };
    strides(u85().source, reg::source_stride0, reg::source_stride1);
    strides(u85().target, reg::target_stride0, reg::target_stride1);
    if (indexed) {
      u85().index_region = static_cast<std::uint8_t>(get(reg::index_region) & 7);
      u85().index_address = address(reg::index);
      u85().index_most = registers_.payload(need(reg::index_most)) & 0x7fffffffu;
      if (mode > 1) u85().index_skip = distance(reg::index_skip);
    }
    if (dma.length < 1 || dma.rows < 1 || dma.planes < 1)
      refuse(fail() << "a copy of " << dma.length << " x " << dma.rows << " x " << dma.planes << " bytes");
  }
};

}  // namespace

Status build(const Registers& registers, const Accelerator& accelerator, Operation& op) noexcept {
  return Builder(registers, accelerator, op).build();
}

}  // namespace runnel::npu::u85
