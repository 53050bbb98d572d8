#include "npu/decoder.h"

#include "npu/map_registers.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kMaxWords = std::size_t{1} << 22;  // 16 MiB

// Reads registers into one operation; remembers the first one that was never set.
class Builder {
 public:
  Builder(const Registers& registers, const Accelerator& accelerator, Operation& op) noexcept
      : registers_(registers), accelerator_(accelerator), op_(op) {}

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
        window_inputs();
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
  [[nodiscard]] bool u85() const noexcept { return accelerator_.product == Product::u85; }
  Status fail() const noexcept { return Status(Code::invalid_data); }
  void refuse(Status&& status) noexcept {
    if (status_.ok()) status_ = std::move(status);
  }

  std::uint16_t get(Short code) noexcept {
    if (!registers_.is_set(code))
      refuse(fail() << "reads " << short_name(accelerator_.product, static_cast<std::uint16_t>(code))
                    << ", which was never set");
    return registers_.get(code);
  }
  Long need(Long code) noexcept {
    if (!registers_.is_set(code))
      refuse(fail() << "reads " << long_name(accelerator_.product, static_cast<std::uint16_t>(code))
                    << ", which was never set");
    return code;
  }
  std::int32_t signed_of(Short code, bool is_signed) noexcept {
    const std::uint16_t value = get(code);
    return is_signed ? static_cast<std::int16_t>(value) : value;
  }
  std::int64_t address(Long code) noexcept { return registers_.address(need(code)); }
  std::int64_t distance(Long code) noexcept { return registers_.distance(need(code)); }
  Scale scale(Long code) noexcept {
    return {registers_.payload(need(code)), static_cast<std::uint8_t>(registers_.param(code) & 63)};
  }
  Bytes bytes(Long base, Long length) noexcept {
    return {address(base), std::int64_t{registers_.payload(need(length))}};
  }
  static Long plus(Long code, int count) noexcept {
    return static_cast<Long>(static_cast<int>(code) + count);
  }

  void map(FeatureMap& map, const MapRegisters& from, std::int64_t height, std::int64_t width,
           std::int64_t depth, const char* name) noexcept {
    if (height < 1 || width < 1 || depth < 1 || height > 65536 || width > 65536 || depth > 65536) {
      refuse(fail() << name << " of " << height << " x " << width << " x " << depth
                    << ", expected 1 to 65536 each");
      return;
    }
    map.height = static_cast<std::int32_t>(height);
    map.width = static_cast<std::int32_t>(width);
    map.depth = static_cast<std::int32_t>(depth);
    type(map, from);
    map.region = static_cast<std::uint8_t>(get(from.region) & 7);
    map.width0 = get(from.width0) + 1;
    map.height0 = get(from.height0) + 1;
    map.height1 = get(from.height1) + 1;
    map.stride_y = distance(from.stride_y);
    if (map.layout == Layout::nhwc)
      map.stride_x = distance(from.stride_x);
    else
      map.stride_c = distance(from.stride_c);
    for (int tile = 0; tile < 4; ++tile) {
      const bool right = (tile & 1) != 0, below = (tile & 2) != 0;
      const bool reached =
          (!right || map.width > map.width0) && (!below || map.height > (right ? map.height1 : map.height0));
      if (reached) map.base[tile] = address(plus(from.base0, tile));
    }
  }
  void type(FeatureMap& map, const MapRegisters& from) noexcept {
    const std::uint16_t precision = get(from.precision);
    map.is_signed = (precision & 1) != 0;
    map.element = static_cast<std::uint8_t>(1 << (precision >> (from.output ? 1 : 2) & 3));
    if (map.element == 8 && !u85()) refuse(fail() << "elements of 64 bits");
    const int layout = precision >> 6 & 3;
    if (layout > 1) refuse(fail() << "format " << layout << ", expected 0 or 1");
    map.layout = layout == 1 ? Layout::nhcwb16 : Layout::nhwc;
  }
  void zero_point(FeatureMap& map, const MapRegisters& from) noexcept {
    map.zero_point = signed_of(from.zero_point, map.is_signed);
  }

