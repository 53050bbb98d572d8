// Scores decisions: compares the records of a run with the truth.
//
// Two kinds of truth, distinguished by their contents:
// * clips: one label per recording. The decision of a recording is its event with the highest score; a
//   recording without an event counts as wrong. No label is ignored: "silence" and "unknown" are labels like
//   others.
// * spans: labels with start and end. The moment of an event is its `end`, when it could be decided. An event
//   is the first of these that applies:
//       hit           matches a word of its label, not hit before, with start <= moment <= end + tolerance
//       duplicate     matches such a word that was hit before
//       wrong label   matches another word with start <= moment <= end + tolerance
//       false accept  matches no word
//   A miss is a word that was not hit. Ignored labels are not words: an event inside such a span is a false
//   accept, and events with an ignored label are not counted at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace runnel::pipeline {

// An event as written by `jsonl`, or a final result of a decoder of speech, whose text is the label; seconds
// in the recording.
struct Decision {
  std::string source, label;
  double score = 0, start = 0, end = 0;
};

// The records of one or several runs.
struct RunRecords {
  std::vector<Decision> events;  // in the order of the file
  double audio_seconds = 0;      // sum over all summaries; 0: no summary
  std::int64_t failures = 0;     // error records
};

// Reads JSON lines; records of other types are ignored. Errors name file and line.
Result<RunRecords> read_records(const std::filesystem::path& path);

struct TruthRow {
  std::string recording;  // empty: the only recording
  std::string label;
  double start = 0, end = 0;  // spans only, seconds
};
struct Truth {
  bool spans = false;
  std::vector<TruthRow> rows;  // may be empty for spans: a recording without words
};

// A CSV file with a header line, columns `file` and `label`, for spans also `start` and `end`; or a JSON
// object {"events":[{"label":"7","start":1.2,"end":1.6},...]} with the spans of one recording.
// Or lines FILE<tab>TEXT without a header. `label_column`: another column (or key) to take labels from.
// Errors name file and line.
Result<Truth> read_truth(const std::filesystem::path& path, std::string_view label_column = "label");

struct ScoreOptions {
  double tolerance = 0.5;                                    // seconds after the end of a word
  std::vector<std::string> ignore = {"silence", "unknown"};  // spans only
};

inline constexpr std::size_t kCurvePoints = 40;

// The clips with at least this score, and the correct ones among them.
struct OperatingPoint {
  double threshold = 0;
  std::int64_t accepted = 0, correct = 0;
};

// The counts of events with at least this score: a point of the DET and ROC curves. Spans: the score of an
// event is the value at which it crossed the detector's own threshold, so curves of streams begin there and
// say little above it; run the detector with a low threshold.
struct CurvePoint {
  double threshold = 0;
  std::int64_t correct = 0;        // clips decided right, or hits
  std::int64_t false_accepts = 0;  // clips decided wrong, or false accepts
};

struct Score {
  bool spans = false;
  std::int64_t truths = 0;     // clips, or words
  std::int64_t correct = 0;    // clips decided right, or hits
  std::int64_t undecided = 0;  // clips without an event, or misses
  std::int64_t wrong = 0;      // clips of another label, or events inside a word of another label
  std::int64_t duplicates = 0, false_accepts = 0;  // spans
  std::int64_t unlabelled = 0;    // clips: ignored events of recordings that the truth does not name
  std::int64_t failures = 0;      // recordings that could not be read
  double audio_seconds = 0;       // 0: not known
  std::vector<double> latencies;  // spans: moment of the event minus end of the word, of every hit, ascending
  std::vector<OperatingPoint> points;  // clips
  std::vector<CurvePoint> curve;       // thresholds ascending, at most kCurvePoints
  // confusion[truth][found]; "": a miss, or a false accept.
  std::map<std::string, std::map<std::string, std::int64_t>> confusion;

  [[nodiscard]] double accuracy() const;                // correct / truths; NaN without truths
  [[nodiscard]] double false_accepts_per_hour() const;  // NaN when the time is not known
  // For a point of the curve: the miss rate; false accepts per hour, or per clip.
  [[nodiscard]] double miss_rate(const CurvePoint& point) const;
  [[nodiscard]] double false_accept_rate(const CurvePoint& point) const;
};

// Recordings are matched by name: equal, or one path is the end of the other ("eval/a.wav" and
// "/data/eval/a.wav"). Errors: a recording that the truth names twice (clips) or that matches two names; no
// match at all; truth for one recording and events of several.
Result<Score> score_run(const RunRecords& run, const Truth& truth, const ScoreOptions& options = {});

// One line of JSON, without newline (docs/commands.md, score).
std::string to_json(const Score& score);

}  // namespace runnel::pipeline
