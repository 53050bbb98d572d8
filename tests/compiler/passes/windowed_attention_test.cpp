// Attention whose scores depend on positions, streamed over a window, against the whole clip with the same
// band.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "compiler/run_whole.h"
#include "inference/host/check.h"
#include "tests/inference/graph_builder.h"

namespace runnel {
namespace {

using compiler::AttentionWindow;
using compiler::StreamOptions;
using test::GraphBuilder;
using testing::HasSubstr;
using Id = GraphBuilder::Id;

constexpr int kFrames = 20, kHeads = 2, kChannels = 3;
constexpr float kMasked = -1e9f;

enum class Positions {
  none,
  alibi,           // - slope |distance|, a slope per head
  learned,         // a table by distance, one for all heads
  padded_shift,    // Transformer-XL's: a column, another shape, a row less, the shape again
  joined_shift,    // the column is zeros that are put before
  sliced_shift,    // without the column
  gathered_shift,  // picked from all elements
};
enum class Mask { none, added, where, where_and_zeroed };

struct Variant {
  Positions positions = Positions::none;
  Mask mask = Mask::none;
  bool batch = true, scaled_first = true;
};

// Which keys a query sees.
using Band = std::function<bool(int query, int key)>;
Band band_of(const AttentionWindow& window) {
  return [window](int query, int key) {
    const int start = query / window.chunk * window.chunk;
    return key >= start - window.left && key < start + window.chunk + window.right;
  };
}

class Attention {
 public:
  explicit Attention(const Variant& variant) : variant_(variant), builder_(14, DType::float32) {}

  // `masks`: each added in the way of the variant.
  compiler::Graph build(const std::vector<Band>& masks) {
    const Id x = builder_.input({1, kFrames, 6});
    Id scores = product(heads(x, false), heads(x, true), {kFrames, kFrames});
    if (variant_.scaled_first) scores = scaled(scores);
    if (variant_.positions >= Positions::padded_shift) {
      Id moved = shifted(heads(x, false));
      if (variant_.scaled_first) moved = scaled(moved);
      scores = pair(OpCode::add, scores, moved);
    }
    if (!variant_.scaled_first) scores = scaled(scores);
    if (variant_.positions == Positions::alibi) scores = pair(OpCode::add, scores, alibi());
    if (variant_.positions == Positions::learned) scores = pair(OpCode::add, learned(), scores);
    for (const Band& band : masks) scores = masked(scores, band);
    const Id weights = like(scores);
    builder_.node(OpCode::softmax, {scores}, {weights}, compiler::AxisOptions{variant_.batch ? 3 : 2});
    Id last = weights;
    if (variant_.mask == Mask::where_and_zeroed) {
      for (const Band& band : masks) last = chosen(last, band, 0);
    }
    const Id y = product(last, heads(x, false), {kFrames, kChannels});
    const Id back = builder_.transpose(
        y, variant_.batch ? std::vector<std::uint8_t>{0, 2, 1, 3} : std::vector<std::uint8_t>{1, 0, 2});
    builder_.output(builder_.reshape(back, {1, kFrames, 6}));
    return builder_.graph();
  }

