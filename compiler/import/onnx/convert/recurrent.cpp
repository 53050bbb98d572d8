// GRU and LSTM. The runtime has them for a batch of one, and the GRU with its reset gate after the product
// with the state; the rest is written out, step by step, when there are few steps.
#include <algorithm>

#include "compiler/import/onnx/builder.h"

namespace runnel::compiler::onnx_source {
namespace {

constexpr std::int64_t kMaxSteps = 64;  // that are written out

struct Recurrence {
  bool lstm = false, reset_last = true;
  std::int64_t directions = 1, hidden = 0, gates = 3;
  Direction direction = Direction::forward;
  Value x, h, c;  // x [T, B, I]; h and c [D, B, H]; without constant and tensor: absent, zero
  ConstantPtr weights, hidden_weights, bias;

  [[nodiscard]] static bool given(const Value& value) {
    return value.constant != nullptr || value.id != kAbsent;
  }
};

Status check_activations(const Node& node, bool lstm) {
  const auto* given = node.attribute("activations");
  if (given != nullptr) {
    for (int i = 0; i < given->strings_size(); ++i) {
      const bool inner = i % (lstm ? 3 : 2) == 0;
      if (given->strings(i) != (inner ? "Sigmoid" : "Tanh")) {
        return node.fail(Code::unsupported)
               << "activation \"" << given->strings(i) << "\", expected " << (inner ? "Sigmoid" : "Tanh");
      }
    }
  }
  for (const char* refused : {"clip", "input_forget"}) {
    const auto* other = node.attribute(refused);
    if (other != nullptr && (other->f() != 0 || other->i() != 0))
      return node.fail(Code::unsupported) << "attribute \"" << refused << "\"";
  }
  if (node.integer("layout", 0) != 0)
    return node.fail(Code::unsupported) << "layout 1, expected 0 (time first)";
  return {};
}

Result<ConstantPtr> weights_of(const Builder& builder, const Node& node, std::size_t position,
                               const Dims& dims) {
  RUNNEL_ASSIGN(ConstantPtr given, builder.constant(node, position));
  if (given == nullptr || given->dims != dims || given->dtype != DType::float32) {
    return node.fail() << "input " << position << " of "
                       << (given == nullptr ? "nothing" : text_of(given->dims)) << ", expected float32 of "
                       << text_of(dims);
  }
  return given;
}

Result<Recurrence> read(Builder& builder, const Node& node) {
  Recurrence r;
  r.lstm = node.op == "LSTM";
  r.gates = r.lstm ? 4 : 3;
  RUNNEL_TRY(check_activations(node, r.lstm));
  r.reset_last = r.lstm || node.integer("linear_before_reset", 0) != 0;
  const std::string direction = node.text("direction", "forward");
  if (direction == "reverse")
    r.direction = Direction::reverse;
  else if (direction == "bidirectional")
    r.direction = Direction::bidirectional;
  else if (direction != "forward")
    return node.fail() << "direction \"" << direction << "\", expected forward, reverse or bidirectional";
  r.directions = r.direction == Direction::bidirectional ? 2 : 1;
  RUNNEL_ASSIGN(r.x, builder.value(node, 0));
  if (r.x.rank() != 3)
    return node.fail() << "an input of " << text_of(r.x.dims) << ", expected [time, batch, features]";
  RUNNEL_ASSIGN(const ConstantPtr hidden, builder.constant(node, 2));
  if (hidden == nullptr || hidden->dims.size() != 3)
    return node.fail() << "hidden weights that are not of rank 3";
  r.hidden = hidden->dims[2];
  RUNNEL_ASSIGN(r.weights, weights_of(builder, node, 1, {r.directions, r.gates * r.hidden, r.x.dims[2]}));
  RUNNEL_ASSIGN(r.hidden_weights, weights_of(builder, node, 2, {r.directions, r.gates * r.hidden, r.hidden}));
  if (node.has_input(3)) {
    RUNNEL_ASSIGN(r.bias, weights_of(builder, node, 3, {r.directions, 2 * r.gates * r.hidden}));
  }
  if (node.has_input(4)) {
    RUNNEL_ASSIGN(const ConstantPtr lengths, builder.constant(node, 4));
    for (const std::int64_t length : integers_of(*lengths)) {
      if (length != r.x.dims[0])
        return node.fail(Code::unsupported)
               << "a sequence of " << length << " of " << r.x.dims[0] << " steps, expected all";
    }
  }
  if (r.lstm && node.has_input(7)) return node.fail(Code::unsupported) << "peepholes (input 7)";
  const Dims state = {r.directions, r.x.dims[1], r.hidden};
  for (const std::size_t position : {5u, 6u}) {
    if (!node.has_input(position)) continue;
    if (position == 6 && !r.lstm) return node.fail() << "a cell state of a GRU";
    RUNNEL_ASSIGN(Value value, builder.value(node, position));
    if (value.dims != state)
      return node.fail() << "an initial state of " << text_of(value.dims) << ", expected " << text_of(state);
    (position == 5 ? r.h : r.c) = std::move(value);
  }
  return r;
}

Status emit_operator(Builder& builder, const Node& node, const Recurrence& r) {
  std::vector<TensorId> inputs;
  RUNNEL_ASSIGN(const TensorId x, builder.plain(node, r.x));
  inputs.push_back(x);
  inputs.push_back(builder.add_constant(*r.weights, node.name + ".weights"));
  inputs.push_back(builder.add_constant(*r.hidden_weights, node.name + ".hidden_weights"));
  inputs.push_back(r.bias == nullptr ? kAbsent : builder.add_constant(*r.bias, node.name + ".bias"));
  for (const Value* state : {&r.h, &r.c}) {
    if (state == &r.c && !r.lstm) continue;
    TensorId id = kAbsent;
    if (Recurrence::given(*state)) {
      RUNNEL_ASSIGN(id, builder.plain(node, *state));
    }
    inputs.push_back(id);
  }
  // Only what something reads: the last state has no time axis.
  RecurrentOptions options;
  options.direction = r.direction;
  options.outputs = 0;
  std::vector<std::size_t> positions;
  for (std::size_t position = 0; position < (r.lstm ? 3u : 2u); ++position) {
    if (!builder.is_read(node, position)) continue;
    options.outputs |= 1 << position;
    positions.push_back(position);
  }
  if ((options.outputs & 3) == 0) {  // the cell alone: h is computed anyway
    options.outputs |= 2;
    positions.insert(positions.begin(), 1);
  }
  RUNNEL_ASSIGN(const auto outputs,
                builder.emit_all(node, r.lstm ? OpCode::lstm : OpCode::gru, inputs, options,
                                 std::vector<std::vector<std::int32_t>>(positions.size()),
                                 std::vector<DType>(positions.size(), DType::none)));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    builder.result(node, outputs[i], identity_perm(builder.at(outputs[i]).shape.size()), positions[i]);
  return {};
}

// ---- written out, for batches and for the GRU whose reset gate is applied before the product

// Rows [first, first + count) of one direction of a constant, as a matrix (or a vector, without columns).
Constant rows_of(const Constant& all, std::int64_t direction, std::int64_t first, std::int64_t count) {
  const std::int64_t rows = all.dims[1], columns = all.dims.size() > 2 ? all.dims[2] : 1;
  Dims dims = {count};
  if (all.dims.size() > 2) dims.push_back(columns);
  return strided(all, dims, (direction * rows + first) * columns, dense_strides(dims));
}

class Written {
 public:
  Written(Builder& builder, const Node& node, const Recurrence& r, std::int64_t direction)
      : builder_(builder), node_(node), r_(r), direction_(direction) {}

