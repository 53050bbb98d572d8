// Pictures: drawn, written, and read again.
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <fstream>

#include "pipeline/host/picture/heat_map.h"
#include "pipeline/host/picture/png_file.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;

struct Decoded {
  int width = 0, height = 0;
  std::vector<std::uint8_t> bytes;
  Color at(int x, int y) const {
    const std::size_t i =
        3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x));
    return {bytes[i], bytes[i + 1], bytes[i + 2]};
  }
};

Decoded decode(const fs::path& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  Decoded decoded;
  EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0)
      << path << ": " << static_cast<const char*>(image.message);
  image.format = PNG_FORMAT_RGB;
  decoded.width = static_cast<int>(image.width);
  decoded.height = static_cast<int>(image.height);
  decoded.bytes.resize(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, decoded.bytes.data(), 0, nullptr), 0);
  return decoded;
}

// Is this text drawn, black on white, with its corner near (x, y)?
bool reads(const Decoded& picture, int x, int y, const std::string& text) {
  Picture wanted(Picture::text_width(text), Picture::kLetterHeight);
  wanted.text(0, 0, text);
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      bool same = true;
      for (int j = 0; same && j < wanted.height(); ++j) {
        for (int i = 0; same && i < wanted.width(); ++i) {
          const int px = x + dx + i, py = y + dy + j;
          same = px >= 0 && py >= 0 && px < picture.width && py < picture.height &&
                 picture.at(px, py) == wanted.at(i, j);
        }
      }
      if (same) return true;
    }
  }
  return false;
}

class PngSink : public testing::Test {
 protected:
  std::string table(int rows, int channels, int without_from = 0, int without_to = 0) {
    const fs::path path = folder_.path() / "a.csv";
    std::ofstream file(path);
    for (int i = 0; i < rows; ++i) {
      if (i >= without_from && i < without_to) continue;
      file << i * 100;
      for (int c = 0; c < channels; ++c) file << ',' << i * channels + c;
      file << '\n';
    }
    return "csv rate=10 time=1 time_unit=ms path=" + path.string();
  }
  runnel::test::TemporaryFolder folder_;
  std::string out_ = (folder_.path() / "a.png").string();
};

TEST_F(PngSink, EveryValueHasItsPlaceAndColour) {
  for (const std::int64_t tick : {1, 1000}) {
    run_graph(table(20, 4, 8, 11) + " ! png path=" + out_, {.tick = tick});
    const Decoded picture = decode(out_);
    const int across = 20, up = 40, height = 4 * up;  // 400 / 20 columns, at most 40
    ASSERT_EQ(picture.width, HeatMap::kLeft + 20 * across + HeatMap::kRight);
    ASSERT_EQ(picture.height, HeatMap::kTop + height + HeatMap::kBottom);
    for (int column = 0; column < 20; ++column) {
      for (int row = 0; row < 4; ++row) {
        const bool lost = column >= 8 && column < 11;
        const Color expected = lost ? kNoData : heat((column * 4 + row) / 79.0);
        EXPECT_EQ(picture.at(HeatMap::kLeft + column * across + 1, HeatMap::kTop + height - row * up - 2),
                  expected)
            << column << ' ' << row;
        EXPECT_EQ(
            picture.at(HeatMap::kLeft + (column + 1) * across - 1, HeatMap::kTop + height - (row + 1) * up),
            expected)
            << column << ' ' << row;
      }
    }
    // Axes: 2 s of time, channels, the bar's scale.
    for (const auto& [x, text] : {std::pair{0, "0"}, {200, "1"}, {400, "2"}}) {
      EXPECT_TRUE(reads(picture, HeatMap::kLeft + x - 4, HeatMap::kTop + height + 7, text)) << text;
      EXPECT_EQ(picture.at(HeatMap::kLeft + x, HeatMap::kTop + height + 2), kBlack) << text;
    }
    for (int row = 0; row < 4; ++row)
      EXPECT_TRUE(reads(picture, HeatMap::kLeft - 16, HeatMap::kTop + height - row * up - up / 2 - 5,
                        std::to_string(row)))
          << row;
    EXPECT_TRUE(reads(picture, HeatMap::kLeft + 170, HeatMap::kTop + height + 22, "time [s]"));
    EXPECT_TRUE(reads(picture, 2, 6, "channel"));
    const int bar = HeatMap::kLeft + 400 + 14;
    EXPECT_TRUE(reads(picture, bar, 6, "value"));
    EXPECT_TRUE(reads(picture, bar + 22, HeatMap::kTop + height - 6, "0"));
    EXPECT_TRUE(reads(picture, bar + 22,
                      HeatMap::kTop + height - 1 - 5 - static_cast<int>(60 / 79.0 * (height - 1)), "60"));
    EXPECT_EQ(picture.at(bar + 3, HeatMap::kTop + height - 1), heat(0.5 / height));
    EXPECT_EQ(picture.at(bar + 3, HeatMap::kTop), heat(1 - 0.5 / height));
  }
}

