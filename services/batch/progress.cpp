#include "services/batch/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "pipeline/host/json.h"

namespace runnel::batch {
namespace {

std::string clock_text(double seconds) {
  const auto total = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 3.6e9)));
  char text[64];
  std::snprintf(text, sizeof text, "%02lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
  return text;
}

}  // namespace

std::string progress_text(const ProgressState& state) {
  std::string text = std::to_string(state.recordings) + " of " + std::to_string(state.of) + " recordings, " +
                     std::to_string(state.failures) + " failed, " +
                     pipeline::json_number(state.audio_seconds / 3600, 2) + " hours of sound";
  if (state.seconds <= 0) return text;
  text += ", " + pipeline::json_number(state.audio_seconds / state.seconds, 0) + " times real time";
  const double here = state.share - state.share_before;
  if (here > 0) text += ", " + clock_text(state.seconds * (1 - state.share) / here) + " left";
  return text;
}

std::string progress_bar(const ProgressState& state, int columns) {
  constexpr int kWidth = 24;
  const double share = std::clamp(state.share, 0.0, 1.0);
  const int full = static_cast<int>(share * kWidth);
  char percent[16];
  std::snprintf(percent, sizeof percent, "] %3d %% ", static_cast<int>(share * 100));
  std::string text = "[" + std::string(static_cast<std::size_t>(full), '#') +
                     std::string(static_cast<std::size_t>(kWidth - full), '.') + percent +
                     progress_text(state);
  if (columns > 0 && text.size() > static_cast<std::size_t>(columns))
    text.resize(static_cast<std::size_t>(columns));
  return text;
}

}  // namespace runnel::batch
