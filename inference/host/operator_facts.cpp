#include "inference/host/operator_facts.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace runnel {
namespace {

constexpr std::string_view kAll = "i8 i16 f32";
constexpr std::string_view kPairs = "i8 i16 f32, plain i32 (wraps round)";
constexpr std::string_view kIntegers = "i8 i16";
constexpr std::string_view kEach = "each frame";
constexpr std::string_view kWindow = "window: history, delay, flush";
constexpr std::string_view kOtherAxes = "each frame, when time is not the axis";
constexpr std::string_view kSum1 = "operands rounded to the output's scale, then saturated";
constexpr std::string_view kExact = "exact, one rounding";
constexpr std::string_view kFunction = "double precision, rounded to float32, then to integers";
constexpr std::string_view kFloatFunction =
    "f32: within 3 units in the last place; integers: double precision, rounded to float32 first";
constexpr std::string_view kReal = "double precision, one rounding to float32";
constexpr std::string_view kNorm = "float32 in a fixed order, one rounding";
constexpr std::string_view kTruth = "exact, whatever the scales";

constexpr std::string_view kAffine = "i8 i16 with scales";
constexpr std::string_view kTflite = "TensorFlow Lite's: multipliers of 31 bits, rounded twice";
constexpr std::string_view kSteps = "no: keeps its state from call to call";

constexpr OperatorFacts kFacts[] = {
    // ---- any scale and zero point, as TensorFlow Lite's reference kernels
    {"conv", 3, "x, weights, bias or absent", "f32, weights i8 with scales",
     "no: one scale for the whole input",
     "input rounded to i8 by its largest value, exact sums, scaled in float32"},
    {"fully_connected", 3, "x, weights, bias or absent", "f32, weights i8 with scales",
     "no: one scale per row", "as conv 3"},
    {"conv", 4, "x, weights, bias or absent, multipliers, shifts", kAffine, kWindow,
     "exact sums, then the multipliers and shifts given, rounded twice or once"},
    {"fully_connected", 4, "x, weights, bias or absent, multipliers, shifts", kAffine, kOtherAxes,
     "as conv 4"},
    {"add", 3, "a, b", kAffine, kEach, kTflite},
    {"sub", 3, "a, b", kAffine, kEach, kTflite},
    {"mul", 3, "a, b", kAffine, kEach, kTflite},
    {"max", 3, "a, b", "i8 i16 of one scale", kEach, "exact"},
    {"min", 3, "a, b", "i8 i16 of one scale", kEach, "exact"},
    {"squared_difference", 1, "a, b", kAffine, kEach, kTflite},
    {"matmul", 3, "a [.., M, K], b [.., K, N]", kAffine, "time is M beside a fixed b, or a leading axis",
     "exact sums, then a multiplier of 31 bits, rounded twice"},
    {"relu", 3, "x", kAffine, kEach, kTflite},
    {"clip", 3, "x", "i8 u8 i16 i32 with scales", kEach, kTflite},
    {"requantize", 3, "x", "i8 u8 i16 i32 with scales", kEach, kTflite},
    {"quantize", 3, "x", "f32 to i8 u8 i16 i32 with scales", kEach,
     "float32, ties away from zero or to even"},
    {"dequantize", 3, "x", "i8 u8 i16 i32 with scales, to f32", kEach, "double precision, one rounding"},
    {"sigmoid", 3, "x", kAffine, kEach, "fixed point; i16: table of 256, linear"},
    {"tanh", 3, "x", kAffine, kEach, "fixed point; i16: table of 256, linear"},
    {"leaky_relu", 3, "x", kAffine, kEach, kTflite},
    {"hard_swish", 3, "x", "i8 with scales", kEach, "16-bit fixed point"},
    {"softmax", 3, "x", "i8 with scales, to i8 i16; i16 to i16", kOtherAxes,
     "fixed point, the largest value subtracted, differences times a factor; i16: tables of 513, linear"},
    {"average_pool", 3, "x", kAffine, kWindow,
     "exact sum, divided in integers, ties away from zero, or up (half_up)"},
    {"max_pool", 3, "x", kAffine, kWindow, "exact"},
    {"reduce_mean", 3, "x", kAffine, kOtherAxes, "exact sum, the count in the multiplier"},
    {"reduce_sum", 3, "x", kAffine, kOtherAxes, "exact sum, then a multiplier of 31 bits, rounded twice"},
    {"reduce_max", 3, "x", "i8 i16 of one scale", kOtherAxes, "exact"},
    {"reduce_min", 3, "x", "i8 i16 of one scale", kOtherAxes, "exact"},
    {"lstm", 3, "x, 4 weights of x, 4 of h, 4 biases", "i8 with scales, f32", kSteps,
     "gates Q3.12 and Q0.15 from a table, cell i16; f32: fixed order"},
    {"svdf", 1, "x, weights over features, over time, bias or absent", "i8 with scales, f32", kSteps,
     "state i8 or i16, TensorFlow Lite's multipliers; f32: fixed order"},
    {"lstm", 4, "as lstm 3", "i8", kSteps, "as lstm 3, with shifts, each result rounded once"},
    {"svdf", 2, "as svdf 1", "i8, state i8 or i16", kSteps,
     "as svdf 1, with shifts, each result rounded once"},
    {"reduce_mean", 4, "x", kAffine, "over windows of time, or all frames so far",
     "exact sum, the count in the multiplier"},
    // ---- windows of time
    {"reduce_mean", 2, "x", kAll, "over windows of time, or all frames so far",
     "as reduce_mean 1; integers at two additions per frame"},
    {"reduce_mean", 5, "x", kIntegers, "over windows of time, or all frames so far",
     "as average_pool 1, at two additions per frame"},
    {"reduce_mean", 6, "x", kAffine, "over windows of time, or all frames so far",
     "as average_pool 3, at two additions per frame"},
    {"reduce_sum", 2, "x", kAll, "over windows of time, or all frames so far",
     "as reduce_sum 1; integers at two additions per frame"},
    {"reduce_max", 2, "x", kAll, "over windows of time, or all frames so far",
     "exact; integers at three comparisons per frame"},
    {"reduce_min", 2, "x", kAll, "over windows of time, or all frames so far",
     "exact; integers at three comparisons per frame"},
    {"attention", 1, "queries, keys, values [1, time, heads, C]", kAll,
     "keys and values: history around the query's chunk",
     "products as matmul, softmax as softmax; f32: in order"},
    // ---- products
    {"conv", 1, "x, weights, bias or absent", kAll, kWindow,
     "exact sums, one rounding, per tensor or channel; f32: fixed order"},
    {"fully_connected", 1, "x, weights, bias or absent", kAll, kOtherAxes, "as conv"},
    {"matmul", 1, "a [.., M, K], b [.., K, N]", kAll, "time is M beside a fixed b, or a leading axis",
     "exact sums, one rounding; f32: in order of K"},
    // ---- pairs
    {"add", 1, "a, b", kPairs, kEach, kSum1},
    {"add", 2, "a, b", kPairs, kEach, kExact},
    {"sub", 1, "a, b", kPairs, kEach, kSum1},
    {"sub", 2, "a, b", kPairs, kEach, kExact},
    {"mul", 1, "a, b", kPairs, kEach, "exact product through float32, one rounding"},
    {"mul", 2, "a, b", kPairs, kEach, kExact},
    {"div", 1, "a, b", kAll, kEach, "float32 quotient; 0/0 is 0 in integers"},
    {"mod", 1, "a, b", kAll, kEach, "sign of a; exact; remainder by 0 is 0 in integers"},
    {"mod", 2, "a, b", kAll, kEach, "sign of b; exact; remainder by 0 is 0 in integers"},
    {"pow", 1, "a, b", kAll, kEach, kFunction},
    {"max", 1, "a, b", kPairs, kEach, kSum1},
    {"min", 1, "a, b", kPairs, kEach, kSum1},
    {"prelu", 1, "x, slopes", kAll, kEach, "negative products exact, one rounding"},
    {"equal", 1, "a, b", "i8 i16 f32 bool, to bool", kEach, kTruth},
    {"greater", 1, "a, b", "i8 i16 f32, to bool", kEach, kTruth},
    {"greater_or_equal", 1, "a, b", "i8 i16 f32, to bool", kEach, kTruth},
    {"less", 1, "a, b", "i8 i16 f32, to bool", kEach, kTruth},
    {"less_or_equal", 1, "a, b", "i8 i16 f32, to bool", kEach, kTruth},
    {"logical_and", 1, "a, b", "bool", kEach, "any byte but 0 is true"},
    {"logical_or", 1, "a, b", "bool", kEach, "any byte but 0 is true"},
    {"logical_xor", 1, "a, b", "bool", kEach, "any byte but 0 is true"},
    {"logical_not", 1, "x", "bool", kEach, "any byte but 0 is true"},
    {"where", 1, "condition, a, b", "bool; any type", kEach, "moved to the output's scale"},
    // ---- one value
    {"relu", 1, "x", kAll, kEach, "moved to the output's scale"},
    {"clip", 1, "x", kAll, kEach, "moved to the output's scale, then limited (hard_tanh)"},
    {"requantize", 1, "x", kIntegers, kEach, "shift, one rounding"},
    {"quantize", 1, "x", "f32 to i8 i16", kEach, "float32, one rounding"},
    {"dequantize", 1, "x", "i8 i16 to f32", kEach, "exact"},
    {"cast", 1, "x", "any plain number; any to bool", kEach, "towards zero, saturated; NaN is 0"},
    {"lut", 1, "x, table", "i8 i16, also with scales", kEach,
     "i8: 256 entries; i16: 2^k + 1, nearest or linear"},
    {"abs", 1, "x", kAll, kEach, kFunction},
    {"neg", 1, "x", kAll, kEach, kFunction},
    {"exp", 1, "x", kAll, kEach, kFloatFunction},
    {"log", 1, "x", kAll, kEach, kFunction},
    {"sqrt", 1, "x", kAll, kEach, kFunction},
    {"sigmoid", 1, "x", kAll, kEach, kFloatFunction},
    {"tanh", 1, "x", kAll, kEach, kFloatFunction},
    {"swish", 1, "x", kAll, kEach, kFloatFunction},
    {"hard_sigmoid", 1, "x", kAll, kEach, kFunction},
    {"hard_swish", 1, "x", kAll, kEach, kFunction},
    {"gelu", 1, "x", kAll, kEach, kFunction},
    {"elu", 1, "x", kAll, kEach, kFunction},
    {"leaky_relu", 1, "x", kAll, kEach, kFunction},
    {"mish", 1, "x", kAll, kEach, kFunction},
    {"softplus", 1, "x", kAll, kEach, kFunction},
    {"erf", 1, "x", kAll, kEach, kFunction},
    // ---- windows
    {"average_pool", 1, "x", kAll, kWindow, "exact sum, scaled in float32, one rounding; f32: fixed order"},
    {"max_pool", 1, "x", kAll, kWindow, "exact, moved to the output's scale"},
    // ---- movement
    {"reshape", 1, "x", "any type", "when time stays an axis of its own",
     "moved to the output's scale (identity)"},
    {"transpose", 1, "x", "any type", kEach, "moved to the output's scale"},
    {"slice", 1, "x", "any type", "window: steps forward", "moved to the output's scale"},
    {"concat", 1, "any number", "any type", kOtherAxes, "moved to the output's scale"},
    {"split", 1, "x", "any type", kOtherAxes, "moved to the output's scale"},
    {"pad", 1, "x", "any type", "over time: constants only", "moved to the output's scale"},
    // ---- over axes
    {"reduce_mean", 1, "x", kAll, kOtherAxes,
     "exact sum, mean in float32, one rounding; f32: sum of twice its bits, one rounding"},
    {"reduce_sum", 1, "x", kAll, kOtherAxes, "exact, one rounding; f32: sum of twice its bits, one rounding"},
    {"reduce_max", 1, "x", kAll, kOtherAxes, "exact, moved to the output's scale"},
    {"reduce_min", 1, "x", kAll, kOtherAxes, "exact, moved to the output's scale"},
    {"reduce_l1", 1, "x", kAll, kOtherAxes, "exact, one rounding; f32: sum of twice its bits, one rounding"},
    {"reduce_l2", 1, "x", kAll, kOtherAxes,
     "double precision, one rounding to float32; f32: sum of twice its bits"},
    {"reduce_prod", 1, "x", kAll, kOtherAxes, kReal},
    {"reduce_log_sum", 1, "x", kAll, kOtherAxes, kReal},
    {"reduce_log_sum_exp", 1, "x", kAll, kOtherAxes,
     "largest value subtracted; double precision, one rounding to float32"},
    {"reduce_sum_square", 1, "x", kAll, kOtherAxes,
     "exact, one rounding; f32: sum of twice its bits, one rounding"},
    {"softmax", 1, "x", "i8 i16 f32, to f32 or the same", kOtherAxes,
     "largest value subtracted; pairs of float32 with 42 bits, one rounding to float32"},
    {"log_softmax", 1, "x", "i8 i16 f32, to f32 or the same", kOtherAxes,
     "largest value subtracted; pairs of float32 with 42 bits, one rounding to float32"},
    {"arg_max", 1, "x", "i8 i16 i32 f32, to i32 i64", kOtherAxes, "the first of equals"},
    {"top_k", 1, "x", "i8 i16 i32 f32, and i32 i64", kOtherAxes, "sorted; of equals the first"},
    // ---- recurrence, normalization, rearrangement
    {"gru", 1, "x, W, R, then bias, initial h or absent", kAll, "carries its state; forwards only",
     "gates of int16, products of gates in float32, saturated; f32: fixed order"},
    {"lstm", 1, "x, W, R, then bias, initial h, initial c or absent", kAll,
     "carries its state; forwards only", "as gru, the cell int16 at the gates' scale"},
    {"layer_norm", 1, "x, scale, bias or absent", kAll, "each frame, when time is before the axis", kNorm},
    {"rms_norm", 1, "x, scale", kAll, "each frame, when time is before the axis", kNorm},
    {"lp_norm", 1, "x", kAll, kOtherAxes, kNorm},
    {"resize", 1, "x", kAll, "upsampling by whole factors",
     "nearest: moved to the output's scale; linear: float32, one rounding"},
    {"depth_to_space", 1, "x", "any type", "upsampling", "moved to the output's scale"},
    {"space_to_depth", 1, "x", "any type", kWindow, "moved to the output's scale"},
    {"insert_zeros", 1, "x", "any type", "upsampling", "moved to the output's scale"},
    {"transposed_conv", 1, "x, weights, bias or absent", kIntegers, "upsampling: history, delay, flush",
     "exact sums, one rounding, per tensor or channel"},
    {"streaming_cache", 1, "x", "any type", "no: keeps frames from call to call", "copied"},
    {"expand", 1, "x", "any type", "each frame, when time is not repeated", "moved to the output's scale"},
    {"gather", 1, "x, indices", "any type; i32 i64", "each frame, when time is not the axis; a fixed table",
     "moved to the output's scale"},
    {"scatter_nd", 1, "x, indices, updates", "i8 i16 f32; i32 i64", "no",
     "operands rounded to the output's scale, products rounded once"},
    // ---- what a session keeps, and what back ends compute
    {"read_variable", 1, "first value or absent", "any type", kSteps, "copied"},
    {"assign_variable", 1, "x", "any type", kSteps, "copied"},
    {"delegate", 1, "constants of the back end, then what it reads", "any type", "no", "the back end's"},
    {"reverse_sequence", 1, "x, lengths", "any type; i32 i64", "each frame, beside time and batch",
     "moved to the output's scale"},
};

}  // namespace

