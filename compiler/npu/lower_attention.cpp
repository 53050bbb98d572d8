// Attention over a window of frames in fixed point: the integers of kernels/transformer/fixed_attention.cpp,
// one operation for each of its steps over all heads; products of rows are one operation for each head.
// Queries are taken in groups: all keys that one of them sees are columns of the group's scores, and a term
// that no score reaches hides those that another one does not see.
#include <algorithm>
#include <cmath>

#include "compiler/npu/lowering.h"
#include "compiler/npu/scales.h"
#include "compiler/npu/words.h"
#include "kernels/affine_softmax.h"
#include "kernels/transformer/fixed_attention.h"

namespace runnel::compiler::ethos_u {
namespace {

using Mode = npu::ElementwiseMode;

// Queries of a group.
constexpr std::int32_t kGroup = 64;
// Keys that a query may see: sums of their weights stay below 2^23, so that their highest bit and sums of
// values fit into one word together.
constexpr std::int64_t kMostKeys = 256;
// What hides a key, and the bytes of the same order before the first frame of a stream.
constexpr std::int32_t kHidden = -(1 << 29);

bool has_input(const Node& node, std::size_t position) {
  return node.inputs.size() > position && node.inputs[position] >= 0;
}

// Rows of one head, `count` frames from frame `first` on, as columns of a map.
npu::FeatureMap rows_of(const Operand& x, std::int64_t first, std::int32_t count, std::int32_t head) {
  npu::FeatureMap map;
  map.element = static_cast<std::uint8_t>(size_of(x.tensor->dtype));
  map.is_signed = true;
  map.height = map.height0 = map.height1 = 1;
  map.width = map.width0 = count;
  map.depth = x.shape[3];
  map.base[0] = x.place.offset + first * x.place.strides[1] + head * x.place.strides[2];
  map.stride_x = map.stride_y = x.place.strides[1];
  map.stride_c = map.element;
  return map;
}
// One head's part of words that are [heads][rows][columns].
npu::FeatureMap part_of(const Integers& words, std::int32_t head) {
  npu::FeatureMap map = words.map;
  map.base[0] += head * map.stride_y;
  map.height = map.height0 = map.height1 = 1;
  return map;
}

// The product of two matrices, whose second one has the columns as rows.
npu::Step product(const npu::FeatureMap& a, npu::BufferId a_buffer, const npu::FeatureMap& b,
                  npu::BufferId b_buffer, const npu::FeatureMap& y, npu::BufferId y_buffer) {
  npu::Step step;
  npu::Operation& op = step.op;
  op.kind = npu::OperationKind::conv;
  op.u85.second_weights = op.has_ifm2 = op.global_scale = true;
  op.acc_format = a.element == 2 ? 1 : 0;
  op.ofm_scale = {1, 0};
  op.rounding = kHalfUp;
  op.ifm = a;
  op.ifm2 = b;
  op.ofm = y;
  step.ifm = a_buffer;
  step.ifm2 = b_buffer;
  step.ofm = y_buffer;
  return step;
}

// A group of queries and all keys that they see.
struct Group {
  std::int64_t first = 0, first_key = 0;
  std::int32_t count = 0, keys = 0;
};

class Attention {
 public:
  Attention(npu::Program& program, const AttentionOptions& options, const Operand& queries,
            const Operand& keys, const Operand& values, const Operand& y, bool streamed)
      : program_(program),
        options_(options),
        queries_(queries),
        keys_(keys),
        values_(values),
        y_(y),
        streamed_(streamed),
        words_(program) {}