TEST_F(PngSink, LongRecordingsAreAveraged) {
  std::vector<std::string> notes;
  run_graph(table(1000, 1) + " ! png width=100 min=0 max=999 path=" + out_,
            {.note = [&](std::string_view note) { notes.emplace_back(note); }});
  const Decoded picture = decode(out_);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("every column is the mean of 16 frames"), std::string::npos) << notes[0];
  const int across = 400 / 63;  // 1000 / 16 columns
  EXPECT_EQ(picture.width, HeatMap::kLeft + 63 * across + HeatMap::kRight);
  for (int column = 0; column < 62; ++column)
    EXPECT_EQ(picture.at(HeatMap::kLeft + column * across, HeatMap::kTop + 75),
              heat((16 * column + 7.5) / 999))
        << column;
  EXPECT_EQ(picture.at(HeatMap::kLeft + 62 * across, HeatMap::kTop + 75), heat((16 * 62 + 3.5) / 999));
}

TEST_F(PngSink, DecibelsAndFrequencies) {
  const fs::path wav = folder_.path() / "a.wav";
  write_recording(wav, make_samples(16000));
  // 2000 Hz stand at the filter that is centred there; both scales as they are defined.
  const auto htk = [](double hz) { return 1127 * std::log(1 + hz / 700); };
  const auto slaney = [](double hz) {
    return hz < 1000 ? hz * 3 / 200 : 15 + 27 * std::log(hz / 1000) / std::log(6.4);
  };
  const double rows[] = {(htk(2000) - htk(20)) / (htk(8000) - htk(20)) * 41 - 1,
                         (slaney(2000) - slaney(20)) / (slaney(8000) - slaney(20)) * 41 - 1};
  const auto y_of = [](double row) { return HeatMap::kTop + 320 - static_cast<int>((row + 0.5) * 8) - 5; };
  ASSERT_NE(y_of(rows[0]), y_of(rows[1]));
  for (int i = 0; i < 2; ++i) {
    const std::string scale = i == 0 ? "htk" : "slaney";
    run_graph("wav path=" + wav.string() + " ! fbank num_mel_bins=40 use_log_fbank=false mel_scale=" + scale +
              " ! png axis=mel low_freq=20 scale=db mel_scale=" + scale + " path=" + out_);
    const Decoded picture = decode(out_);
    EXPECT_TRUE(reads(picture, 2, 6, "[Hz]"));
    EXPECT_TRUE(reads(picture, HeatMap::kLeft + 98 * 4 + 14, 6, "dB"));
    EXPECT_TRUE(reads(picture, HeatMap::kLeft - 8 - 32, y_of(rows[i]), "2000")) << scale;
  }
}

TEST_F(PngSink, CompleteOrAbsent) {
  const fs::path bad = folder_.path() / "bad.csv";
  std::ofstream(bad) << "1\n2\nx\n";
  failure_of("csv rate=1 path=" + bad.string() + " ! png path=" + out_, {.tick = 1});
  EXPECT_FALSE(fs::exists(out_));
  EXPECT_FALSE(fs::exists(out_ + ".part"));
  EXPECT_NE(failure_of(table(3, 1) + " ! png axis=hz low_freq=100 path=" + out_)
                .find("low_freq: expected less than high_freq"),
            std::string::npos);
  run_graph(table(3, 1) + " ! png path=" + out_);
  EXPECT_TRUE(fs::exists(out_));
  EXPECT_FALSE(fs::exists(out_ + ".part"));
}

TEST(HeatMap, TakesFramesFarApartAndManyValues) {
  HeatMap map(3000, 16);
  std::vector<float> frame(3000, 1.0F);
  map.add(0, frame);
  map.add(std::int64_t{1} << 40, frame);
  EXPECT_EQ(map.frames_per_column(), std::int64_t{1} << 37);
  const Picture picture =
      map.draw({.title = "a", .values = "b", .begin_s = 0, .frame_s = 0.01, .axis = {}, .low = 0, .high = 2});
  EXPECT_EQ(picture.height(), HeatMap::kTop + HeatMap::kMaxRows + HeatMap::kBottom);
  EXPECT_EQ(picture.at(HeatMap::kLeft, HeatMap::kTop), heat(0.5));
  EXPECT_EQ(picture.at(HeatMap::kLeft + 2 * map.column_width(), HeatMap::kTop), kNoData);
}

TEST(HeatMap, TicksAreRoundNumbers) {
  double step = 0;
  EXPECT_EQ(ticks_of(0, 2, 5, step), (std::vector<double>{0, 0.5, 1, 1.5, 2}));
  EXPECT_EQ(tick_text(1.5, step), "1.5");
  EXPECT_EQ(ticks_of(-3, 11, 4, step), (std::vector<double>{0, 5, 10}));
  EXPECT_EQ(tick_text(-5, 5), "-5");
  EXPECT_EQ(tick_text(2.5e-7, 5e-8), "2.5e-07");
  EXPECT_EQ(ticks_of(1, 1, 4, step).size(), 1u);
}

}  // namespace
}  // namespace runnel::pipeline::test
