// Products of two values: the right operand has the target's weight layout, while its shape says [..,
// C, N].
#include <algorithm>

#include "compiler/espdl/layout.h"
#include "compiler/write/espdl/lowering.h"

namespace runnel::compiler::espdl_source {
namespace {

std::int32_t block_of(EspdlTarget target, const Tensor& right) {
  return target == EspdlTarget::c ? right.shape.back() + 1 : right.dtype == DType::int8 ? 16 : 8;
}

// Brings plain [.., C, N] into the target's layout, as exporters do.
class IntoLayout {
 public:
  IntoLayout(Lowering& to, const compiler::Node& node) : to_(to), node_(node), right_(to.input(node, 1)) {
    batch_.assign(right_.shape.begin(), right_.shape.end() - 2);
    inputs_ = right_.shape[right_.shape.size() - 2];
    outputs_ = right_.shape.back();
  }

  std::string run() {
    const std::string plain = to_.operand(node_, 1);
    const std::int64_t block = block_of(to_.target(), right_), aligned = outputs_ / block * block,
                       left = outputs_ - aligned;
    std::string flat;
    if (left == 0) {
      flat = blocks(plain, aligned, block);
    } else if (aligned == 0) {
      flat = rows(plain, left);
    } else {
      const std::string first =
          reshape(blocks(columns(plain, 0, aligned), aligned, block), {inputs_ * aligned});
      const std::string last = reshape(rows(columns(plain, aligned, left), left), {inputs_ * left});
      flat = next(with({inputs_ * outputs_}));
      add("Concat", {first, last}, flat).attributes["axis"] = static_cast<std::int64_t>(batch_.size());
    }
    return reshape(flat, {inputs_, outputs_});
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> with(const std::vector<std::int64_t>& tail) const {
    std::vector<std::int64_t> shape = batch_;
    shape.insert(shape.end(), tail.begin(), tail.end());
    return shape;
  }
  std::string next(const std::vector<std::int64_t>& shape) {
    return to_.value(node_.name + "/layout", right_, shape);
  }
  Node& add(std::string_view op, std::vector<std::string> inputs, const std::string& output) {
    return to_.add_between(node_, op, std::move(inputs), output, right_.dtype, "/layout");
  }
  std::string reshape(const std::string& from, const std::vector<std::int64_t>& tail) {
    const std::string to = next(with(tail));
    add("Reshape", {from, to_.integers(node_, "shape", with(tail))}, to).attributes["allowzero"] =
        std::int64_t{0};
    return to;
  }
  std::string transpose(const std::string& from, const std::vector<std::int64_t>& tail,
                        const std::vector<std::int64_t>& shape) {
    std::vector<std::int64_t> perm;
    for (std::size_t i = 0; i < batch_.size(); ++i) perm.push_back(static_cast<std::int64_t>(i));
    for (const std::int64_t axis : tail) perm.push_back(axis + static_cast<std::int64_t>(batch_.size()));
    const std::string to = next(with(shape));
    add("Transpose", {from}, to).attributes["perm"] = perm;
    return to;
  }
  std::string columns(const std::string& from, std::int64_t begin, std::int64_t count) {
    const std::string to = next(with({inputs_, count}));
    const auto axis = static_cast<std::int64_t>(batch_.size()) + 1;
    add("Slice",
        {from, to_.integers(node_, "starts", {begin}), to_.integers(node_, "ends", {begin + count}),
         to_.integers(node_, "axes", {axis}), to_.integers(node_, "steps", {1})},
        to);
    return to;
  }
  // [C][N] to [N/A][C][A] and to [N][C].
  std::string blocks(const std::string& from, std::int64_t outputs, std::int64_t block) {
    return transpose(reshape(from, {inputs_, outputs / block, block}), {1, 0, 2},
                     {outputs / block, inputs_, block});
  }
  std::string rows(const std::string& from, std::int64_t outputs) {
    return transpose(from, {1, 0}, {outputs, inputs_});
  }

  Lowering& to_;
  const compiler::Node& node_;
  const Tensor& right_;
  std::vector<std::int64_t> batch_;
  std::int64_t inputs_ = 0, outputs_ = 0;
};

// Several constant matrices [.., C, N], each in the target's layout.
std::string constant_matrices(Lowering& to, const Tensor& right) {
  const std::int64_t inputs = right.shape[right.shape.size() - 2], outputs = right.shape.back();
  const WeightLayout layout =
      to.target() == EspdlTarget::c
          ? WeightLayout{}
          : WeightLayout{WeightLayout::Order::blocked, right.dtype == DType::int8 ? 16 : 8};
  const WeightSize size{outputs, 1, inputs, false};
  Constant constant = to.constant_of(right, layout_name(layout, size, 2));
  const std::size_t element = size_of(right.dtype),
                    bytes = static_cast<std::size_t>(inputs * outputs) * element;
  std::vector<std::byte> matrix(bytes);
  for (std::size_t start = 0; start + bytes <= right.data->size(); start += bytes) {
    for (std::int64_t n = 0; n < outputs; ++n) {
      for (std::int64_t c = 0; c < inputs; ++c) {
        const std::byte* const from =
            right.data->data() + start + static_cast<std::size_t>(c * outputs + n) * element;
        std::copy(from, from + element, matrix.data() + static_cast<std::size_t>(n * inputs + c) * element);
      }
    }
    const auto packed = pack_weights(matrix, element, layout, size);
    std::copy(packed.begin(), packed.end(), constant.data.begin() + static_cast<std::ptrdiff_t>(start));
  }
  return to.constant(std::move(constant));
}

}  // namespace

void fold_right_operand(Lowering& to, const compiler::Node& node, std::size_t index) {
  if (node.code != OpCode::matmul || !Lowering::has(node, 1) || to.input(node, 1).data ||
      to.input(node, 1).shape.size() < 2)
    return;
  const Tensor& right = to.input(node, 1);
  const std::int32_t outputs = right.shape.back(), block = block_of(to.target(), right),
                     aligned = outputs / block * block;
  using enum OpCode;
  const std::vector<OpCode> chain =
      aligned == outputs ? std::vector{reshape, transpose, reshape}
      : aligned == 0
          ? std::vector{reshape, transpose}
          : std::vector{reshape, slice, slice, reshape, transpose, reshape, reshape, transpose, concat};
  if (index < chain.size()) return;
  const compiler::Node* const first = &node - chain.size();
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (first[i].code != chain[i] || first[i].name != node.name) return;
    const bool last = i + 1 == chain.size(),
               flat = i == 0 && chain.size() > 3;  // two slices read the flat one
    if (!flat && !to.read_once(first[i].outputs[0])) return;
    if (last && first[i].outputs[0] != node.inputs[1]) return;
  }
  // [N/A][C][A] and what is left of it is read back in this order only.
  if (to.input(first[0], 0).shape != right.shape) return;
  for (std::size_t i = 0; i < chain.size(); ++i) to.skip(first[i]);
  to.alias(node.inputs[1], first[0].inputs[0]);
}

void lower_matmul(Lowering& to, const compiler::Node& node) {
  const Tensor &left = to.input(node, 0), &right = to.input(node, 1);
  if (!is_quantized(left.dtype) || left.dtype != right.dtype || right.shape.size() < 2) {
    to.refuse(node, "operands of " + std::string(name_of(left.dtype)) + " and " +
                        std::string(name_of(right.dtype)) +
                        ", expected int8 or int16 for both, of rank 2 or more");
    return;
  }
  if (right.exponents.size() != 1) {
    to.refuse(node, std::to_string(right.exponents.size()) + " exponents of its right operand, expected 1");
    return;
  }
  const auto activation = std::get<FullyConnectedOptions>(node.options).activation;
  if (activation != Activation::none && activation != Activation::relu)
    to.refuse(node, std::string("activation ") + name_of(activation));
  const TensorId id = node.inputs[1];
  std::string stored;
  if (right.data)
    stored = constant_matrices(to, right);
  else if (to.aliased(id))
    stored = to.name_of(id);
  else
    stored = IntoLayout(to, node).run();
  Node& out = to.add(node, "MatMul", {to.operand(node, 0), stored});
  out.attributes["activation"] = std::string(activation == Activation::relu ? "Relu" : "Linear");
}

}  // namespace runnel::compiler::espdl_source