const OperatorFacts* operator_facts(std::string_view name, int version) {
  const auto* const found = std::find_if(std::begin(kFacts), std::end(kFacts), [&](const OperatorFacts& f) {
    return f.name == name && f.version == version;
  });
  return found == std::end(kFacts) ? nullptr : found;
}

std::string operators_markdown(OperatorTable table, std::string& missing) {
  std::vector<const OperatorDefinition*> sorted(table.begin(), table.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->name != b->name ? a->name < b->name : a->arithmetic < b->arithmetic;
  });
  std::string page =
      "# Operators\n\n"
      "Made from the table of operators by `operator_facts_test`; with `RUNNEL_UPDATE_DOCS=1` in the "
      "environment it writes this page anew.\n\n"
      "Types are those of activations: i8, i16 with a power-of-two scale each and zero point 0, f32 plain; "
      "\"with scales\": any scale\n"
      "and zero point. conv and fully_connected version 1 take those as well, and operators that move data "
      "where both sides agree. Integers are exact and the same\n"
      "everywhere. Floats have a fixed order of operations: the same bits on every machine, and in blocks of "
      "a stream as in the whole clip.\n"
      "Operators that follow time refuse by name what cannot be streamed and say what would help. Shapes and "
      "options: [model-file.md](model-file.md).\n\n"
      "| operator | version | arithmetic | code | inputs | types | along time | numbers "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const OperatorDefinition* definition : sorted) {
    const int version = static_cast<int>(definition->arithmetic);
    const OperatorFacts* const facts = operator_facts(definition->name, version);
    if (facts == nullptr) {
      missing += std::string(definition->name) + " version " + std::to_string(version) + "\n";
      continue;
    }
    page += "| " + std::string(definition->name) + " | " + std::to_string(version) + " | " +
            name_of(definition->code, definition->arithmetic) + " | " +
            std::to_string(static_cast<int>(definition->code));
    for (const std::string_view cell :
         {facts->inputs, facts->types, definition->stream == nullptr ? std::string_view("no") : facts->stream,
          facts->arithmetic}) {
      page += " | " + std::string(cell);
    }
    page += " |\n";
  }
  return page;
}

}  // namespace runnel
