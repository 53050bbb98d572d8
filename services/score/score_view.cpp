#include "services/score/score_view.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "pipeline/host/json.h"
#include "pipeline/host/picture/heat_map.h"

namespace runnel::pipeline {
namespace {

std::string number(double value, int decimals) {
  return std::isfinite(value) ? json_number(value, decimals) : "-";
}

// Columns as wide as their contents; the first one left-aligned, the others right-aligned.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blank(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + blank : "  " + blank + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// Truths and what was found, nothing ("") last.
struct Labels {
  std::vector<std::string> truths, found;
};
Labels labels_of(const Score& score) {
  std::set<std::string> truths, found;
  for (const auto& [truth, row] : score.confusion) {
    truths.insert(truth);
    for (const auto& [label, count] : row) found.insert(label);
  }
  const auto ordered = [](const std::set<std::string>& labels) {
    std::vector<std::string> list;
    for (const std::string& label : labels) {
      if (!label.empty()) list.push_back(label);
    }
    if (labels.count("") > 0) list.emplace_back();
    return list;
  };
  return {ordered(truths), ordered(found)};
}

std::int64_t count_of(const Score& score, const std::string& truth, const std::string& found) {
  const auto row = score.confusion.find(truth);
  if (row == score.confusion.end()) return 0;
  const auto cell = row->second.find(found);
  return cell == row->second.end() ? 0 : cell->second;
}

std::string shown(const std::string& label) { return label.empty() ? "-" : label; }

// More cells would be too small to read.
constexpr std::size_t kMaxLabels = 64;
constexpr int kCell = 44, kMargin = 24, kPlot = 320, kAxis = 72;

// Pixels for labels on the left and, one letter under the other, on top.
int label_letters(const std::vector<std::string>& labels) {
  std::size_t longest = 5;
  for (const std::string& label : labels) longest = std::max(longest, shown(label).size());
  return static_cast<int>(std::min<std::size_t>(longest, 16));
}

void draw_confusion(const Score& score, const Labels& labels, Picture& picture, int left, int top) {
  picture.text(left, 8, "confusion: rows truth, columns found");
  for (std::size_t column = 0; column < labels.found.size(); ++column) {
    const std::string text = shown(labels.found[column]).substr(0, kCell / Picture::kLetterWidth);
    picture.text(left + static_cast<int>(column) * kCell + 2, top - Picture::kLetterHeight - 4, text);
  }
  for (std::size_t row = 0; row < labels.truths.size(); ++row) {
    const int y = top + static_cast<int>(row) * kCell;
    const std::string text = shown(labels.truths[row]).substr(0, 16);
    picture.text(left - Picture::text_width(text) - 6, y + kCell / 2 - 5, text);
    std::int64_t all = 0;
    for (const std::string& found : labels.found) all += count_of(score, labels.truths[row], found);
    for (std::size_t column = 0; column < labels.found.size(); ++column) {
      const std::int64_t count = count_of(score, labels.truths[row], labels.found[column]);
      const double share = all > 0 ? static_cast<double>(count) / static_cast<double>(all) : 0;
      const int x = left + static_cast<int>(column) * kCell;
      picture.fill(x, y, kCell - 1, kCell - 1, count > 0 ? heat(share) : kWhite);
      if (count == 0) continue;
      const std::string digits = std::to_string(count);
      picture.text(x + (kCell - Picture::text_width(digits)) / 2, y + kCell / 2 - 5, digits,
                   share > 0.6 ? kBlack : kWhite);
    }
  }
}

void draw_line(Picture& picture, int x0, int y0, int x1, int y1, Color color) {
  const int steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
  for (int i = 0; i <= steps; ++i)
    picture.fill(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, 2, 2, color);
}

void draw_curve(const Score& score, Picture& picture, int left, int top) {
  double most = 0;
  for (const CurvePoint& point : score.curve) {
    if (std::isfinite(score.false_accept_rate(point))) most = std::max(most, score.false_accept_rate(point));
  }
  if (most <= 0) most = 1;
  picture.text(
      left, 8,
      score.spans ? "miss rate against false accepts per hour" : "miss rate against false accepts per clip");
  picture.fill(left, top, 1, kPlot, kBlack);
  picture.fill(left, top + kPlot, kPlot + 1, 1, kBlack);
  double step = 1;
  for (const double tick : ticks_of(0, most, 6, step)) {
    const std::string text = tick_text(tick, step);
    const int x = left + static_cast<int>(std::lround(tick / most * kPlot));
    picture.fill(x, top + kPlot, 1, 5, kBlack);
    picture.text(x - Picture::text_width(text) / 2, top + kPlot + 8, text);
  }
  for (const double tick : ticks_of(0, 1, 6, step)) {
    const std::string text = tick_text(tick, step);
    const int y = top + kPlot - static_cast<int>(std::lround(tick * kPlot));
    picture.fill(left - 5, y, 5, 1, kBlack);
    picture.text(left - Picture::text_width(text) - 8, y - 5, text);
  }
  constexpr Color kCurve{31, 90, 180};
  int before_x = -1, before_y = -1;
  for (const CurvePoint& point : score.curve) {
    const double rate = score.false_accept_rate(point), miss = score.miss_rate(point);
    if (!std::isfinite(rate) || !std::isfinite(miss)) continue;
    const int x = left + static_cast<int>(std::lround(rate / most * kPlot)),
              y = top + kPlot - static_cast<int>(std::lround(miss * kPlot));
    if (before_x >= 0) draw_line(picture, before_x, before_y, x, y, kCurve);
    picture.fill(x - 2, y - 2, 5, 5, kCurve);
    before_x = x;
    before_y = y;
  }
}

}  // namespace

std::string score_table(const Score& score) {
  std::vector<std::vector<std::string>> counts;
  const auto add = [&](const char* name, const std::string& value) { counts.push_back({name, value}); };
  add(score.spans ? "words" : "clips", std::to_string(score.truths));
  add(score.spans ? "hits" : "correct", std::to_string(score.correct));
  add(score.spans ? "misses" : "undecided", std::to_string(score.undecided));
  add("wrong labels", std::to_string(score.wrong));
  if (score.spans) {
    add("duplicates", std::to_string(score.duplicates));
    add("false accepts", std::to_string(score.false_accepts));
    add("false accepts per hour", number(score.false_accepts_per_hour(), 1));
  }
  add(score.spans ? "hit rate" : "accuracy", number(score.accuracy(), 4));
  std::string text = aligned(counts);

  const Labels labels = labels_of(score);
  std::vector<std::vector<std::string>> confusion = {{"truth"}};
  for (const std::string& found : labels.found) confusion[0].push_back(shown(found));
  for (const std::string& truth : labels.truths) {
    confusion.push_back({shown(truth)});
    for (const std::string& found : labels.found) {
      const std::int64_t count = count_of(score, truth, found);
      confusion.back().push_back(count > 0 ? std::to_string(count) : ".");
    }
  }
  text += "\n" + aligned(confusion);
  std::vector<std::vector<std::string>> curve = {
      {"threshold", "correct", "miss rate", "false accepts", score.spans ? "per hour" : "per clip"}};
  for (const CurvePoint& point : score.curve) {
    curve.push_back({number(point.threshold, 4), std::to_string(point.correct),
                     number(score.miss_rate(point), 4), std::to_string(point.false_accepts),
                     number(score.false_accept_rate(point), 4)});
  }
  text += "\n" + aligned(curve);
  text.pop_back();
  return text;
}

Picture draw_score(const Score& score) {
  Labels labels = labels_of(score);
  labels.truths.resize(std::min(labels.truths.size(), kMaxLabels));
  labels.found.resize(std::min(labels.found.size(), kMaxLabels));
  const int left = kMargin + label_letters(labels.truths) * Picture::kLetterWidth, top = 48;
  const int cells = static_cast<int>(labels.found.size()) * kCell,
            rows = static_cast<int>(labels.truths.size()) * kCell;
  // The heading may be wider than the cells.
  const int right =
      left + std::max(cells, Picture::text_width("confusion: rows truth, columns found")) + kAxis;
  Picture picture(right + kPlot + kAxis, std::max(rows, kPlot) + top + kMargin * 2);
  draw_confusion(score, labels, picture, left, top);
  draw_curve(score, picture, right, top);
  return picture;
}

}  // namespace runnel::pipeline
