#include "npu/decoder.h"

#include "npu/register_reader.h"
#include "npu/u85/decoder.h"
#include "npu/u85/registers.h"

namespace runnel::npu {
namespace {

constexpr std::size_t kMaxWords = std::size_t{1} << 22;  // 16 MiB

// Operations of U55 and U65.
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
      case OperationKind::dma:
        dma();
        break;
      default:
        break;
    }
    return status_;
  }

 private:
  Scale scale(Long code) noexcept {
    return {registers_.payload(need(code)), static_cast<std::uint8_t>(registers_.param(code) & 63)};
  }
  void zero_point(FeatureMap& map, const MapRegisters& from) noexcept {
    map.zero_point = signed_of(from.zero_point, map.is_signed);
  }

  void output() noexcept {
    const std::uint16_t precision = get(Short::ofm_precision);
    place(op_.ofm, kOfm, get(Short::ofm_height_m1) + 1, get(Short::ofm_width_m1) + 1,
          get(Short::ofm_depth_m1) + 1, "OFM");
    op_.global_scale = (precision >> 8 & 1) != 0;
    block();
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
    window();
    if (!status_.ok()) return;
    place(op_.ifm, kIfm, window_rows(), window_columns(), get(Short::ifm_depth_m1) + 1, "IFM");
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
    if (accelerator_.cores > 1 && (get(Short::parallel_mode) & 1) != 0) {
      op_.cores = 2;
      if (op_.ofm.depth > 1) {
        op_.weights[1] = bytes(Long::weight1_base, Long::weight1_length);
        op_.scales[1] = bytes(Long::scale1_base, Long::scale1_length);
      }
    }
    if (op_.global_scale) op_.ofm_scale = scale(Long::ofm_scale);
  }

  void pool() noexcept {
    if (op_.mode > 2) return refuse(fail() << "pooling " << int{op_.mode} << ", expected 0 to 2");
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
    if (op_.mode > 9)
      return refuse(fail() << "element-wise operation " << int{op_.mode} << ", expected 0 to 9");
    output();
    if (!status_.ok()) return;
    const bool unary =
        op_.is(ElementwiseMode::leaky_relu) || op_.is(ElementwiseMode::abs) || op_.is(ElementwiseMode::clz);
    place(op_.ifm, kIfm, op_.ofm.height, op_.ofm.width, op_.ofm.depth, "IFM");
    zero_point(op_.ifm, kIfm);
    op_.operand_to_scale = get(Short::ifm_precision) >> 8 & 3;
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
    const auto along = [&](int axis, std::int32_t full) {
      return (op_.broadcast >> axis & 1) != 0 ? 1 : full;
    };
    place(op_.ifm2, kIfm2, along(0, op_.ofm.height), along(1, op_.ofm.width), along(2, op_.ofm.depth),
          "IFM2");
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
      dma.skip0 = distance(Long::dma_skip0);
    }
    if (dimensions > 2) {
      dma.planes = get(Short::dma_size1);
      dma.skip1 = distance(Long::dma_skip1);
    }
    if (dma.length < 1 || dma.rows < 1 || dma.planes < 1)
      refuse(fail() << "a copy of " << dma.length << " x " << dma.rows << " x " << dma.planes << " bytes");
  }
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
  out.product = accelerator_->product;
  RUNNEL_ASSIGN(out.kind, kind_of(code));
  out.param = param;
  out.index = count_++;
  if (out.kind == OperationKind::pool || out.kind == OperationKind::elementwise) {
    if (param > 0xff) return Status(Code::invalid_data) << "mode " << param << ", expected less than 256";
    out.mode = static_cast<std::uint8_t>(param);
  }
  if (accelerator_->product == Product::u85) return u85::build(registers_, *accelerator_, out);
  return Builder(registers_, *accelerator_, out).build();
}

// Without conditions a stream has one path: where a jump is met again, it has no end. After Brent: jumps are
// marked at growing distances, so that no path is followed more than three times.
Status Decoder::jump(std::size_t word, Operation& out) noexcept {
  const std::uint32_t to = registers_.payload(u85::reg::branch);
  out.u85.jump = to;
  if (to % 4 != 0 || to / 4 >= words_.size())
    return Status(Code::invalid_data)
           << "to byte " << to << ", expected a multiple of 4 less than " << 4 * words_.size();
  if (!follow_) return {};
  if ((out.param & 1) != 0)
    return Status(Code::unsupported) << "a conditional one: what sets its condition is not public";
  if (jumps_ > 0 && marked_ == word) return Status(Code::invalid_data) << "it is repeated without end";
  if (++jumps_ == until_mark_) {
    marked_ = word;
    until_mark_ *= 2;
  }
  at_ = to / 4;
  return {};
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
      if (static_cast<Long>(code) != u85::reg::branch) continue;
      out = {};
      out.product = product;
      out.kind = OperationKind::branch;
      out.word = static_cast<std::uint32_t>(word);
      out.index = count_++;
      out.param = param;
      if (const Status status = jump(word, out); !status.ok())
        return fail(word) << "operation " << out.index << ", BRANCH: " << status.text();
      return true;
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
      if (jumps_ == 0 && at_ != words_.size())
        return fail(word) << "STOP, and " << words_.size() - at_ << " words after it";
    }
    return true;
  }
  return fail(words_.size()) << "the end without STOP";
}

}  // namespace runnel::npu