  // [B, rows] of x times the weights of some gates.
  Result<Value> product(const Value& x, bool hidden, std::int64_t first, std::int64_t gates) {
    const Constant weights =
        rows_of(hidden ? *r_.hidden_weights : *r_.weights, direction_, first * r_.hidden, gates * r_.hidden);
    if (r_.bias == nullptr) return dense(builder_, node_, x, weights, nullptr);
    const Constant bias =
        rows_of(*r_.bias, direction_, ((hidden ? r_.gates : 0) + first) * r_.hidden, gates * r_.hidden);
    return dense(builder_, node_, x, weights, &bias);
  }
  Result<Value> add(const Value& a, const Value& b) { return binary(builder_, node_, OpCode::add, a, b); }
  Result<Value> mul(const Value& a, const Value& b) { return binary(builder_, node_, OpCode::mul, a, b); }
  Result<Value> sigmoid(const Value& x) { return unary(builder_, node_, OpCode::sigmoid, x); }
  Result<Value> tanh(const Value& x) { return unary(builder_, node_, OpCode::tanh, x); }
  Result<Value> gate(const Value& all, std::int64_t index) {
    return part_of(builder_, node_, all, 1, index * r_.hidden, r_.hidden);
  }

  Status lstm_step(const Value& x, Value& h, Value& c) {  // gates: input, output, forget, cell
    RUNNEL_ASSIGN(const Value wx, product(x, false, 0, 4));
    RUNNEL_ASSIGN(const Value rh, product(h, true, 0, 4));
    RUNNEL_ASSIGN(const Value all, add(wx, rh));
    Value gates[4];
    for (std::int64_t i = 0; i < 4; ++i) {
      RUNNEL_ASSIGN(const Value part, gate(all, i));
      RUNNEL_ASSIGN(gates[i], i < 3 ? sigmoid(part) : tanh(part));
    }
    RUNNEL_ASSIGN(const Value kept, mul(gates[2], c));
    RUNNEL_ASSIGN(const Value fresh, mul(gates[0], gates[3]));
    RUNNEL_ASSIGN(c, add(kept, fresh));
    RUNNEL_ASSIGN(const Value squashed, tanh(c));
    RUNNEL_ASSIGN(h, mul(gates[1], squashed));
    return {};
  }