 private:
  std::vector<std::int32_t> shape(std::vector<std::int32_t> matrix) const {
    std::vector<std::int32_t> all =
        variant_.batch ? std::vector<std::int32_t>{1, kHeads} : std::vector<std::int32_t>{kHeads};
    all.insert(all.end(), matrix.begin(), matrix.end());
    return all;
  }
  Id like(Id x) { return builder_.tensor(builder_.shape(x), 0); }
  Id heads(Id x, bool keys) {
    const bool batch = variant_.batch;
    const Id y = builder_.reshape(builder_.conv(x, 6, {}),
                                  batch ? std::vector<std::int32_t>{1, kFrames, kHeads, kChannels}
                                        : std::vector<std::int32_t>{kFrames, kHeads, kChannels});
    if (batch)
      return builder_.transpose(
          y, keys ? std::vector<std::uint8_t>{0, 2, 3, 1} : std::vector<std::uint8_t>{0, 2, 1, 3});
    return builder_.transpose(y,
                              keys ? std::vector<std::uint8_t>{1, 2, 0} : std::vector<std::uint8_t>{1, 0, 2});
  }
  Id product(Id a, Id b, std::vector<std::int32_t> matrix) {
    const Id y = builder_.tensor(shape(std::move(matrix)), 0);
    builder_.node(OpCode::matmul, {a, b}, {y}, compiler::FullyConnectedOptions{});
    return y;
  }
  Id pair(OpCode code, Id a, Id b) {
    const Id y = builder_.tensor(shape({kFrames, kFrames}), 0);
    builder_.node(code, {a, b}, {y}, compiler::BinaryOptions{});
    return y;
  }
  // Leaves the builder's random weights as they are: graphs differ in what they add alone.
  Id constant(std::vector<std::int32_t> dims, DType dtype, const void* values, std::size_t bytes) {
    const Id id = builder_.tensor(std::move(dims), 0);
    compiler::Tensor& made = builder_.graph().tensors[static_cast<std::size_t>(id)];
    made.dtype = dtype;
    made.data.emplace(bytes);
    std::memcpy(made.data->data(), values, bytes);
    return id;
  }
  Id constant(std::vector<std::int32_t> dims, const std::vector<float>& values) {
    return constant(std::move(dims), DType::float32, values.data(), values.size() * sizeof(float));
  }
  Id scaled(Id x) { return pair(OpCode::div, x, constant({1}, {1.7f})); }
  Id alibi() {
    std::vector<float> values;
    for (int h = 0; h < kHeads; ++h) {
      for (int i = 0; i < kFrames; ++i) {
        for (int j = 0; j < kFrames; ++j)
          values.push_back(-std::abs(static_cast<float>(i - j)) / static_cast<float>(1 << (h + 2)));
      }
    }
    return constant({kHeads, kFrames, kFrames}, values);
  }
  Id learned() {
    std::mt19937 random(5);
    std::vector<float> table, values;
    for (int d = 0; d < 2 * kFrames - 1; ++d) table.push_back(static_cast<float>(random() % 2000) / 1000 - 1);
    for (int i = 0; i < kFrames; ++i) {
      for (int j = 0; j < kFrames; ++j)
        values.push_back(table[static_cast<std::size_t>(j - i + kFrames - 1)]);
    }
    return constant({kFrames, kFrames}, values);
  }
  // A product with a table of 2 T - 1 positions, column n for the distance n - (T - 1).
  Id shifted(Id queries) {
    constexpr int kColumns = 2 * kFrames - 1;
    const auto narrow = [&](std::vector<std::int32_t> matrix) { return shape(std::move(matrix)); };
    const Id table = builder_.constant(narrow({kChannels, kColumns}), DType::float32, {}, -1, 200);
    Id x = product(queries, table, {kFrames, kColumns});
    const int rows = variant_.batch ? 2 : 1, columns = rows + 1;
    if (variant_.positions <= Positions::joined_shift) {
      if (variant_.positions == Positions::padded_shift)
        x = builder_.pad(x, columns, 1, 0, 0);
      else
        x = builder_.concat({constant(narrow({kFrames, 1}), std::vector<float>(kHeads * kFrames, 0)), x},
                            columns);
      x = builder_.reshape(x, narrow({kColumns + 1, kFrames}));
      x = builder_.slice(x, rows, 1, kColumns);
      x = builder_.reshape(x, narrow({kFrames, kColumns}));
    } else if (variant_.positions == Positions::sliced_shift) {
      x = builder_.reshape(x, narrow({1, kFrames * kColumns}));
      x = builder_.slice(x, columns, kFrames - 1, kFrames * (kColumns - 1));
      x = builder_.reshape(x, narrow({kFrames, kColumns - 1}));
    } else {
      std::vector<std::int32_t> places;
      for (int h = 0; h < kHeads; ++h) {
        for (int i = 0; i < kFrames; ++i) {
          for (int j = 0; j < kFrames; ++j)
            places.push_back((h * kFrames + i) * kColumns + kFrames - 1 - i + j);
        }
      }
      const auto count = static_cast<std::int32_t>(places.size());
      const Id which = constant({count}, DType::int32, places.data(), places.size() * sizeof(std::int32_t));
      const Id row = builder_.reshape(x, {kHeads * kFrames * kColumns}), y = builder_.tensor({count}, 0);
      builder_.node(OpCode::gather, {row, which}, {y}, compiler::AxisOptions{0});
      return builder_.reshape(y, shape({kFrames, kFrames}));
    }
    return builder_.slice(x, columns, 0, kFrames);
  }
  Id masked(Id scores, const Band& band) {
    if (variant_.mask >= Mask::where) return chosen(scores, band, kMasked);
    std::vector<float> values;
    for (int i = 0; i < kFrames; ++i) {
      for (int j = 0; j < kFrames; ++j) values.push_back(band(i, j) ? 0.0f : kMasked);
    }
    return pair(OpCode::add, scores, constant({1, kFrames, kFrames}, values));
  }
  Id chosen(Id x, const Band& band, float value) {
    std::vector<std::byte> hidden;
    for (int i = 0; i < kFrames; ++i) {
      for (int j = 0; j < kFrames; ++j) hidden.push_back(band(i, j) ? std::byte{0} : std::byte{1});
    }
    const Id condition = constant({kFrames, kFrames}, DType::boolean, hidden.data(), hidden.size());
    const Id y = like(x);
    builder_.node(OpCode::where, {condition, constant({1}, {value}), x}, {y}, std::monostate{});
    return y;
  }

