#include "inference/op_code.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "inference/model/model_generated.h"

namespace runnel {
namespace {

// The name of an enumerator, as the compiler spells it: "conv" for OpCode::conv.
template <auto kValue>
constexpr std::string_view enumerator() noexcept {
  const std::string_view function =
      __PRETTY_FUNCTION__;  // GCC and Clang: "... kValue = runnel::OpCode::conv]"
  const std::size_t value = function.find("kValue ="), end = function.find_first_of(";]", value),
                    colon = function.rfind(':', end);
  return function.substr(colon + 1, end - colon - 1);
}
static_assert(enumerator<OpCode::conv>() == "conv");

// Both enums give the same name to every number from 0 to the last of the schema, and ours has none after it.
template <class Native, class File, std::size_t... kNumbers>
constexpr bool same_names(std::index_sequence<kNumbers...>) noexcept {
  return ((enumerator<static_cast<Native>(kNumbers)>() == enumerator<static_cast<File>(kNumbers)>()) && ...);
}
template <class Native, class File>
constexpr bool same_as_schema() noexcept {
  constexpr std::size_t count = static_cast<std::size_t>(File::MAX) + 1;
  return same_names<Native, File>(std::make_index_sequence<count>()) &&
         enumerator<static_cast<Native>(count)>().find(')') != std::string_view::npos;  // a cast
}
static_assert(same_as_schema<OpCode, fb::OpCode>());
static_assert(same_as_schema<Activation, fb::Activation>());
static_assert(same_as_schema<PadMode, fb::PadMode>());
static_assert(same_as_schema<Direction, fb::Direction>());
static_assert(same_as_schema<ResizeMode, fb::ResizeMode>());
static_assert(same_as_schema<ResizeCoordinates, fb::ResizeCoordinates>());
static_assert(same_as_schema<ScatterReduction, fb::ScatterReduction>());
static_assert(same_as_schema<UsageKind, fb::Usage>());
static_assert(kOpCodes == static_cast<int>(fb::OpCode::MAX) + 1);
static_assert(kScatterReductions == static_cast<int>(fb::ScatterReduction::MAX) + 1);

}  // namespace

const char* name_of(OpCode code) noexcept { return fb::EnumNameOpCode(static_cast<fb::OpCode>(code)); }
namespace {

bool is_reduction(OpCode code) noexcept {
  return (code >= OpCode::reduce_mean && code <= OpCode::reduce_min) ||
         (code >= OpCode::reduce_l1 && code <= OpCode::reduce_sum_square);
}

}  // namespace

const char* name_of(OpCode code, Arithmetic arithmetic) noexcept {
  const bool product = code == OpCode::conv || code == OpCode::fully_connected;
  switch (static_cast<int>(arithmetic)) {
    case 1:
      return code == OpCode::squared_difference || code == OpCode::svdf ? "tflite" : "espdl";
    case 2:
      if (code == OpCode::svdf) return "shifts";
      if (code == OpCode::mod) return "floored";
      if (code == OpCode::attention || code == OpCode::layer_norm) return "fixed_point";
      return is_reduction(code) ? "windows" : "exact";
    case 3:
      if (code == OpCode::lstm) return "stateful_tflite";
      return product ? "hybrid" : "tflite";
    case 4:
      if (code == OpCode::lstm) return "stateful_shifts";
      return product ? "multipliers" : "tflite_windows";
    case 5:
      return "pool_windows";
    case 6:
      return "tflite_pool_windows";
    default:
      return "";
  }
}
const char* name_of(Activation activation) noexcept {
  return fb::EnumNameActivation(static_cast<fb::Activation>(activation));
}
const char* name_of(Direction direction) noexcept {
  return fb::EnumNameDirection(static_cast<fb::Direction>(direction));
}
const char* name_of(ResizeCoordinates coordinates) noexcept {
  return fb::EnumNameResizeCoordinates(static_cast<fb::ResizeCoordinates>(coordinates));
}
const char* name_of(ScatterReduction reduction) noexcept {
  return fb::EnumNameScatterReduction(static_cast<fb::ScatterReduction>(reduction));
}

}  // namespace runnel