  Status gru_step(const Value& x, Value& h) {  // gates: update, reset, hidden
    RUNNEL_ASSIGN(const Value wx, product(x, false, 0, 3));
    RUNNEL_ASSIGN(const Value rh, product(h, true, 0, r_.reset_last ? 3 : 2));
    Value gates[2];
    for (std::int64_t i = 0; i < 2; ++i) {
      RUNNEL_ASSIGN(const Value of_x, gate(wx, i));
      RUNNEL_ASSIGN(const Value of_h, gate(rh, i));
      RUNNEL_ASSIGN(const Value both, add(of_x, of_h));
      RUNNEL_ASSIGN(gates[i], sigmoid(both));
    }
    Value reset;
    if (r_.reset_last) {
      RUNNEL_ASSIGN(const Value of_h, gate(rh, 2));
      RUNNEL_ASSIGN(reset, mul(gates[1], of_h));
    } else {
      RUNNEL_ASSIGN(const Value masked, mul(gates[1], h));
      RUNNEL_ASSIGN(reset, product(masked, true, 2, 1));
    }
    RUNNEL_ASSIGN(const Value of_x, gate(wx, 2));
    RUNNEL_ASSIGN(const Value both, add(of_x, reset));
    RUNNEL_ASSIGN(const Value fresh, tanh(both));
    // h + ... : (1 - z) n + z h = n + z (h - n)
    RUNNEL_ASSIGN(const Value change, binary(builder_, node_, OpCode::sub, h, fresh));
    RUNNEL_ASSIGN(const Value part, mul(gates[0], change));
    RUNNEL_ASSIGN(h, add(fresh, part));
    return {};
  }

