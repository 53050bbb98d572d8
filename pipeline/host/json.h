// The parts of JSON that records need.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace runnel::pipeline {

// With quotes and escapes; bytes that are not UTF-8 become U+FFFD, so that a line with any file name is
// valid.
std::string json_string(std::string_view text);
// Whether the text is well-formed UTF-8.
bool is_utf8(std::string_view text) noexcept;
// With a fixed number of decimals; infinities and NaN become null.
std::string json_number(double value, int decimals);
// A source sample in seconds with three decimals, rounded half up in integers.
std::string json_seconds(std::int64_t sample, std::int64_t sample_rate);

}  // namespace runnel::pipeline