  Status prepare(const Tensor* bias) {
    const std::int64_t window = std::int64_t{options_.left} + options_.chunk + options_.right;
    const std::int64_t seen =
        streamed_ ? window : std::min<std::int64_t>(window, static_cast<std::int64_t>(keys_.shape[1]));
    if (seen > kMostKeys)
      return Status(Code::unsupported) << "a window of " << seen << " keys, expected at most " << kMostKeys;
    const double unit = real_scale(*queries_.tensor) * real_scale(*keys_.tensor) *
                        static_cast<double>(options_.real_scale) / kernels::kScoreUnit;
    RUNNEL_ASSIGN(score_, scale_of(kernels::multiplier_of(unit)));
    RUNNEL_ASSIGN(result_,
                  scale_of(kernels::multiplier_of(real_scale(*values_.tensor) / real_scale(*y_.tensor) /
                                                  static_cast<double>(1 << kernels::kMixBits))));
    constexpr std::int64_t kProduct = 255 * 128;
    std::int64_t most_bias = 0;
    if (bias != nullptr) {
      bias_.resize(bias->data->size() / sizeof(std::int32_t));
      const auto* const values = reinterpret_cast<const std::int32_t*>(bias->data->data());
      std::copy_n(values, bias_.size(), bias_.begin());
      bias_heads_ = bias->shape[0];
      for (const std::int32_t value : bias_) most_bias = std::max(most_bias, std::abs(std::int64_t{value}));
    }
    const double most =
        unit * static_cast<double>(kProduct * keys_.shape[3]) + static_cast<double>(most_bias);
    // Twice that, and what e^-10 is below, is less than what hides a key; all of it is less than a word
    // holds.
    constexpr double kMost = 1 << 27;
    if (most > kMost || kProduct * keys_.shape[3] > INT32_MAX)
      return Status(Code::unsupported) << "scores up to " << most << " units, expected at most " << kMost;
    may_vanish_ = 2 * most + 2 > static_cast<double>(kernels::kScoreSpan);
    const auto exponentials = table_of_segments(kernels::exp_from_table),
               reciprocals = table_of_segments(kernels::one_over_one_plus_from_table);
    if (!exponentials || !reciprocals)
      return Status(Code::unsupported) << "tables that are not linear in segments";
    exponentials_ = *exponentials;
    reciprocals_ = *reciprocals;
    return {};
  }

  // `hidden`: words for each key of a stream's block, which hide those that are not data; without a buffer:
  // all keys are data.
  void run(const Integers& hidden) {
    const std::int32_t queries = queries_.shape[1], chunk = options_.chunk;
    const std::int32_t each = std::max(1, kGroup / chunk) * chunk;
    for (std::int32_t first = 0; first < queries; first += each)
      group(group_of(first, std::min(each, queries - first)), hidden);
  }

 private:
  // Keys lie from frame `begin` on, seen from the first query.
  [[nodiscard]] std::int64_t begin() const { return streamed_ ? -options_.left : 0; }
  // The keys that a query sees, from key to key as the operand has them.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> seen(std::int64_t query) const {
    const std::int64_t start = query / options_.chunk * options_.chunk - begin();
    return {std::max<std::int64_t>(start - options_.left, 0),
            std::min<std::int64_t>(start + options_.chunk + options_.right, keys_.shape[1])};
  }
  [[nodiscard]] Group group_of(std::int64_t first, std::int32_t count) const {
    const std::int64_t from = seen(first).first, to = seen(first + count - 1).second;
    return {first, from, count, static_cast<std::int32_t>(to - from)};
  }

  // What is added to the scores: biases, and what hides keys from queries. Empty: nothing.
  [[nodiscard]] std::vector<std::int32_t> terms(const Group& group, std::int32_t& heads) const {
    heads = bias_.empty() ? 1 : bias_heads_;
    std::vector<std::int32_t> all;
    bool any = !bias_.empty();
    const std::size_t rows = bias_.empty() ? 0 : bias_.size() / static_cast<std::size_t>(bias_heads_);
    for (std::int32_t h = 0; h < heads; ++h) {
      for (std::int32_t q = 0; q < group.count; ++q) {
        const std::int64_t query = group.first + q;
        const auto [from, to] = seen(query);
        for (std::int32_t k = 0; k < group.keys; ++k) {
          const std::int64_t key = group.first_key + k;
          const bool hides = key < from || key >= to;
          any = any || hides;
          const std::int64_t distance = key + begin() - query + options_.left + options_.chunk - 1;
          all.push_back(hides ? kHidden
                        : bias_.empty()
                            ? 0
                            : bias_[static_cast<std::size_t>(h) * rows + static_cast<std::size_t>(distance)]);
        }
      }
    }
    if (!any) all.clear();
    return all;
  }

  Integers scores(const Group& group, const Integers& hidden) {
    const std::int32_t heads = queries_.shape[2];
    Integers scores = words_.make(heads, group.count, group.keys);
    for (std::int32_t h = 0; h < heads; ++h) {
      npu::FeatureMap q = rows_of(queries_, group.first, group.count, h);
      q.zero_point = queries_.zero_point();
      npu::Step step = product(q, queries_.place.buffer, rows_of(keys_, group.first_key, group.keys, h),
                               keys_.place.buffer, part_of(scores, h), scores.buffer);
      step.op.ofm_scale = score_;
      step.op.rounding = npu::Rounding::tfl;
      program_.add(std::move(step));
    }
    std::int32_t term_heads = 1;
    const std::vector<std::int32_t> values = terms(group, term_heads);
    Integers term;
    if (!values.empty()) term = words_.constant(values, term_heads, group.count);
    if (hidden.buffer != npu::kNoBuffer) {
      Integers own = hidden;
      own.map.base[0] += group.first_key * own.map.element;
      own.map.depth = group.keys;
      own.map.stride_x = own.map.stride_y = std::int64_t{own.map.element} * group.keys;
      term = values.empty() ? own : words_.of(Mode::add, term, own);
    }
    return term.buffer == npu::kNoBuffer ? scores : words_.of(Mode::add, scores, term);
  }

