#include "tests/apps/support.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numbers>
#include <sstream>

namespace runnel::apps::test {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string shown(const std::vector<std::string>& arguments) {
  std::string text = "runnel";
  for (const std::string& argument : arguments) text += " " + argument;
  return text;
}

}  // namespace

std::string model() {
  return (fs::path(runnel::test::program()).parent_path() / "models/digits/digits.rnl").string();
}

Output call(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), runnel::test::program());
  return runnel::test::run_program(arguments);
}

Output call_well(std::vector<std::string> arguments) {
  const Output output = call(arguments);
  EXPECT_EQ(output.exit_code, 0) << shown(arguments) << '\n' << output.err;
  for (const std::string& line : lines_of(output.err)) EXPECT_TRUE(line.starts_with("runnel: ")) << line;
  return output;
}

std::string refusal(std::vector<std::string> arguments, const std::string& sentence) {
  SCOPED_TRACE(shown(arguments));
  const Output output = call(arguments);
  EXPECT_NE(output.exit_code, 0);
  EXPECT_LT(output.exit_code, 126) << "ended by a signal";
  const std::vector<std::string> lines = lines_of(output.err);
  for (const std::string& line : lines) EXPECT_TRUE(line.starts_with("runnel: ")) << line;
  if (lines.empty()) {
    ADD_FAILURE() << "nothing on stderr";
    return "";
  }
  EXPECT_NE(lines.back().find(sentence), std::string::npos)
      << "found:    " << lines.back() << "\nexpected: " << sentence;
  return lines.back();
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> objects;
  EXPECT_TRUE(text.empty() || text.back() == '\n') << "the last line has no end";
  for (const std::string& line : lines_of(text)) {
    objects.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(objects.back().is_object()) << line;
  }
  return objects;
}

std::vector<Json> events_of(const std::string& text) {
  std::vector<Json> events;
  for (Json& object : json_lines(text)) {
    if (object.value("type", "") != "event") continue;
    object.erase("source");
    events.push_back(std::move(object));
  }
  return events;
}

Json expect_records(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  const std::vector<Json> objects = json_lines(text);
  if (objects.empty()) {
    ADD_FAILURE() << "no records";
    return {};
  }
  std::int64_t events = 0;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Json& object = objects[i];
    const std::string type = object.value("type", "");
    EXPECT_EQ(type == "summary", i + 1 == objects.size()) << lines[i];
    if (type != "event") continue;
    ++events;
    // The order of the keys is part of the format.
    std::vector<std::string> keys;
    const auto ordered = nlohmann::ordered_json::parse(lines[i]);
    for (const auto& [key, value] : ordered.items()) keys.push_back(key);
    EXPECT_EQ(keys, (std::vector<std::string>{"type", "source", "label", "score", "start", "end", "frame"}))
        << lines[i];
    EXPECT_TRUE(object["source"].is_string() && object["label"].is_string() &&
                object["frame"].is_number_integer())
        << lines[i];
    EXPECT_GE(object["score"].get<double>(), 0) << lines[i];
    EXPECT_LE(object["score"].get<double>(), 1) << lines[i];
    EXPECT_LE(object["start"].get<double>(), object["end"].get<double>()) << lines[i];
  }
  const Json& summary = objects.back();
  EXPECT_EQ(summary.value("events", -1), events);
  for (const char* key : {"audio_seconds", "real_time_factor", "lost_samples", "failures"})
    EXPECT_TRUE(summary.contains(key)) << key;
  return summary;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::int16_t> tone_words(double seconds, int rate) {
  std::vector<std::int16_t> samples(static_cast<std::size_t>(seconds * rate));
  std::uint32_t noise = 1;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double t = static_cast<double>(i) / rate;
    const double within = std::fmod(t, 0.8);
    const double pitch = 180 + 60 * std::floor(t / 0.8) + 400 * within;
    double value = 0;
    if (within < 0.45) {
      for (int harmonic = 1; harmonic < 12; ++harmonic)
        value += std::sin(2 * std::numbers::pi * pitch * harmonic * t) / harmonic;
      value *= 4000 * std::sin(std::numbers::pi * within / 0.45);
    }
    noise = noise * 1664525 + 1013904223;
    samples[i] = static_cast<std::int16_t>(value + static_cast<double>(noise >> 28) - 8);
  }
  return samples;
}

}  // namespace runnel::apps::test
