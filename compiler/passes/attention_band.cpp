#include "compiler/passes/attention_band.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace runnel::compiler {
namespace {

struct Span {
  int from = 0, to = 0;  // keys [from, to)
};

// The keys that a query of a clip sees.
Span seen(const AttentionWindow& window, int query, int frames) {
  const int start = query / window.chunk * window.chunk;
  return {std::max(start - window.left, 0), std::min(start + window.chunk + window.right, frames)};
}

std::optional<AttentionBand> with_chunk(const std::vector<Span>& rows, int chunk) {
  const auto frames = static_cast<int>(rows.size());
  AttentionWindow window{0, 0, chunk};
  bool left = false, right = false;
  for (int i = 0; i < frames; ++i) {
    const int start = i / chunk * chunk;
    const Span& row = rows[static_cast<std::size_t>(i)];
    window.left = std::max(window.left, start - row.from);
    window.right = std::max(window.right, row.to - start - chunk);
    left = left || row.from > 0;
    right = right || row.to < frames;
  }
  for (int i = 0; i < frames; ++i) {
    const Span expected = seen(window, i, frames), &row = rows[static_cast<std::size_t>(i)];
    if (row.from != expected.from || row.to != expected.to) return std::nullopt;
  }
  AttentionBand band;
  band.chunk = chunk;
  if (left) band.left = window.left;
  if (right) band.right = window.right;
  return band;
}

}  // namespace

Result<AttentionBand> band_of(const std::vector<bool>& hidden, int frames) {
  std::vector<Span> rows;
  for (int i = 0; i < frames; ++i) {
    const auto begin = hidden.begin() + static_cast<std::ptrdiff_t>(i) * frames, end = begin + frames;
    const auto first = std::find(begin, end, false), last = std::find(first, end, true);
    if (first == end || std::find(last, end, false) != end)
      return Status(Code::unsupported) << "its mask lets query " << i
                                       << (first == end ? " see no key" : " see keys with gaps between them")
                                       << ", expected a band of keys around the query";
    rows.push_back({static_cast<int>(first - begin), static_cast<int>(last - begin)});
  }
  for (int chunk = 1; chunk <= frames; ++chunk) {
    if (const auto band = with_chunk(rows, chunk)) return *band;
  }
  return Status(Code::unsupported)
         << "its mask is no band that moves with the query, nor with chunks of queries";
}

Result<AttentionWindow> window_within(const std::optional<AttentionBand>& band,
                                      const std::optional<AttentionWindow>& asked) {
  if (!band || (!band->left && !band->right)) {
    if (asked) return *asked;
    return Status(Code::unsupported,
                  "it sees all frames; give it a window (import --attention-window LEFT:RIGHT)");
  }
  if (!asked) {
    if (band->left && band->right) return AttentionWindow{*band->left, *band->right, band->chunk};
    return Status(Code::unsupported) << "its mask leaves the "
                                     << (band->left ? "frames after" : "frames before")
                                     << " a query open; give it a window (import --attention-window "
                                        "LEFT:RIGHT)";
  }
  if (asked->chunk != band->chunk)
    return Status(Code::unsupported) << "its mask has chunks of " << band->chunk
                                     << " frames, the window asked for of " << asked->chunk
                                     << "; give --attention-window LEFT:RIGHT:" << band->chunk
                                     << (band->left && band->right ? ", or none" : "");
  return AttentionWindow{std::min(asked->left, band->left.value_or(asked->left)),
                         std::min(asked->right, band->right.value_or(asked->right)), band->chunk};
}

int distances_of(const AttentionWindow& window) { return window.left + 2 * window.chunk - 1 + window.right; }

Result<std::vector<double>> by_distance(const AttentionWindow& window, const std::vector<bool>& hidden,
                                        int frames, const std::function<double(int, int)>& value) {
  const int first = -(window.left + window.chunk - 1);
  const auto count = static_cast<std::size_t>(distances_of(window));
  std::vector<double> values(count, 0);
  std::vector<int> from(count, -1);  // the query that gave the value
  for (int i = 0; i < frames; ++i) {
    const Span row = seen(window, i, frames);
    for (int j = row.from; j < row.to; ++j) {
      if (!hidden.empty() && hidden[static_cast<std::size_t>(i) * static_cast<std::size_t>(frames) +
                                    static_cast<std::size_t>(j)])
        continue;
      const auto at = static_cast<std::size_t>(j - i - first);
      const double here = value(i, j);
      if (from[at] < 0) {
        from[at] = i;
        values[at] = here;
      } else if (here != values[at] &&
                 !(std::abs(here - values[at]) <= 1e-6 * std::max(std::abs(here), std::abs(values[at])))) {
        return Status(Code::unsupported)
               << "what it adds depends on more than the distance: " << std::to_string(values[at])
               << " for query " << from[at] << " and key " << from[at] + j - i << ", " << std::to_string(here)
               << " for query " << i << " and key " << j;
      }
    }
  }
  const auto unknown = std::find(from.begin(), from.end(), -1);
  if (unknown != from.end())
    return Status(Code::unsupported) << "a window of " << window.left << " frames before chunks of "
                                     << window.chunk << " and " << window.right << " after, but the clip of "
                                     << frames
                                     << " frames in the file does not show what is added at a distance of "
                                     << static_cast<int>(unknown - from.begin()) + first
                                     << " frames; give a smaller window or export a longer clip";
  return values;
}

}  // namespace runnel::compiler