  // e^(score - largest) of all keys, 15 bits.
  Integers weights(const Integers& scores, bool hides) {
    const Integers rows = words_.largest(scores);
    Integers largest = rows;
    largest.map.height = largest.map.height0 = largest.map.height1 = scores.map.height;
    largest.map.width = largest.map.width0 = scores.map.width;
    largest.map.stride_y = largest.map.stride_x * scores.map.width;
    const auto below = [&](std::int32_t distance) {
      return words_.of(Mode::sub, largest, words_.constant(distance));
    };
    const Integers weights = words_.of(Mode::sub, scores, below(32767), {.table = exponentials_}, 2);
    if (!hides && !may_vanish_) return weights;
    // The table ends at the span, where it is not 0 yet: 1 up to there, 0 below.
    const Integers counts =
        words_.of(Mode::sub, scores, below(kernels::kScoreSpan + 1), {.limits = std::pair{0, 1}}, 2);
    return words_.of(Mode::mul, weights, counts, {.rounding = kHalfUp}, 2);
  }

  // Channels as rows of keys, without zero points.
  Integers turned_values(const Group& group) {
    const std::int32_t channels = values_.shape[2] * values_.shape[3];
    const Integers turned = words_.make(1, channels, group.keys, 2);
    npu::Step step;
    npu::Operation& op = step.op;
    op.kind = npu::OperationKind::pool;
    op.mode = static_cast<std::uint8_t>(npu::PoolMode::average);
    op.global_scale = true;
    op.rounding = kHalfUp;
    op.ofm_scale = {1, 0};
    op.ifm = rows_of(values_, group.first_key, group.keys, 0);
    op.ifm.depth = channels;
    op.ifm.zero_point = values_.zero_point();
    op.ofm = turned.map;
    // As it is computed; strides and tiles are those of what is stored.
    op.ofm.width = group.keys;
    op.ofm.depth = op.ofm.width0 = channels;
    op.u85.transpose = npu::u85::Transpose::hcw;
    op.activation.low = -32768;
    op.activation.high = 32767;
    step.ifm = values_.place.buffer;
    step.ofm = turned.buffer;
    program_.add(std::move(step));
    return turned;
  }

  void group(const Group& group, const Integers& hidden) {
    const std::int32_t heads = queries_.shape[2], size = values_.shape[3];
    const Integers raw = scores(group, hidden);
    const Integers weight = weights(raw, hidden.buffer != npu::kNoBuffer || hides_any(group));
    const Integers total = words_.sum(weight), turned = turned_values(group);
    const Integers mixed = words_.make(heads, group.count, size);
    for (std::int32_t h = 0; h < heads; ++h) {
      npu::FeatureMap rows = turned.map;
      rows.width = rows.width0 = size;
      rows.base[0] += std::int64_t{h} * size * rows.stride_x;
      program_.add(
          product(part_of(weight, h), weight.buffer, rows, turned.buffer, part_of(mixed, h), mixed.buffer));
    }
    // total = (1 + f) 2^(31 - headroom): the reciprocal of 1 + f.
    const Integers headroom = words_.of(Mode::clz, total, {});
    const Integers leading = words_.of(Mode::shl, total, words_.of(Mode::sub, headroom, words_.constant(1)));
    const Integers one_and_f = words_.of(Mode::shr, leading, words_.constant(14), {.rounding = kHalfUp});
    const Integers half =
        words_.of(Mode::sub, one_and_f, words_.constant(65536 + 32768), {.table = reciprocals_}, 2);
    const Integers reciprocal = words_.of(Mode::mul, half, words_.constant(1, 2));
    // The shift of a product is the same for all rows if what depends on the row is moved to the front first.
    constexpr int kMoved = 9;
    const Integers moved =
        words_.of(Mode::shl, mixed, words_.of(Mode::sub, headroom, words_.constant(kMoved)));
    const Integers mean = words_.of(Mode::mul, moved, reciprocal,
                                    {.shift = 15 + 31 - kernels::kMixBits - kMoved, .rounding = kHalfUp});
    npu::FeatureMap out = rows_of(y_, group.first, group.count, 0);
    out.height = out.height0 = out.height1 = heads;
    out.stride_y = y_.place.strides[2];
    out.zero_point = y_.zero_point();
    words_.apply(Mode::mul, mean, words_.constant(static_cast<std::int32_t>(result_.multiplier)),
                 {out, y_.place.buffer}, {.shift = result_.shift});
  }
  [[nodiscard]] bool hides_any(const Group& group) const {
    for (std::int64_t q = group.first; q < group.first + group.count; ++q) {
      if (seen(q) != std::pair{group.first_key, group.first_key + group.keys}) return true;
    }
    return false;
  }

