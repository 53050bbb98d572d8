#include "tests/pipeline/support.h"

#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

namespace runnel::pipeline::test {
namespace fs = std::filesystem;

std::vector<std::int16_t> make_samples(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double tone = 6000 * std::sin(0.05 * static_cast<double>(i)) +
                        3000 * std::sin(0.0007 * static_cast<double>(i * (i % 4096)));
    samples[i] = static_cast<std::int16_t>(tone + static_cast<double>(random() % 2001) - 1000);
  }
  return samples;
}

void write_recording(const fs::path& path, const std::vector<std::int16_t>& samples, int rate, int channels,
                     int format) {
  SF_INFO info{};
  info.samplerate = rate;
  info.channels = channels;
  info.format = format == 0 ? SF_FORMAT_WAV | SF_FORMAT_PCM_16 : format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr) << path << ": " << sf_strerror(nullptr);
  sf_command(file, SFC_SET_SCALE_INT_FLOAT_WRITE, nullptr, SF_TRUE);  // float files hold [-1, 1)
  const auto frames = static_cast<sf_count_t>(samples.size()) / channels;
  EXPECT_EQ(sf_writef_short(file, samples.data(), frames), frames);
  EXPECT_EQ(sf_close(file), 0);
}

std::vector<float> NpyFile::floats() const {
  EXPECT_EQ(dtype, "<f4");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

NpyFile read_npy(const fs::path& path) {
  NpyFile file;
  const std::string text = read_text(path);
  if (text.size() < 128 || text.substr(0, 8) != std::string("\x93NUMPY\x01\x00", 8) || text[8] != 118 ||
      text[9] != 0) {
    ADD_FAILURE() << path << " is no .npy file";
    return file;
  }
  const std::string header = text.substr(10, 118);
  const std::size_t quote = header.find("'descr': '") + 10, shape = header.find('(') + 1,
                    comma = header.find(',', shape);
  file.dtype = header.substr(quote, header.find('\'', quote) - quote);
  file.rows = std::stoll(header.substr(shape));
  file.columns = std::stoll(header.substr(comma + 1));
  file.bytes = text.substr(128);
  return file;
}

std::unique_ptr<Graph> run_graph(const std::string& text, const GraphOptions& options) {
  Result<std::unique_ptr<Graph>> graph = Graph::build(text, options);
  if (!graph.ok()) {
    ADD_FAILURE() << text << ": " << graph.status().text();
    return nullptr;
  }
  const Status status = (*graph)->run();
  EXPECT_TRUE(status.ok()) << text << ": " << status.text();
  return std::move(graph).value();
}

std::string failure_of(const std::string& text, const GraphOptions& options) {
  Result<std::unique_ptr<Graph>> graph = Graph::build(text, options);
  const Status status = graph.ok() ? (*graph)->run() : graph.status();
  EXPECT_FALSE(status.ok()) << text << ": succeeded, expected a failure";
  return std::string(status.text());
}

// ---- lossy
// ---------------------------------------------------------------------------------------------------------

const NodeType Lossy::type = {.name = "lossy",
                              .help = "Samples with gaps.",
                              .input = {},
                              .output = {static_cast<Kinds>(Kind::audio), "test"},
                              .parameters = {},
                              .make = make_node<Lossy>};
std::vector<float> Lossy::samples;
std::vector<Loss> Lossy::losses;
std::int64_t Lossy::sample_rate = 16000;
Lossy* Lossy::newest_ = nullptr;

void Lossy::start_again() {
  newest_->position_ = 0;
  newest_->next_loss_ = 0;
}

Status Lossy::prepare(NodeContext& context) noexcept {
  newest_ = this;
  context.output.kind = Kind::audio;
  context.output.dtype = DType::float32;
  context.output.channels = 1;
  context.output.clock.sample_rate = sample_rate;
  context.output.source = "lossy";
  context.max_output = context.max_input;
  return {};
}

Status Lossy::process(const Block&, Output& out) noexcept {
  auto end = static_cast<std::int64_t>(samples.size());
  if (next_loss_ < losses.size() && losses[next_loss_].at == position_) {
    out.lost = losses[next_loss_++].count;
    position_ += out.lost;
  }
  if (next_loss_ < losses.size()) end = losses[next_loss_].at;
  out.count = std::clamp<std::int64_t>(end - position_, 0, out.capacity);
  std::copy_n(samples.begin() + position_, out.count, out.as<float>());
  position_ += out.count;
  out.end = position_ == static_cast<std::int64_t>(samples.size());
  return {};
}

// ---- rows
// ----------------------------------------------------------------------------------------------------------

const NodeType Rows::type = {.name = "rows",
                             .help = "Given frames.",
                             .input = {},
                             .output = {static_cast<Kinds>(Kind::frames), "test"},
                             .parameters = {},
                             .make = make_node<Rows>};
std::vector<float> Rows::values;
std::int32_t Rows::dims = 1;

Status Rows::prepare(NodeContext& context) noexcept {
  context.output.kind = Kind::frames;
  context.output.dtype = DType::float32;
  context.output.channels = dims;
  context.output.clock = Clock{.sample_rate = 16000}.windows(160, 0, 400);
  context.output.source = "rows";
  context.max_output = context.max_input;
  return {};
}

Status Rows::process(const Block&, Output& out) noexcept {
  const auto rows = static_cast<std::int64_t>(values.size()) / dims;
  out.count = std::min(out.capacity, rows - position_);
  std::copy_n(values.begin() + position_ * dims, out.count * dims, out.as<float>());
  position_ += out.count;
  out.end = position_ == rows;
  return {};
}

// ---- events
// --------------------------------------------------------------------------------------------------------

const NodeType Events::type = {.name = "events",
                               .help = "Makes events.",
                               .input = {static_cast<Kinds>(Kind::audio), "test"},
                               .output = {static_cast<Kinds>(Kind::events), "test"},
                               .parameters = {},
                               .make = make_node<Events>};
std::vector<std::int64_t> Events::at;
std::string_view Events::label = "yes";

Status Events::prepare(NodeContext& context) noexcept {
  context.output.kind = Kind::events;
  context.output.dtype = DType::none;
  context.output.channels = 0;
  context.max_output = static_cast<std::int64_t>(at.size());
  return {};
}

Status Events::process(const Block& in, Output& out) noexcept {
  for (const std::int64_t begin : at) {
    const std::int64_t decided = begin + 1200;
    if (decided >= in.first && decided < in.first + in.count)
      out.as<Event>()[out.count++] = {label, 0.9f, begin, begin + 800, decided};
  }
  return {};
}

// ---- keep
// ----------------------------------------------------------------------------------------------------------

const NodeType Keep::type = {.name = "keep",
                             .help = "Keeps what it gets.",
                             .input = {Kind::audio | Kind::frames | Kind::events, "test"},
                             .output = {},
                             .parameters = {},
                             .make = make_node<Keep>};
std::vector<Event> Keep::events;
std::vector<std::string> Keep::labels;
std::vector<std::int64_t> Keep::indices;
std::vector<float> Keep::values;
std::vector<Gap> Keep::gaps;
Format Keep::format;

void Keep::clear() {
  events.clear();
  labels.clear();
  indices.clear();
  values.clear();
  gaps.clear();
  format = {};
}

Status Keep::prepare(NodeContext& context) noexcept {
  clear();
  format = context.input;
  return {};
}

Status Keep::process(const Block& in, Output&) noexcept {
  for (std::int64_t i = 0; i < in.count; ++i) {
    if (format.kind == Kind::events) {
      events.push_back(in.as<Event>()[i]);
      labels.emplace_back(events.back().label);
      continue;
    }
    indices.push_back(in.first + i);
    for (std::int32_t c = 0; c < format.channels; ++c) {
      const std::int64_t at = i * format.channels + c;
      values.push_back(format.dtype == DType::float32 ? in.as<float>()[at]
                                                      : static_cast<float>(in.as<std::int8_t>()[at]));
    }
  }
  return {};
}

Status Keep::gap(const Gap& gap) noexcept {
  gaps.push_back(gap);
  return {};
}

NodeTable test_nodes() {
  static const std::vector<const NodeType*> nodes = [] {
    const NodeTable host = host_nodes();
    std::vector<const NodeType*> all(host.begin(), host.end());
    all.insert(all.end(), {&Lossy::type, &Rows::type, &Events::type, &Keep::type});
    return all;
  }();
  return nodes;
}

}  // namespace runnel::pipeline::test
