#include "bench/stack_kernels.h"

#include <algorithm>

namespace runnel::bench {

Result<std::unique_ptr<StackKernels>> StackKernels::make(const Model& model, Isa isa) {
  auto stack = std::make_unique<StackKernels>();
  stack->made_.resize(static_cast<std::size_t>(model.tensor_count()));
  for (int op = 0; op < model.operator_count(); ++op) {
    if (code_of(model.op(op)) == OpCode::conv) RUNNEL_TRY(stack->add(model, op, isa));
    if (code_of(model.op(op)) == OpCode::requantize && arithmetic_of(model.op(op)) == Arithmetic::espdl)
      RUNNEL_TRY(stack->add_requantization(model, op, isa));
  }
  if (stack->layers_.empty()) return Status(Code::unsupported) << "a network without convolutions";
  return stack;
}

std::int8_t* StackKernels::values(int tensor, std::size_t bytes) {
  std::int8_t*& known = made_[static_cast<std::size_t>(tensor)];
  if (known != nullptr) return known;
  auto* made = static_cast<std::int8_t*>(memory_.allocate(bytes + 64, 64));
  if (made == nullptr) return nullptr;
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::int8_t>(i % 97);
  return made;
}

Status StackKernels::add_requantization(const Model& model, int op, Isa isa) {
  const fb::Operator& node = model.op(op);
  const TensorView x = model.tensor(node.inputs()->Get(0)), y = model.tensor(node.outputs()->Get(0));
  if (x.dtype != DType::int8 || y.dtype != DType::int8) return {};
  auto layer = std::make_unique<Layer>();
  layer->elementwise = &kernels::elementwise(isa);
  layer->count = static_cast<std::size_t>(x.shape[x.shape.rank - 1]);
  layer->shift = {y.exponent() - x.exponent()};
  layer->rounding = static_cast<kernels::Rounding>(node.rounding());
  layer->x = values(node.inputs()->Get(0), layer->count);
  layer->y = static_cast<std::int8_t*>(memory_.allocate(layer->count + 64, 64));
  if (layer->x == nullptr || layer->y == nullptr)
    return Status(Code::out_of_memory) << "no memory for a kernel";
  made_[static_cast<std::size_t>(node.outputs()->Get(0))] = layer->y;
  layers_.push_back(std::move(layer));
  return {};
}

Status StackKernels::add(const Model& model, int op, Isa isa) {
  const fb::Operator& node = model.op(op);
  const fb::ConvOptions& options = *node.options_as_ConvOptions();
  const TensorView x = model.tensor(node.inputs()->Get(0)), weights = model.tensor(node.inputs()->Get(1)),
                   y = model.tensor(node.outputs()->Get(0));
  if (arithmetic_of(node) != Arithmetic::espdl || x.dtype != DType::int8 || y.dtype != DType::int8 ||
      x.shape.rank != 3 || weights.shape[1] != 1 || options.stride_width() != 1) {
    return Status(Code::unsupported) << "operator " << op
                                     << " is no one-dimensional int8 convolution of stride 1";
  }
  auto layer = std::make_unique<Layer>();
  kernels::ConvSpec spec;
  spec.in_channels = x.shape[2];
  spec.out_channels = y.shape[2];
  spec.groups = options.groups();
  spec.kernel_width = weights.shape[2];
  spec.dilation_width = options.dilation_width();
  spec.in_width = (spec.kernel_width - 1) * spec.dilation_width + 1;
  spec.weights = weights.data.data();
  if (node.inputs()->size() > 2 && node.inputs()->Get(2) >= 0)
    spec.bias = model.tensor(node.inputs()->Get(2)).data.data();
  spec.input_non_negative = x.non_negative;
  for (const std::int8_t exponent : weights.exponents)
    layer->shift.push_back(y.exponent() - x.exponent() - exponent);
  spec.requant.shift = layer->shift.data();
  spec.requant.count = static_cast<std::int32_t>(layer->shift.size());
  spec.requant.rounding = static_cast<kernels::Rounding>(node.rounding());
  spec.requant.low = native(options.activation()) == Activation::relu ? 0 : -128;
  int out = node.outputs()->Get(0);
  if (op + 1 < model.operator_count() && code_of(model.op(op + 1)) == OpCode::add) {
    const fb::Operator& sum = model.op(op + 1);
    const int a = sum.inputs()->Get(0), b = sum.inputs()->Get(1), other = a == out ? b : a;
    if ((a == out || b == out) && model.tensor(other).exponent() == y.exponent() &&
        model.tensor(sum.outputs()->Get(0)).exponent() == y.exponent()) {
      spec.add = true;
      spec.sum_low = sum.options_as_BinaryOptions() != nullptr &&
                             native(sum.options_as_BinaryOptions()->activation()) == Activation::relu
                         ? 0
                         : -128;
      layer->addend = values(other, static_cast<std::size_t>(spec.out_channels));
      out = sum.outputs()->Get(0);
    }
  }
  RUNNEL_TRY(kernels::prepare_conv(spec, isa, memory_, layer->conv));
  const auto channels = static_cast<std::size_t>(spec.in_channels);
  // A window has its own buffer; a single frame is the previous layer's output.
  const bool window = spec.in_width > 1;
  layer->x = window ? static_cast<std::int8_t*>(
                          memory_.allocate(static_cast<std::size_t>(spec.in_width) * channels + 64, 64))
                    : values(node.inputs()->Get(0), channels);
  layer->y =
      static_cast<std::int8_t*>(memory_.allocate(static_cast<std::size_t>(spec.out_channels) + 64, 64));
  layer->scratch = memory_.allocate(std::max<std::size_t>(layer->conv.scratch_bytes, 1), 64);
  if (layer->x == nullptr || layer->y == nullptr || layer->scratch == nullptr ||
      (spec.add && layer->addend == nullptr))
    return Status(Code::out_of_memory) << "no memory for a kernel";
  if (window) {
    auto* frames = const_cast<std::int8_t*>(layer->x);
    for (std::size_t i = 0; i < static_cast<std::size_t>(spec.in_width) * channels; ++i)
      frames[i] = static_cast<std::int8_t>(i % 97);
  }
  made_[static_cast<std::size_t>(out)] = layer->y;
  layers_.push_back(std::move(layer));
  return {};
}

void StackKernels::run() const {
  for (const auto& layer : layers_) {
    const kernels::Conv& conv = layer->conv;
    if (layer->elementwise != nullptr)
      layer->elementwise->requantize(DType::int8, DType::int8, layer->count, layer->x, layer->y,
                                     layer->shift[0], layer->rounding, -128, 127);
    else if (conv.direct != nullptr)
      conv.direct(conv.extra, layer->x, layer->addend, layer->y);
    else if (layer->addend != nullptr)
      conv.run_add(conv, layer->x, layer->addend, layer->y, layer->scratch);
    else
      conv.run(conv, layer->x, layer->y, layer->scratch);
  }
}

}  // namespace runnel::bench
