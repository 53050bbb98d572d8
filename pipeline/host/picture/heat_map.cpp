#include "pipeline/host/picture/heat_map.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace runnel::pipeline {
namespace {

constexpr int kBarWidth = 14, kBarGap = 14, kTick = 4;

// The (fractional) row of a value of the axis.
double row_of(const ValueAxis& axis, double value, double rows) {
  switch (axis.kind) {
    case ValueAxis::Kind::hz:
      return axis.high > axis.low ? (value - axis.low) / (axis.high - axis.low) * (rows - 1) : 0;
    // Filter i is centred on step i + 1 of rows + 1.
    case ValueAxis::Kind::mel: {
      const double low = features::mel_of(axis.low, axis.scale),
                   high = features::mel_of(axis.high, axis.scale);
      return (features::mel_of(value, axis.scale) - low) / (high - low) * (rows + 1) - 1;
    }
    case ValueAxis::Kind::channel:
      break;
  }
  return value;
}

}  // namespace

std::vector<double> ticks_of(double low, double high, int most, double& step) {
  step = 1;
  if (!(high > low) || most < 2 || !std::isfinite(high - low)) return {low};
  const double raw = (high - low) / (most - 1), power = std::pow(10, std::floor(std::log10(raw)));
  step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9);
       i * step <= high + 1e-9 * step && ticks.size() < static_cast<std::size_t>(most) + 1; ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::string tick_text(double value, double step) {
  char text[40];
  const double size = std::max(std::fabs(value), step);
  if (size >= 1e6 || step < 1e-4) {
    std::snprintf(text, sizeof text, "%.3g", std::fabs(value) < step / 2 ? 0.0 : value);
  } else {
    const int digits = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
    std::snprintf(text, sizeof text, "%.*f", digits, std::fabs(value) < step / 2 ? 0.0 : value);
  }
  return text;
}

HeatMap::HeatMap(std::size_t dims, std::size_t columns)
    : dims_(dims),
      rows_(std::min<std::size_t>(dims, kMaxRows)),
      columns_(columns),
      sums_(columns * rows_),
      counts_(columns) {}

int HeatMap::row_height() const noexcept { return std::clamp(static_cast<int>(320 / rows_), 1, 40); }
int HeatMap::column_width() const noexcept {
  return std::clamp(static_cast<int>(400 / std::max<std::size_t>(used_, 1)), 1, 40);
}

void HeatMap::halve() {
  for (std::size_t c = 0; c < columns_; ++c) {
    const std::size_t to = c / 2;
    if (c % 2 == 0 && c > 0) {
      std::copy_n(sums_.begin() + static_cast<std::ptrdiff_t>(c * rows_), rows_,
                  sums_.begin() + static_cast<std::ptrdiff_t>(to * rows_));
      counts_[to] = counts_[c];
    } else if (c % 2 == 1) {
      for (std::size_t r = 0; r < rows_; ++r) sums_[to * rows_ + r] += sums_[c * rows_ + r];
      counts_[to] += counts_[c];
    }
  }
  const std::size_t kept = (columns_ + 1) / 2;
  std::fill(sums_.begin() + static_cast<std::ptrdiff_t>(kept * rows_), sums_.end(), 0.0F);
  std::fill(counts_.begin() + static_cast<std::ptrdiff_t>(kept), counts_.end(), 0);
  used_ = (used_ + 1) / 2;
  per_column_ *= 2;
}

void HeatMap::add(std::int64_t index, std::span<const float> values) {
  while (index / per_column_ >= static_cast<std::int64_t>(columns_)) halve();
  const auto column = static_cast<std::size_t>(index / per_column_);
  used_ = std::max(used_, column + 1);
  ++counts_[column];
  float* to = &sums_[column * rows_];
  for (std::size_t r = 0; r < rows_; ++r) {
    const std::size_t from = r * dims_ / rows_, end = std::max((r + 1) * dims_ / rows_, from + 1);
    double sum = 0;
    for (std::size_t i = from; i < end; ++i) sum += static_cast<double>(values[i]);
    to[r] += static_cast<float>(sum / static_cast<double>(end - from));
  }
}