  void output() noexcept {
    const std::uint16_t precision = get(Short::ofm_precision);
    map(op_.ofm, kOfm, get(Short::ofm_height_m1) + 1, get(Short::ofm_width_m1) + 1,
        get(Short::ofm_depth_m1) + 1, "OFM");
    op_.global_scale = (precision >> 8 & 1) != 0;
    op_.block_height = get(Short::ofm_block_height_m1) + 1;
    op_.block_width = get(Short::ofm_block_width_m1) + 1;
    op_.block_depth = get(Short::ofm_block_depth_m1) + 1;
    op_.block_dependency = static_cast<std::uint8_t>(get(Short::block_dependency) & 7);
    if (u85()) {
      const std::uint16_t format = get(Short::acc_format);
      op_.acc_format = static_cast<std::uint8_t>(format & 1);
      op_.microblock = static_cast<std::uint8_t>(format >> 8 & 7);
      return;
    }
    const int rounding = precision >> 14 & 3;
    if (rounding > 2) refuse(fail() << "rounding 3, expected 0 to 2");
    op_.rounding = static_cast<Rounding>(rounding);
    op_.ab_start = get(Short::ab_start);
    op_.ib_end = get(Short::ifm_ib_end);
    op_.acc_format = static_cast<std::uint8_t>(get(Short::acc_format) & 3);
    const std::uint16_t activation = get(Short::activation);
    op_.activation.function = activation & 0xfff;
    op_.activation.clip = static_cast<std::uint8_t>(activation >> 12);
    const bool known = op_.activation.table() || op_.activation.function == Activation::kNone ||
                       op_.activation.function == Activation::kTanh ||
                       op_.activation.function == Activation::kSigmoid;
    if (!known)
      refuse(fail() << "activation " << op_.activation.function << ", expected 0, 3, 4 or 16 to 23");
    const int clip = op_.activation.clip;
    if (clip != 0 && clip != 2 && clip != 3 && clip != 5)
      refuse(fail() << "clip range " << clip << ", expected 0, 2, 3 or 5");
    if (op_.raw_output()) return;
    zero_point(op_.ofm, kOfm);
    // In the output's type.
    op_.activation.low = signed_of(Short::activation_min, op_.ofm.is_signed || op_.ofm.element != 1);
    op_.activation.high = signed_of(Short::activation_max, op_.ofm.is_signed || op_.ofm.element != 1);
  }

  // The size of the input follows from that of the output.
  void window_inputs() noexcept {
    output();
    Kernel& kernel = op_.kernel;
    kernel.height = get(Short::kernel_height_m1) + 1;
    kernel.width = get(Short::kernel_width_m1) + 1;
    const std::uint16_t fields = get(Short::kernel_stride);
    kernel.stride_x = 1 + (fields & 1) + (fields >> 6 & 1) * 2;
    kernel.stride_y = 1 + (fields >> 1 & 1) + (fields >> 9 & 1) * 2;
    kernel.part_kernel = (fields >> 2 & 1) != 0;
    kernel.dilation_x = 1 + (fields >> 3 & 1);
    kernel.dilation_y = 1 + (fields >> 4 & 1);
    kernel.top = get(Short::ifm_pad_top);
    kernel.left = get(Short::ifm_pad_left);
    kernel.bottom = get(Short::ifm_pad_bottom);
    kernel.right = get(Short::ifm_pad_right);
    const int upscale = get(Short::ifm_upscale);
    if (upscale > 2) refuse(fail() << "upscaling " << upscale << ", expected 0 to 2");
    op_.upscale = static_cast<Upscale>(upscale & 3);
    if (!status_.ok()) return;
    std::int64_t height =
        std::int64_t{op_.ofm.height - 1} * kernel.stride_y + kernel.height - kernel.top - kernel.bottom;
    std::int64_t width =
        std::int64_t{op_.ofm.width - 1} * kernel.stride_x + kernel.width - kernel.left - kernel.right;
    if (op_.upscale != Upscale::none && height > 0 && width > 0) {
      height = (height + 1) / 2;
      width = (width + 1) / 2;
    }
    map(op_.ifm, kIfm, height, width, get(Short::ifm_depth_m1) + 1, "IFM");
    zero_point(op_.ifm, kIfm);
  }

  void convolution() noexcept {
    window_inputs();
    if (!status_.ok()) return;
    const std::int32_t needed = op_.kind == OperationKind::depthwise ? op_.ofm.depth : 1;
    if (op_.ifm.depth < needed)
      refuse(fail() << "IFM of " << op_.ifm.depth << " channels, expected at least those of the OFM, "
                    << needed);
    op_.weight_region = static_cast<std::uint8_t>(get(Short::weight_region) & 7);
    op_.scale_region = static_cast<std::uint8_t>(get(Short::scale_region) & 7);
    op_.has_scales = true;
    op_.weights[0] = bytes(Long::weight_base, Long::weight_length);
    op_.scales[0] = bytes(Long::scale_base, Long::scale_length);
    if (!u85() && accelerator_.cores > 1 && (get(Short::parallel_mode) & 1) != 0) {
      op_.cores = 2;
      if (op_.ofm.depth > 1) {
        op_.weights[1] = bytes(Long::weight1_base, Long::weight1_length);
        op_.scales[1] = bytes(Long::scale1_base, Long::scale1_length);
      }
    }
    if (op_.global_scale) op_.ofm_scale = scale(Long::ofm_scale);
  }