 private:
  Builder& builder_;
  const Node& node_;
  const Recurrence& r_;
  std::int64_t direction_;
};

// State of one direction as [B, H].
Result<Value> initial(Builder& builder, const Node& node, const Recurrence& r, const Value& state,
                      std::int64_t direction) {
  const Dims dims = {r.x.dims[1], r.hidden};
  if (!Recurrence::given(state))
    return constant_value(make_reals(DType::float32, dims,
                                     std::vector<double>(static_cast<std::size_t>(dims[0] * dims[1]), 0)));
  RUNNEL_ASSIGN(const Value part, part_of(builder, node, state, 0, direction, 1));
  return builder.with_ones(node, part, dims);
}

Status write_out(Builder& builder, const Node& node, const Recurrence& r) {
  const std::int64_t steps = r.x.dims[0], batch = r.x.dims[1];
  std::vector<std::vector<Value>> every(static_cast<std::size_t>(steps));  // [T][D] of [1, 1, B, H]
  std::vector<Value> last_h, last_c;                                       // [D] of [1, B, H]
  for (std::int64_t d = 0; d < r.directions; ++d) {
    Written written(builder, node, r, d);
    RUNNEL_ASSIGN(Value h, initial(builder, node, r, r.h, d));
    RUNNEL_ASSIGN(Value c, initial(builder, node, r, r.c, d));
    const bool backwards = d == 1 || r.direction == Direction::reverse;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t t = backwards ? steps - 1 - i : i;
      RUNNEL_ASSIGN(const Value frame, part_of(builder, node, r.x, 0, t, 1));
      RUNNEL_ASSIGN(const Value x, builder.with_ones(node, frame, {batch, r.x.dims[2]}));
      RUNNEL_TRY(r.lstm ? written.lstm_step(x, h, c) : written.gru_step(x, h));
      RUNNEL_ASSIGN(const Value out, builder.with_ones(node, h, {1, 1, batch, r.hidden}));
      every[static_cast<std::size_t>(t)].push_back(out);
    }
    RUNNEL_ASSIGN(const Value end_h, builder.with_ones(node, h, {1, batch, r.hidden}));
    RUNNEL_ASSIGN(const Value end_c, builder.with_ones(node, c, {1, batch, r.hidden}));
    last_h.push_back(end_h);
    last_c.push_back(end_c);
  }
  if (builder.is_read(node, 0)) {
    std::vector<Value> frames;
    for (const auto& frame : every) {
      RUNNEL_ASSIGN(Value both, joined(builder, node, frame, 1));
      frames.push_back(std::move(both));
    }
    RUNNEL_ASSIGN(Value all, joined(builder, node, frames, 0));
    builder.result(node, std::move(all), 0);
  }
  if (builder.is_read(node, 1)) {
    RUNNEL_ASSIGN(Value h, joined(builder, node, last_h, 0));
    builder.result(node, std::move(h), 1);
  }
  if (r.lstm && builder.is_read(node, 2)) {
    RUNNEL_ASSIGN(Value c, joined(builder, node, last_c, 0));
    builder.result(node, std::move(c), 2);
  }
  return {};
}

}  // namespace

Status convert_recurrent(Builder& builder, const Node& node) {
  RUNNEL_ASSIGN(const Recurrence r, read(builder, node));
  if (r.x.dims[1] == 1 && r.reset_last) return emit_operator(builder, node, r);
  if (r.x.dims[0] <= kMaxSteps) return write_out(builder, node, r);
  if (!r.reset_last) {
    return node.fail(Code::unsupported)
           << "linear_before_reset 0 over " << r.x.dims[0]
           << " steps, expected 1 (the reset gate after the product with the state) or at most " << kMaxSteps
           << " steps";
  }
  return node.fail(Code::unsupported) << "a batch of " << r.x.dims[1] << " over " << r.x.dims[0]
                                      << " steps, expected a batch of 1 or at most " << kMaxSteps << " steps";
}

}  // namespace runnel::compiler::onnx_source