Picture HeatMap::draw(const Labels& labels) const {
  const int across = column_width(), up = row_height();
  const int width = std::max(static_cast<int>(used_) * across, 120),
            height = std::max(static_cast<int>(rows_) * up, 80);
  Picture picture(kLeft + width + kRight, kTop + height + kBottom);
  const auto value = [&](std::size_t c, std::size_t r) {
    return static_cast<double>(sums_[c * rows_ + r]) / static_cast<double>(counts_[c]);
  };
  double low = labels.low, high = labels.high;
  if (low == high) {
    bool any = false;
    for (std::size_t c = 0; c < used_; ++c) {
      for (std::size_t r = 0; counts_[c] > 0 && r < rows_; ++r) {
        const double v = value(c, r);
        if (!std::isfinite(v)) continue;
        low = any ? std::min(low, v) : v;
        high = any ? std::max(high, v) : v;
        any = true;
      }
    }
  }
  const double range = high > low ? high - low : 1;
  const int bottom = kTop + height;
  picture.fill(kLeft - 1, kTop - 1, width + 2, height + 2, kBlack);
  picture.fill(kLeft, kTop, width, height, kNoData);
  for (std::size_t c = 0; c < used_; ++c) {
    for (std::size_t r = 0; counts_[c] > 0 && r < rows_; ++r) {
      const double v = value(c, r);
      const Color color = std::isfinite(v) ? heat((v - low) / range) : kNoData;
      picture.fill(kLeft + static_cast<int>(c) * across, bottom - static_cast<int>(r + 1) * up, across, up,
                   color);
    }
  }
  const int letter = Picture::kLetterHeight;
  // Long names are cut at the start: the end says more.
  const std::size_t room = static_cast<std::size_t>((width - 4) / Picture::kLetterWidth);
  const std::string title =
      labels.title.size() <= room ? labels.title : ".." + labels.title.substr(labels.title.size() + 2 - room);
  picture.text(kLeft, 6, title);
  // Time axis: a column is labelled with its first frame.
  double step = 1;
  const double seconds = labels.frame_s * static_cast<double>(per_column_) * width / across;
  for (const double tick :
       ticks_of(labels.begin_s, labels.begin_s + seconds, std::max(2, width / 90), step)) {
    const int x = kLeft + static_cast<int>(std::lround((tick - labels.begin_s) / seconds * width));
    const std::string text = tick_text(tick, step);
    picture.fill(x, bottom + 1, 1, kTick, kBlack);
    picture.text(x - Picture::text_width(text) / 2, bottom + 7, text);
  }
  picture.text(kLeft + (width - Picture::text_width("time [s]")) / 2, bottom + 12 + letter, "time [s]");
  // Values.
  const bool channels = labels.axis.kind == ValueAxis::Kind::channel;
  const double first = channels ? 0 : labels.axis.low,
               last = channels ? static_cast<double>(dims_ - 1) : labels.axis.high;
  for (const double tick : ticks_of(first, last, std::max(2, height / 24), step)) {
    if (channels && tick != std::floor(tick)) continue;
    const double row = row_of(labels.axis, tick, static_cast<double>(dims_)) * static_cast<double>(rows_) /
                       static_cast<double>(dims_);
    const int y = bottom - static_cast<int>(std::lround((row + 0.5) * up));
    if (y < kTop || y >= bottom) continue;
    const std::string text = tick_text(tick, step);
    picture.fill(kLeft - 1 - kTick, y, kTick, 1, kBlack);
    picture.text(kLeft - 4 - kTick - Picture::text_width(text), y - letter / 2, text);
  }
  picture.text(2, 6, channels ? "channel" : "[Hz]");
  // Colour bar.
  const int bar = kLeft + width + kBarGap;
  picture.fill(bar - 1, kTop - 1, kBarWidth + 2, height + 2, kBlack);
  for (int y = 0; y < height; ++y) picture.fill(bar, bottom - 1 - y, kBarWidth, 1, heat((y + 0.5) / height));
  for (const double tick : ticks_of(low, low + range, std::max(2, height / 24), step)) {
    const int y = bottom - 1 - static_cast<int>(std::lround((tick - low) / range * (height - 1)));
    picture.fill(bar + kBarWidth + 1, y, kTick, 1, kBlack);
    picture.text(bar + kBarWidth + 4 + kTick, y - letter / 2, tick_text(tick, step));
  }
  picture.text(bar, 6, labels.values);
  return picture;
}

}  // namespace runnel::pipeline
