#include "services/score/score.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "pipeline/host/json.h"
#include "services/score/recording_names.h"

namespace runnel::pipeline {
namespace {

// Thresholds for the operating points of clips.
constexpr double kThresholds[] = {0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99};

Status nothing_matches(const RunRecords& run, const Truth& truth) {
  return Status(Code::mismatch) << "no recording of the events has labels: events are of "
                                << run.events.front().source << ", labels of "
                                << truth.rows.front().recording;
}

Status score_clips(const RunRecords& run, const Truth& truth, Score& score) {
  const RecordingNames recordings(truth);
  std::map<std::string, const Decision*> best;
  for (const Decision& event : run.events) {
    RUNNEL_ASSIGN(const std::string name, recordings.find(event.source));
    if (name.empty()) {
      ++score.unlabelled;
      continue;
    }
    const Decision*& decision = best[name];
    if (decision == nullptr || event.score > decision->score) decision = &event;
  }
  if (best.empty() && !run.events.empty()) return nothing_matches(run, truth);
  for (const double threshold : kThresholds) score.points.push_back({threshold, 0, 0});
  std::set<std::string> seen;
  for (const TruthRow& row : truth.rows) {
    if (!seen.insert(row.recording).second)
      return Status(Code::invalid_data)
             << "the labels name " << row.recording << " twice, expected one label per recording";
    ++score.truths;
    const auto found = best.find(row.recording);
    if (found == best.end()) {
      ++score.undecided;
      ++score.confusion[row.label][""];
      continue;
    }
    const Decision& decision = *found->second;
    const bool right = decision.label == row.label;
    ++(right ? score.correct : score.wrong);
    ++score.confusion[row.label][decision.label];
    for (OperatingPoint& point : score.points) {
      if (decision.score < point.threshold) continue;
      ++point.accepted;
      point.correct += right ? 1 : 0;
    }
  }
  return {};
}

struct Word {
  const TruthRow* row;
  bool hit = false;
};

// Matches one event with the words of its recording.
void place(const Decision& event, std::vector<Word>& words, double tolerance, Score& score) {
  Word *same = nullptr, *again = nullptr, *other = nullptr;
  for (Word& word : words) {
    if (event.end < word.row->start || event.end > word.row->end + tolerance) continue;
    Word*& kind = word.row->label != event.label ? other : word.hit ? again : same;
    if (kind == nullptr) kind = &word;
  }
  if (same != nullptr) {
    same->hit = true;
    ++score.correct;
    ++score.confusion[event.label][event.label];
    score.latencies.push_back(event.end - same->row->end);
  } else if (again != nullptr) {
    ++score.duplicates;
  } else if (other != nullptr) {
    ++score.wrong;
    ++score.confusion[other->row->label][event.label];
  } else {
    ++score.false_accepts;
    ++score.confusion[""][event.label];
  }
}

Status score_spans(const RunRecords& run, const Truth& truth, const ScoreOptions& options, Score& score) {
  const auto ignored = [&](const std::string& label) {
    return std::find(options.ignore.begin(), options.ignore.end(), label) != options.ignore.end();
  };
  const RecordingNames recordings(truth);
  const bool named = std::any_of(truth.rows.begin(), truth.rows.end(),
                                 [](const TruthRow& row) { return !row.recording.empty(); });
  std::map<std::string, std::vector<Word>> words;
  for (const TruthRow& row : truth.rows) {
    if (!ignored(row.label)) words[row.recording].push_back({&row});
  }
  bool any = false;
  for (const Decision& event : run.events) {
    if (!named && event.source != run.events.front().source) {
      return Status(Code::mismatch) << "the labels are those of one recording, but events are of "
                                    << run.events.front().source << " and " << event.source;
    }
    std::string name;
    if (named) {
      RUNNEL_ASSIGN(name, recordings.find(event.source));
      any = any || !name.empty();
    }
    if (ignored(event.label)) continue;
    if (named && name.empty()) {
      // A recording without labels has no words.
      ++score.false_accepts;
      ++score.confusion[""][event.label];
      continue;
    }
    place(event, words[name], options.tolerance, score);
  }
  if (named && !any && !run.events.empty()) return nothing_matches(run, truth);
  for (const auto& [name, list] : words) {
    for (const Word& word : list) {
      ++score.truths;
      if (word.hit) continue;
      ++score.undecided;
      ++score.confusion[word.row->label][""];
    }
  }
  std::sort(score.latencies.begin(), score.latencies.end());
  return {};
}

// Linear between neighbours; `values` is sorted and not empty.
double quantile(const std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (at - static_cast<double>(low));
}

// Thresholds from the scores of events, evenly spread over the events.
std::vector<double> curve_thresholds(const RunRecords& run) {
  std::vector<double> scores;
  for (const Decision& event : run.events) scores.push_back(event.score);
  std::sort(scores.begin(), scores.end());
  std::vector<double> chosen;
  for (std::size_t i = 0; i < kCurvePoints && !scores.empty(); ++i) {
    const double score = scores[i * (scores.size() - 1) / (kCurvePoints - 1)];
    if (chosen.empty() || score > chosen.back()) chosen.push_back(score);
  }
  return chosen;
}

Status count(const RunRecords& run, const Truth& truth, const ScoreOptions& options, Score& score) {
  return truth.spans ? score_spans(run, truth, options, score) : score_clips(run, truth, score);
}

Status add_curve(const RunRecords& run, const Truth& truth, const ScoreOptions& options, Score& score) {
  for (const double threshold : curve_thresholds(run)) {
    RunRecords accepted;
    std::copy_if(run.events.begin(), run.events.end(), std::back_inserter(accepted.events),
                 [&](const Decision& event) { return event.score >= threshold; });
    Score at;
    // The full set was matched already, so a subset without labels is not a failure.
    if (!count(accepted, truth, options, at).ok()) at = {};
    score.curve.push_back({threshold, at.correct, truth.spans ? at.false_accepts : at.wrong});
  }
  return {};
}

std::string curve_json(const Score& score) {
  std::string text = "[";
  for (const CurvePoint& point : score.curve) {
    text += (text.size() > 1 ? "," : "") + std::string("{\"threshold\":") + json_number(point.threshold, 4) +
            ",\"correct\":" + std::to_string(point.correct) +
            ",\"false_accepts\":" + std::to_string(point.false_accepts) +
            ",\"miss_rate\":" + json_number(score.miss_rate(point), 4) + ",\"" +
            (score.spans ? "false_accepts_per_hour" : "false_accept_rate") +
            "\":" + json_number(score.false_accept_rate(point), score.spans ? 2 : 4) + "}";
  }
  return text + "]";
}

std::string confusion_json(const Score& score) {
  std::string text = "{";
  for (const auto& [truth, row] : score.confusion) {
    text += (text.size() > 1 ? "," : "") + json_string(truth) + ":{";
    bool first = true;
    for (const auto& [found, count] : row) {
      text += (first ? "" : ",") + json_string(found) + ":" + std::to_string(count);
      first = false;
    }
    text += "}";
  }
  return text + "}";
}

}  // namespace

double Score::accuracy() const {
  return truths > 0 ? static_cast<double>(correct) / static_cast<double>(truths)
                    : std::numeric_limits<double>::quiet_NaN();
}

double Score::false_accepts_per_hour() const {
  return audio_seconds > 0 ? static_cast<double>(false_accepts) * 3600 / audio_seconds
                           : std::numeric_limits<double>::quiet_NaN();
}

double Score::miss_rate(const CurvePoint& point) const {
  return truths > 0 ? 1 - static_cast<double>(point.correct) / static_cast<double>(truths)
                    : std::numeric_limits<double>::quiet_NaN();
}

double Score::false_accept_rate(const CurvePoint& point) const {
  const double in = spans ? audio_seconds / 3600 : static_cast<double>(truths);
  return in > 0 ? static_cast<double>(point.false_accepts) / in : std::numeric_limits<double>::quiet_NaN();
}

Result<Score> score_run(const RunRecords& run, const Truth& truth, const ScoreOptions& options) {
  Score score;
  score.spans = truth.spans;
  score.failures = run.failures;
  score.audio_seconds = run.audio_seconds;
  RUNNEL_TRY(count(run, truth, options, score));
  RUNNEL_TRY(add_curve(run, truth, options, score));
  return score;
}

std::string to_json(const Score& score) {
  const auto count = [](const char* key, std::int64_t value) {
    return std::string(",\"") + key + "\":" + std::to_string(value);
  };
  std::string text = std::string(R"({"type":"score","kind":)") + (score.spans ? "\"spans\"" : "\"clips\"");
  if (score.spans) {
    text += count("words", score.truths) + count("hits", score.correct) + count("misses", score.undecided) +
            count("wrong_labels", score.wrong) + count("duplicates", score.duplicates) +
            count("false_accepts", score.false_accepts);
    text += ",\"hit_rate\":" + json_number(score.accuracy(), 4) +
            ",\"false_accepts_per_hour\":" + json_number(score.false_accepts_per_hour(), 1);
    if (!score.latencies.empty()) {
      text += ",\"latency_seconds\":{\"median\":" + json_number(quantile(score.latencies, 0.5), 3) +
              ",\"p90\":" + json_number(quantile(score.latencies, 0.9), 3) + "}";
    }
  } else {
    text += count("clips", score.truths) + count("correct", score.correct) +
            count("wrong_labels", score.wrong) + count("undecided", score.undecided) +
            count("unlabelled", score.unlabelled);
    text += ",\"accuracy\":" + json_number(score.accuracy(), 4) + ",\"operating_points\":[";
    for (const OperatingPoint& point : score.points) {
      const double right = point.accepted > 0
                               ? static_cast<double>(point.correct) / static_cast<double>(point.accepted)
                               : std::numeric_limits<double>::quiet_NaN();
      text += (point.threshold > 0 ? "," : "") + std::string("{\"threshold\":") +
              json_number(point.threshold, 2) + count("accepted", point.accepted) +
              count("correct", point.correct) + ",\"accuracy\":" + json_number(right, 4) + "}";
    }
    text += "]";
  }
  text += count("failures", score.failures) +
          ",\"audio_seconds\":" + (score.audio_seconds > 0 ? json_number(score.audio_seconds, 3) : "null");
  return text + ",\"confusion\":" + confusion_json(score) + ",\"curve\":" + curve_json(score) + "}";
}

}  // namespace runnel::pipeline