  Variant variant_;
  GraphBuilder builder_;
};

std::vector<float> input_of(int frames) {
  std::mt19937 random(3);
  std::vector<float> values;
  for (int i = 0; i < frames * 6; ++i) values.push_back(static_cast<float>(random() % 4000) / 1000 - 2);
  return values;
}

// One run over the clip.
std::vector<float> whole(const std::shared_ptr<const OwnedModel>& model) {
  PrepareOptions options;
  options.mode = RunMode::whole;
  options.frames = model->model().plan() == nullptr ? 0 : kFrames;
  const auto engine = Engine::make(model, options);
  EXPECT_TRUE(engine.ok()) << engine.status().text();
  if (!engine.ok()) return {};
  const auto runner = Runner::make(*engine);
  const std::vector<float> x = input_of(kFrames);
  std::memcpy((*runner)->session().input(0).data(), x.data(), x.size() * sizeof(float));
  (*runner)->session().run((*engine)->prepared().block());
  const auto bytes = (*runner)->session().tensor(model->model().outputs()[0]);
  std::vector<float> y(bytes.size() / sizeof(float));
  std::memcpy(y.data(), bytes.data(), bytes.size());
  return y;
}

Result<std::shared_ptr<const OwnedModel>> written(const compiler::Graph& graph, const StreamOptions& stream,
                                                  bool plan = true) {
  compiler::WriteOptions options;
  options.stream = stream;
  options.plan = plan;
  auto made = compiler::write_model(graph, options);
  if (!made.ok()) return made.status();
  return OwnedModel::from_bytes(made->bytes);
}

StreamOptions asked(std::optional<AttentionWindow> window) {
  StreamOptions options;
  options.required = true;
  options.attention = window;
  return options;
}

void expect_streams(const Variant& variant, const std::vector<Band>& masks,
                    const std::optional<AttentionWindow>& window, const AttentionWindow& band) {
  const auto model = written(Attention(variant).build(masks), asked(window));
  ASSERT_TRUE(model.ok()) << model.status().text();
  for (const std::int64_t frames : {0, 1, 7, 20, 41}) {
    const auto report = check_streaming(*model, frames, {}, 3);
    ASSERT_TRUE(report.ok()) << report.status().text();
    EXPECT_TRUE(report->differences.empty()) << frames << " frames, " << report->differences[0].run;
  }
  Variant banded = variant;
  if (banded.mask == Mask::none) banded.mask = Mask::added;
  std::vector<Band> all = masks;
  all.push_back(band_of(band));
  const auto clip = written(Attention(banded).build(all), {}, false);
  ASSERT_TRUE(clip.ok()) << clip.status().text();
  const std::vector<float> found = whole(*model), expected = whole(*clip);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << "element " << i;
}

TEST(WindowedAttention, PositionsBecomeTables) {
  for (const Positions positions :
       {Positions::none, Positions::alibi, Positions::learned, Positions::padded_shift,
        Positions::joined_shift, Positions::sliced_shift, Positions::gathered_shift}) {
    for (const AttentionWindow& window :
         {AttentionWindow{5, 0, 1}, AttentionWindow{3, 2, 1}, AttentionWindow{4, 1, 4}}) {
      for (int kind = 0; kind < 4; ++kind) {
        SCOPED_TRACE("positions " + std::to_string(static_cast<int>(positions)) + ", window " +
                     std::to_string(window.left) + ":" + std::to_string(window.right) + ":" +
                     std::to_string(window.chunk) + ", kind " + std::to_string(kind));
        expect_streams({positions, Mask::none, (kind & 1) != 0, (kind & 2) != 0}, {}, window, window);
      }
    }
  }
}

TEST(WindowedAttention, AMaskIsAWindow) {
  for (const Positions positions : {Positions::none, Positions::alibi, Positions::padded_shift}) {
    for (const Mask mask : {Mask::added, Mask::where, Mask::where_and_zeroed}) {
      for (const AttentionWindow& band : {AttentionWindow{6, 0, 1}, AttentionWindow{2, 1, 1},
                                          AttentionWindow{4, 0, 4}, AttentionWindow{0, 2, 5}}) {
        SCOPED_TRACE("positions " + std::to_string(static_cast<int>(positions)) + ", mask " +
                     std::to_string(static_cast<int>(mask)) + ", band " + std::to_string(band.left) + ":" +
                     std::to_string(band.right) + ":" + std::to_string(band.chunk));
        expect_streams({positions, mask}, {band_of(band)}, {}, band);
      }
    }
  }
}

// What both the mask and the option let through.
TEST(WindowedAttention, AMaskAndAWindowTogether) {
  const Variant variant{Positions::alibi, Mask::added};
  expect_streams(variant, {band_of({6, 0, 1})}, AttentionWindow{3, 2, 1}, {3, 0, 1});
  expect_streams(variant, {band_of({2, 1, 1})}, AttentionWindow{9, 9, 1}, {2, 1, 1});
  const Band causal = [](int query, int key) { return key <= query; };
  expect_streams(variant, {causal}, AttentionWindow{4, 4, 1}, {4, 0, 1});
  expect_streams(variant, {causal, band_of({7, 5, 1})}, {}, {7, 0, 1});
}

// What others read of the table's product is still computed.
TEST(WindowedAttention, OtherReadersKeepWhatTheyRead) {
  compiler::Graph graph = Attention({Positions::sliced_shift}).build({});
  const auto product = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const compiler::Node& node) {
    return node.code == OpCode::matmul && graph.tensors[static_cast<std::size_t>(node.inputs[1])].data;
  });
  ASSERT_NE(product, graph.nodes.end());
  const Id read = product->outputs[0];
  graph.outputs.push_back(read);
  const auto model = written(graph, asked(AttentionWindow{5, 0, 1}));
  ASSERT_TRUE(model.ok()) << model.status().text();
  const auto report = check_streaming(*model, 20, {}, 3);
  ASSERT_TRUE(report.ok()) << report.status().text();
  EXPECT_TRUE(report->differences.empty());
  // Scores that are read elsewhere are no scores of a window.
  graph.outputs.back() = graph.nodes[static_cast<std::size_t>(product - graph.nodes.begin()) + 1].outputs[0];
  EXPECT_TRUE(written(graph, {}).ok());
}