  void pool() noexcept {
    if (op_.mode > (u85() ? 7 : 2))
      return refuse(fail() << "pooling " << int{op_.mode} << ", expected 0 to " << (u85() ? 7 : 2));
    window_inputs();
    if (!status_.ok()) return;
    if (op_.is(PoolMode::reduce_sum)) {
      if (op_.ofm.depth != 1)
        refuse(fail() << "a sum of all channels into " << op_.ofm.depth << ", expected 1");
    } else if (op_.ifm.depth < op_.ofm.depth) {
      refuse(fail() << "IFM of " << op_.ifm.depth << " channels, expected at least those of the OFM, "
                    << op_.ofm.depth);
    }
    if (op_.global_scale) op_.ofm_scale = scale(Long::ofm_scale);
  }

  void elementwise() noexcept {
    if (!u85() && op_.mode > 9)
      return refuse(fail() << "element-wise operation " << int{op_.mode} << ", expected 0 to 9");
    output();
    if (!status_.ok()) return;
    const bool unary = op_.is(ElementwiseMode::leaky_relu) || op_.is(ElementwiseMode::abs) ||
                       op_.is(ElementwiseMode::clz) || (u85() && op_.mode == 36);
    map(op_.ifm, kIfm, op_.ofm.height, op_.ofm.width, op_.ofm.depth, "IFM");
    zero_point(op_.ifm, kIfm);
    op_.operand_to_scale = get(Short::ifm_precision) >> 8 & 3;
    if (u85()) return second_of_u85(unary);
    if (!unary) second();
    const ElementwiseMode mode = op_.elementwise();
    const bool sum = mode == ElementwiseMode::add || mode == ElementwiseMode::sub;
    if (sum || mode == ElementwiseMode::mul || mode == ElementwiseMode::abs ||
        mode == ElementwiseMode::leaky_relu)
      op_.ofm_scale = scale(Long::ofm_scale);
    if (!sum) return;
    if (op_.operand_to_scale > 2) refuse(fail() << "operand to scale 3, expected 0 to 2");
    op_.opa_scale = scale(Long::opa_scale);
    // One operand is scaled, the other one only shifted.
    if (op_.operand_to_scale == 0) op_.opb_scale = scale(Long::opb_scale);
  }
  void second() noexcept {
    op_.has_ifm2 = true;
    const std::uint16_t flags = get(Short::ifm2_broadcast);
    op_.reversed = (flags >> 6 & 1) != 0;
    op_.scalar = (flags >> 7 & 1) != 0;
    type(op_.ifm2, kIfm2);
    zero_point(op_.ifm2, kIfm2);
    if (op_.scalar) {
      op_.ifm2_scalar = signed_of(Short::ifm2_scalar, op_.ifm2.is_signed);
      op_.ifm2.height = op_.ifm2.width = op_.ifm2.depth = 1;
      return;
    }
    op_.broadcast = flags & 7;
    second_map();
    op_.ifm2_ib_start = get(Short::ifm2_ib_start);
  }
  void second_map() noexcept {
    const auto size = [&](int axis, std::int32_t full) {
      return (op_.broadcast >> axis & 1) != 0 ? 1 : full;
    };
    map(op_.ifm2, kIfm2, size(0, op_.ofm.height), size(1, op_.ofm.width), size(2, op_.ofm.depth), "IFM2");
  }
  // As far as the U85 is known: input maps may be broadcast too, and a scalar has its own register.
  void second_of_u85(bool unary) noexcept {
    const std::uint16_t first = registers_.get(static_cast<Short>(0x108));
    if ((first & 1) != 0) op_.ifm.height = 1;
    if ((first >> 1 & 1) != 0) op_.ifm.width = 1;
    if ((first >> 2 & 1) != 0) op_.ifm.depth = 1;
    const std::uint16_t flags = unary ? 0 : get(Short::ifm2_broadcast);
    op_.has_ifm2 = !unary;
    op_.scalar = (flags >> 3 & 1) != 0;
    op_.broadcast = flags & 7;
    if (!unary && !op_.scalar) second_map();
  }