  npu::Program& program_;
  const AttentionOptions& options_;
  const Operand &queries_, &keys_, &values_, &y_;
  bool streamed_;
  Words words_;
  npu::Scale score_, result_;
  std::vector<std::int32_t> bias_;
  std::int32_t bias_heads_ = 1;
  bool may_vanish_ = true;  // weights of keys that are seen
  std::vector<std::byte> exponentials_, reciprocals_;
};

}  // namespace

Status Lowering::attention(const Node& node) {
  if (node.arithmetic != Arithmetic::fixed_point) return refuse() << "attention in float32";
  if (has_input(node, 4)) return refuse() << "a table of vectors for distances";
  const Operand queries = input(node, 0), keys = input(node, 1), values = input(node, 2), y = output(node);
  for (const Operand* const operand : {&queries, &keys, &values, &y}) {
    if (operand->tensor->dtype != DType::int8)
      return refuse() << "values of " << name_of(operand->tensor->dtype) << ", expected int8";
    if (operand->place.strides[3] != 1 && operand->shape[3] != 1)
      return refuse() << "channels that are not side by side";
  }
  if (values.shape[2] > 1 && values.place.strides[2] != values.shape[3])
    return refuse() << "heads that are not side by side";
  const auto& options = std::get<AttentionOptions>(node.options);
  const bool streamed = form_ != nullptr && !at(node.inputs[1]).data && form_->time_axis(node.inputs[1]) >= 0;
  // What a frame needs of a stream is then no window that follows it.
  if (streamed && options.chunk != 1)
    return refuse() << "chunks of " << options.chunk << " frames of a stream, expected single frames";
  const Tensor* const bias = has_input(node, 3) ? &at(node.inputs[3]) : nullptr;
  Attention attention(program_, options, queries, keys, values, y, streamed);
  RUNNEL_TRY(attention.prepare(bias));
  Integers hidden;
  if (streamed) hidden = hidden_frames(node, keys.shape[1]);
  attention.run(hidden);
  return {};
}

// Words that hide frames of the keys that are not data: from bytes that the runtime sets for each frame of
// the block, kept as long as the frames.
Integers Lowering::hidden_frames(const Node& node, std::int32_t count) {
  constexpr std::int32_t kFrame = 16;  // bytes; copies need multiples of that
  const TensorId id = node.inputs[1];
  const auto frames = static_cast<std::int32_t>(shape_of(id)[static_cast<std::size_t>(form_->time_axis(id))]);
  const auto history = static_cast<std::int32_t>(history_of(id));
  Words words(program_);
  const auto column = [](std::int32_t size, std::int64_t first, std::int64_t stride) {
    npu::FeatureMap map;
    map.is_signed = true;
    map.height = map.height0 = map.height1 = 1;
    map.width = map.width0 = size;
    map.depth = 1;
    map.stride_c = 1;
    map.stride_x = map.stride_y = stride;
    map.base[0] = first;
    return map;
  };
  const npu::BufferId mask =
      program_.buffer(static_cast<std::size_t>(frames), npu::Program::Lifetime::from_begin);
  const npu::BufferId kept =
      program_.buffer(static_cast<std::size_t>(frames + history) * kFrame, npu::Program::Lifetime::always);
  seen_.push_back({id, mask, kept, kFrame});
  words.apply(Mode::max, {column(frames, 0, 1), mask}, {column(frames, 0, 1), mask},
              {column(frames, std::int64_t{history} * kFrame, kFrame), kept}, {.rounding = kHalfUp});
  npu::FeatureMap bytes = column(count, (history - form_->back_frames(node, 1)) * kFrame, kFrame);
  bytes.zero_point = 1;
  const Integers hidden = words.make(1, count, 1);
  words.apply(Mode::mul, {bytes, kept}, words.constant(1, 1), hidden,
              {.factor = static_cast<std::uint32_t>(-kHidden), .rounding = kHalfUp});
  Integers row = hidden;
  row.map.width = row.map.width0 = 1;
  row.map.depth = count;
  return row;
}

}  // namespace runnel::compiler::ethos_u