std::string refusal(const compiler::Graph& graph, const std::optional<AttentionWindow>& window) {
  const Status status = written(graph, asked(window)).status();
  EXPECT_FALSE(status.ok());
  return std::string(status.text());
}

TEST(WindowedAttention, RefusalsNameTheOperatorAndTheRemedy) {
  const AttentionWindow window{5, 0, 1};
  // Without a window, what helps.
  EXPECT_THAT(refusal(Attention({Positions::alibi}).build({}), {}), HasSubstr("--attention-window"));
  const Band causal = [](int query, int key) { return key <= query; };
  EXPECT_THAT(refusal(Attention({Positions::none, Mask::added}).build({causal}), {}),
              HasSubstr("--attention-window"));
  // A clip too short for the table.
  EXPECT_THAT(refusal(Attention({Positions::alibi}).build({}), AttentionWindow{25, 0, 1}),
              HasSubstr("at a distance of -25 frames"));
  // Chunks of the file.
  EXPECT_THAT(refusal(Attention({Positions::none, Mask::added}).build({band_of({4, 0, 4})}), window),
              HasSubstr("give --attention-window LEFT:RIGHT:4"));
  // Masks that are no band.
  const Band gaps = [](int query, int key) { return (query + key) % 2 == 0; };
  EXPECT_THAT(refusal(Attention({Positions::none, Mask::added}).build({gaps}), window),
              HasSubstr("with gaps"));
  const Band absolute = [](int query, int key) { return key <= std::max(query, 6); };
  EXPECT_THAT(refusal(Attention({Positions::none, Mask::added}).build({absolute}), window),
              HasSubstr("no band that moves with the query"));
  // A bias that depends on the query.
  compiler::Graph graph = Attention({Positions::learned}).build({});
  for (compiler::Tensor& tensor : graph.tensors) {
    if (!tensor.data || tensor.shape != std::vector<std::int32_t>{kFrames, kFrames}) continue;
    const float other = 7;
    std::memcpy(tensor.data->data() + (3 * kFrames + 2) * sizeof(float), &other, sizeof other);
  }
  EXPECT_THAT(refusal(graph, window),
              testing::AllOf(HasSubstr("add 'add"), HasSubstr("depends on more than the distance")));
  // What has no place between product and softmax is named.
  graph = Attention({Positions::none}).build({});
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    compiler::Node& softmax = graph.nodes[n];
    if (softmax.code != OpCode::softmax) continue;
    compiler::Node tanh = softmax;
    tanh.code = OpCode::tanh;
    tanh.name = "squashed";
    tanh.options = std::monostate{};
    graph.tensors.push_back(graph.tensors[static_cast<std::size_t>(softmax.inputs[0])]);
    graph.tensors.back().name = "limited";
    tanh.outputs = {static_cast<Id>(graph.tensors.size()) - 1};
    softmax.inputs = tanh.outputs;
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(n), tanh);
    break;
  }
  EXPECT_THAT(refusal(graph, window), HasSubstr("tanh 'squashed' is between"));
  for (compiler::Node& node : graph.nodes) {
    if (node.name != "squashed") continue;
    node.code = OpCode::add;
    node.inputs.push_back(node.inputs[0]);
    node.options = compiler::BinaryOptions{};
  }
  EXPECT_THAT(refusal(graph, window), HasSubstr("is counted twice"));
}