  void dma() noexcept {
    Dma& dma = op_.dma;
    const auto place = [&](Short region, Long at) {
      const std::uint16_t fields = get(region);
      const int mode = fields >> 9 & 3;
      if (mode > 2) refuse(fail() << "a copy of mode " << mode << ", expected 0 to 2");
      return DmaPlace{static_cast<std::uint8_t>(fields & 7), (fields >> 8 & 1) != 0,
                      static_cast<std::uint8_t>(1 + mode), address(at)};
    };
    dma.source = place(Short::dma_source_region, Long::dma_source);
    dma.target = place(Short::dma_target_region, Long::dma_target);
    dma.length = registers_.payload(need(Long::dma_length));
    const int dimensions =
        dma.source.dimensions > dma.target.dimensions ? dma.source.dimensions : dma.target.dimensions;
    if (dimensions > 1) {
      dma.rows = get(Short::dma_size0);
      if (!u85()) dma.skip0 = distance(Long::dma_skip0);
    }
    if (dimensions > 2) {
      dma.planes = get(Short::dma_size1);
      if (!u85()) dma.skip1 = distance(Long::dma_skip1);
    }
    if (dma.length < 1 || dma.rows < 1 || dma.planes < 1)
      refuse(fail() << "a copy of " << dma.length << " x " << dma.rows << " x " << dma.planes << " bytes");
  }

  const Registers& registers_;
  const Accelerator& accelerator_;
  Operation& op_;
  Status status_;
};

Result<OperationKind> kind_of(std::uint16_t code) noexcept {
  switch (static_cast<OpCode>(code)) {
    case OpCode::stop:
      return OperationKind::stop;
    case OpCode::irq:
      return OperationKind::irq;
    case OpCode::conv:
      return OperationKind::conv;
    case OpCode::depthwise:
      return OperationKind::depthwise;
    case OpCode::pool:
      return OperationKind::pool;
    case OpCode::elementwise:
      return OperationKind::elementwise;
    case OpCode::resize:
      return OperationKind::resize;
    case OpCode::dma_start:
      return OperationKind::dma;
    case OpCode::dma_wait:
      return OperationKind::dma_wait;
    case OpCode::kernel_wait:
      return OperationKind::kernel_wait;
    case OpCode::pmu_mask:
      return OperationKind::pmu_mask;
  }
  return Status(Code::invalid_data);
}

}  // namespace

Status Decoder::decode(std::uint16_t code, std::uint16_t param, Operation& out) noexcept {
  out = {};
  RUNNEL_ASSIGN(out.kind, kind_of(code));
  out.param = param;
  out.index = count_++;
  if (out.kind == OperationKind::pool || out.kind == OperationKind::elementwise) {
    if (param > 0xff) return Status(Code::invalid_data) << "mode " << param << ", expected less than 256";
    out.mode = static_cast<std::uint8_t>(param);
  }
  return Builder(registers_, *accelerator_, out).build();
}

Result<bool> Decoder::next(Operation& out) noexcept {
  if (stopped_) return false;
  if (words_.size() > kMaxWords)
    return Status(Code::invalid_data)
           << "command stream: " << words_.size() << " words, expected at most " << kMaxWords;
  const auto fail = [](std::size_t word) {
    return Status(Code::invalid_data) << "command stream, word " << word << ": ";
  };
  while (at_ < words_.size()) {
    const std::size_t word = at_;
    const std::uint32_t command = words_[at_++];
    const auto code = static_cast<std::uint16_t>(command & 0x3ff);
    const auto param = static_cast<std::uint16_t>(command >> 16);
    const int control = command >> 14 & 3;
    const Product product = accelerator_->product;
    if (control == 1) {
      if (long_name(product, code).empty())
        return fail(word) << "command " << code << " of two words is not known";
      if (at_ == words_.size()) return fail(word) << long_name(product, code) << " without its second word";
      registers_.set_long(code, param, words_[at_++]);
      if (code == 0x100) {  // U85: a jump
        out = {};
        out.kind = OperationKind::branch;
        out.word = static_cast<std::uint32_t>(word);
        out.index = count_++;
        out.param = param;
        return true;
      }
      continue;
    }
    if (control != 0 || (command & 0x3c00) != 0)
      return fail(word) << "command " << (command & 0xffff) << " is not known";
    if (!short_name(product, code).empty()) {
      registers_.set(code, param);
      continue;
    }
    if (operation_name(product, code).empty()) return fail(word) << "command " << code << " is not known";
    if (const Status status = decode(code, param, out); !status.ok()) {
      return fail(word) << "operation " << out.index << ", " << operation_name(product, code) << ": "
                        << status.text();
    }
    out.word = static_cast<std::uint32_t>(word);
    if (out.kind == OperationKind::stop) {
      stopped_ = true;
      if (at_ != words_.size()) return fail(word) << "STOP, and " << words_.size() - at_ << " words after it";
    }
    return true;
  }
  return fail(words_.size()) << "the end without STOP";
}

}  // namespace runnel::npu
