#include "pipeline/format.h"

#include <numeric>

#include "base/checked.h"
#include "pipeline/block.h"

namespace runnel::pipeline {
namespace {

Clock reduced(Clock clock) noexcept {
  const std::int64_t common =
      std::gcd(std::gcd(clock.hop, clock.begin), std::gcd(clock.span, clock.denominator));
  if (common > 1) {
    clock.hop /= common;
    clock.begin /= common;
    clock.span /= common;
    clock.denominator /= common;
  }
  return clock;
}

// up / down with at most six decimals. Integers only: for this message alone, small devices should not link
// software double precision.
void append_fraction(Text& text, std::int64_t up, std::int64_t down) noexcept {
  constexpr std::int64_t kParts = 1'000'000;
  if (up < 0 || down <= 0) {
    text << 0;
    return;
  }
  std::int64_t whole = up / down, parts = (up % down * kParts + down / 2) / down;
  whole += parts / kParts;
  parts %= kParts;
  text << whole << (parts > 0 ? "." : "");
  for (std::int64_t digit = kParts / 10; parts > 0; parts %= digit, digit /= 10) text << parts / digit;
}

}  // namespace

std::string_view name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::audio:
      return "audio";
    case Kind::frames:
      return "frames";
    case Kind::events:
      return "events";
    case Kind::none:
      break;
  }
  return "nothing";
}

std::int64_t Clock::first_sample(std::int64_t frame) const noexcept {
  return floor_div(begin + frame * hop, denominator);
}
std::int64_t Clock::end_sample(std::int64_t frame) const noexcept {
  return ceil_div(begin + frame * hop + span, denominator);
}

std::int64_t Clock::rate() const noexcept {
  const std::int64_t total = sample_rate * denominator;
  return hop > 0 && total % hop == 0 ? total / hop : 0;
}

double Clock::hz() const noexcept {
  return hop > 0
             ? static_cast<double>(sample_rate) * static_cast<double>(denominator) / static_cast<double>(hop)
             : 0;
}

Clock Clock::windows(std::int64_t step, std::int64_t first, std::int64_t length) const noexcept {
  Clock result = *this;
  result.begin = begin + first * hop;
  result.hop = step * hop;
  result.span = length > 0 ? (length - 1) * hop + span : 0;
  return reduced(result);
}

Clock Clock::every(std::int64_t up, std::int64_t down) const noexcept {
  Clock result = *this;
  result.denominator = denominator * up;
  result.begin = begin * up;
  result.hop = hop * down;
  result.span = span * up;
  return reduced(result);
}

Clock Clock::resampled(std::int64_t up, std::int64_t down) const noexcept {
  Clock result = every(up, down);
  result.span = result.hop;
  return reduced(result);
}

std::int64_t milliseconds(std::int64_t sample, std::int64_t sample_rate) noexcept {
  if (sample_rate <= 0) return 0;
  const std::int64_t seconds = floor_div(sample, sample_rate);
  const std::int64_t rest = sample - seconds * sample_rate;
  return seconds * 1000 + (2 * rest * 1000 + sample_rate) / (2 * sample_rate);
}

std::size_t Format::frame_bytes() const noexcept {
  if (kind == Kind::events) return sizeof(Event);
  return size_of(dtype) * static_cast<std::size_t>(channels);
}

Text describe(const Format& format) noexcept {
  Text text;
  text << name_of(format.kind);
  const std::int64_t rate = format.clock.rate();
  if (format.kind == Kind::audio) {
    if (rate > 0)
      text << ' ' << rate;
    else
      append_fraction(text << ' ', format.clock.sample_rate * format.clock.denominator, format.clock.hop);
    text << " Hz, " << format.channels << (format.channels == 1 ? " channel, " : " channels, ")
         << name_of(format.dtype);
  } else if (format.kind == Kind::frames) {
    text << " of " << format.channels << ' ' << name_of(format.dtype)
         << (format.channels == 1 ? " value" : " values");
    if (format.dtype != DType::float32 && !format.codes) text << " (exponent " << format.exponent << ')';
    if (rate > 0)
      text << ", " << rate << " per second";
    else
      text << ", one every " << format.clock.hop << '/' << format.clock.denominator << " samples";
  }
  return text;
}

}  // namespace runnel::pipeline
