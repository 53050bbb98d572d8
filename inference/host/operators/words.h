// Words that many rows of the tables of operators share; docs/operators.md prints them.
#pragma once

#include <string_view>

namespace runnel::operators {

inline constexpr std::string_view kAll = "i8 i16 f32";
inline constexpr std::string_view kPairs = "i8 i16 f32, plain i32 i64 (wrap round)";
inline constexpr std::string_view kIntegers = "i8 i16";
inline constexpr std::string_view kEach = "each frame";
inline constexpr std::string_view kWindow = "window: history, delay, flush";
inline constexpr std::string_view kOtherAxes = "each frame, when time is not the axis";
inline constexpr std::string_view kSum1 = "operands rounded to the output's scale, then saturated";
inline constexpr std::string_view kExact = "exact, one rounding";
inline constexpr std::string_view kFunction = "double precision, rounded to float32, then to integers";
inline constexpr std::string_view kFloatFunction =
    "f32: within 3 units in the last place; integers: double precision, rounded to float32 first";
inline constexpr std::string_view kReal = "double precision, one rounding to float32";
inline constexpr std::string_view kNorm = "float32 in a fixed order, one rounding";
inline constexpr std::string_view kTruth = "exact, whatever the scales";

inline constexpr std::string_view kAffine = "i8 i16 with scales";
inline constexpr std::string_view kTflite = "TensorFlow Lite's: multipliers of 31 bits, rounded twice";
inline constexpr std::string_view kSteps = "no: keeps its state from call to call";

}  // namespace runnel::operators