// Which axis was taken for time comes first.
TEST(WindowedAttention, ARefusalSaysWhichAxisIsTime) {
  compiler::Graph graph = Attention({Positions::none}).build({});
  graph.time_axes = {2};
  graph.time_axis_reason = "for the sake of it";
  const std::string why = refusal(graph, AttentionWindow{5, 0, 1});
  EXPECT_EQ(why.find("time is taken to be axis 2 of input 't0' [1,20,6], for the sake of it (--time-axis "
                     "says otherwise)"),
            0u)
      << why;
  StreamOptions options = asked(AttentionWindow{5, 0, 1});
  options.time_axis = 1;
  EXPECT_TRUE(written(graph, options).ok());
}

// What tables are made of is computed once, here.
TEST(WindowedAttention, TablesAreNoOperators) {
  compiler::Graph graph = Attention({Positions::sliced_shift}).build({});
  const auto product = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const compiler::Node& node) {
    return node.code == OpCode::matmul && graph.tensors[static_cast<std::size_t>(node.inputs[1])].data;
  });
  ASSERT_NE(product, graph.nodes.end());
  compiler::Node negative;
  negative.name = "table";
  negative.code = OpCode::neg;
  negative.inputs = {product->inputs[1]};
  graph.tensors.push_back(graph.tensors[static_cast<std::size_t>(product->inputs[1])]);
  graph.tensors.back().data.reset();
  graph.tensors.back().name = "computed";
  negative.outputs = {static_cast<Id>(graph.tensors.size()) - 1};
  product->inputs[1] = negative.outputs[0];
  graph.nodes.insert(product, negative);
  const auto clip = written(graph, {}, false), model = written(graph, asked(AttentionWindow{19, 19, 1}));
  ASSERT_TRUE(clip.ok() && model.ok()) << model.status().text();
  for (int i = 0; i < (*model)->model().operator_count(); ++i)
    EXPECT_NE((*model)->model().op(i).code(), fb::OpCode::neg);
  const std::vector<float> found = whole(*model), expected = whole(*clip);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5) << "element " << i;
}

// Whole clips keep what they compute, with or without a mask.
TEST(WindowedAttention, WithoutMaskOrWindowNothingChanges) {
  const compiler::Graph graph = Attention({Positions::alibi}).build({});
  const auto model = written(graph, {}), plain = written(graph, {}, false);
  ASSERT_TRUE(model.ok() && plain.ok());
  EXPECT_EQ((*model)->model().plan(), nullptr);
  EXPECT_EQ(whole(*model), whole(*plain));
}

}  // namespace
}  // namespace runnel
