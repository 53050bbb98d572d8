// JSON line of a decision, digit for digit as the program runnel writes it on hosts, without printf.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "embed/runnel.h"
#include "pipeline/format.h"

namespace runnel::firmware {

// A number from 0 to 1 with four decimals, rounded from its exact value, half to even.
inline void append_score(Text& text, float score) noexcept {
  int exponent = 0;
  const float fraction = std::frexp(score, &exponent);  // fraction * 2^exponent, 0.5 <= fraction < 1
  const auto mantissa = std::uint64_t{static_cast<std::uint32_t>(std::ldexp(fraction, 24))} * 10000;
  const int shift = 24 - exponent;  // score * 10000 = mantissa / 2^shift
  std::uint64_t units = 0;
  if (shift <= 0) {
    units = mantissa << -shift;
  } else if (shift < 63) {
    units = mantissa >> shift;
    const std::uint64_t rest = mantissa - (units << shift), half = std::uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && units % 2 == 1)) ++units;
  }
  text << units / 10000 << '.' << units / 1000 % 10 << units / 100 % 10 << units / 10 % 10 << units % 10;
}

inline void append_seconds(Text& text, std::int64_t sample, std::int64_t sample_rate) noexcept {
  const std::int64_t total = pipeline::milliseconds(sample, sample_rate);
  text << total / 1000 << '.' << total / 100 % 10 << total / 10 % 10 << total % 10;
}

// Without `{"type":"event","source":"...",`, which the host adds before it.
inline void append_event(Text& text, const runnel_event& event, std::int64_t sample_rate) noexcept {
  text << "{\"type\":\"event\",\"label\":\"" << event.label << "\",\"score\":";
  append_score(text, event.score);
  text << ",\"start\":";
  append_seconds(text, event.begin, sample_rate);
  text << ",\"end\":";
  append_seconds(text, event.end, sample_rate);
  text << ",\"frame\":" << event.frame << "}";
}

}  // namespace runnel::firmware
