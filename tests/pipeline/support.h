// What the tests of graphs share: recordings made on the spot, files read back, and nodes that stand in for
// devices.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/host/graph.h"

namespace runnel::pipeline::test {

// Deterministic noise with some tones, as 16-bit integers.
std::vector<std::int16_t> make_samples(std::size_t count, unsigned seed = 1);
// libsndfile's format word, e.g. SF_FORMAT_FLAC | SF_FORMAT_PCM_16. Samples are interleaved.
void write_recording(const std::filesystem::path& path, const std::vector<std::int16_t>& samples,
                     int rate = 16000, int channels = 1, int format = 0);

struct NpyFile {
  std::string dtype;
  std::int64_t rows = -1, columns = -1;
  std::string bytes;
  [[nodiscard]] std::vector<float> floats() const;
};
NpyFile read_npy(const std::filesystem::path& path);
std::string read_text(const std::filesystem::path& path);

// Builds and runs; a failure of the test when either fails.
std::unique_ptr<Graph> run_graph(const std::string& text, const GraphOptions& options = {});
// The sentence with which building or running fails; "" and a failure of the test when neither does.
std::string failure_of(const std::string& text, const GraphOptions& options = {});

// A source of given samples that loses some of them: `lossy` gives its samples one after the other and skips
// [losses[i].at, losses[i].at + losses[i].count), which it reports as lost.
struct Loss {
  std::int64_t at = 0, count = 0;
};
class Lossy final : public Node {
 public:
  static const NodeType type;
  static std::vector<float> samples;  // mono
  static std::vector<Loss> losses;
  static std::int64_t sample_rate;
  // Of the one that was prepared last: the next sample that is asked for is the first one, for a graph that
  // is restarted.
  static void start_again();

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  static Lossy* newest_;
  std::int64_t position_ = 0;
  std::size_t next_loss_ = 0;
};

// A source of given frames (rows of `dims` floats), a stand-in for a front end or a model.
class Rows final : public Node {
 public:
  static const NodeType type;
  static std::vector<float> values;
  static std::int32_t dims;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;

 private:
  std::int64_t position_ = 0;
};

// A stand-in for a model and its decision: an event of [at, at + 800) at the given samples, made 400 samples
// after its end.
class Events final : public Node {
 public:
  static const NodeType type;
  static std::vector<std::int64_t> at;
  static std::string_view label;

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
};

// A sink that keeps what it got.
class Keep final : public Node {
 public:
  static const NodeType type;
  static std::vector<Event> events;
  static std::vector<std::string> labels;    // of the events
  static std::vector<std::int64_t> indices;  // of every frame
  static std::vector<float> values;
  static std::vector<Gap> gaps;
  static Format format;
  static void clear();

  Status prepare(NodeContext& context) noexcept override;
  Status process(const Block& in, Output& out) noexcept override;
  Status gap(const Gap& gap) noexcept override;
};

// host_nodes() and the four above: `lossy`, `rows`, `events`, `keep`.
NodeTable test_nodes();

}  // namespace runnel::pipeline::test
