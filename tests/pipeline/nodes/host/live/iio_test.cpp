// Sensors of industrial I/O: a folder as the kernel would show it, and a FIFO for the character device.
#include "pipeline/nodes/host/live/iio.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Scan {
  std::int16_t acceleration = 0;  // 12 bits
  std::uint32_t voltage = 0;      // 24 bits
  std::int64_t time = 0;          // ns
};

class IioTest : public testing::Test {
 protected:
  // An acceleration of 12 bits in the upper part of 16, a voltage of 24 in 32 with the other byte order, and
  // the time: 2 bytes, 2 unused, 4, 8.
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);  // a source that gives up leaves the writer without a reader
    fs::create_directories(device() / "scan_elements");
    fs::create_directories(device() / "buffer");
    write("buffer/enable", "0");
    write("sampling_frequency", "100.000000");
    element("in_accel_x", 0, "le:s12/16>>4");
    element("in_accel_y", 1, "le:s12/16>>4", "0");
    element("in_voltage2", 2, "be:u24/32>>0");
    element("in_timestamp", 3, "le:s64/64>>0");
    write("in_accel_scale", "0.5");
    write("in_voltage2_scale", "0.25");
    write("in_voltage_scale", "7");
    write("in_voltage2_offset", "-4");
  }
  fs::path device() const { return folder_.path() / "iio:device0"; }
  void write(const std::string& name, const std::string& line) {
    std::ofstream(device() / name) << line << "\n";
  }
  std::string read(const std::string& name) {
    std::string line;
    std::ifstream in(device() / name);
    std::getline(in, line);
    return line;
  }
  void element(const std::string& name, int index, const std::string& type,
               const std::string& enabled = "1") {
    write("scan_elements/" + name + "_en", enabled);
    write("scan_elements/" + name + "_index", std::to_string(index));
    write("scan_elements/" + name + "_type", type);
  }
  static std::string bytes_of(const Scan& scan) {
    std::string bytes(16, '\x55');
    const auto put = [&](std::size_t at, std::uint64_t word, std::size_t count, bool big) {
      for (std::size_t i = 0; i < count; ++i)
        bytes[at + (big ? count - 1 - i : i)] = static_cast<char>(word >> (8 * i));
    };
    put(0, static_cast<std::uint64_t>(scan.acceleration) << 4 | 0x9, 2,
        false);  // what is below the value is not
    put(4, scan.voltage, 4, true);
    put(8, static_cast<std::uint64_t>(scan.time), 8, false);
    return bytes;
  }
  std::string graph_text() const {
    return "iio device=" + device().string() + " buffer=" + (folder_.path() / "scans").string();
  }
  // The bytes come through a FIFO, five at a time.
  template <class Run>
  auto during(const std::string& bytes, Run run) {
    const std::string path = folder_.path() / "scans";
    fs::remove(path);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
      const int descriptor = open(path.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < bytes.size(); at += 5) {
        if (::write(descriptor, bytes.data() + at, std::min<std::size_t>(5, bytes.size() - at)) < 0) break;
      }
      close(descriptor);
    });
    auto result = run();
    // Whoever failed before it opened the FIFO would leave the writer waiting.
    const int nobody = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    writer.join();
    close(nobody);
    return result;
  }
  GraphOptions options() {
    GraphOptions options;
    options.nodes = test_nodes();
    options.note = [this](std::string_view note) { notes_ += std::string(note) + "\n"; };
    return options;
  }
  std::string refusal(const std::string& more = "") {
    return failure_of(graph_text() + more + " ! keep", options());
  }

  runnel::test::TemporaryFolder folder_;
  std::string notes_;
};

TEST_F(IioTest, GivesValuesInTheirUnitsAndTime) {
  std::string bytes;
  constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
  const Scan scans[] = {{-2048, 0xFFFFFF, kStart},    {2047, 4, kStart + 10'000'000},
                        {-1, 0, kStart + 20'100'000}, {3, 8, kStart + 60'000'000},
                        {4, 8, kStart + 30'000'000},  {5, 8, kStart + 70'000'000}};
  for (const Scan& scan : scans) bytes += bytes_of(scan);
  const auto graph = during(bytes, [&] { return run_graph(graph_text() + " ! keep", options()); });
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(Keep::values, (std::vector<float>{-1024, 4194302.75F, 1023.5F, 0, -0.5F, -1, 1.5F, 1, 2.5F, 1}));
  EXPECT_EQ(Keep::indices, (std::vector<std::int64_t>{0, 1, 2, 6, 7})) << "three scans are missing";
  EXPECT_EQ(graph->executor().lost(), 3);
  EXPECT_EQ(Keep::format.clock.sample_rate, 100);
  EXPECT_EQ(Keep::format.channels, 2);
  EXPECT_EQ(Keep::format.origin, kStart);
  EXPECT_THAT(notes_, HasSubstr("1 scans out of order were left out"));
}

TEST_F(IioTest, TurnsItsBufferOnAndOffAgain) {
  fs::remove(device() / "sampling_frequency");
  const std::string on = during(bytes_of({}), [&] {
    auto graph = Graph::build(graph_text() + " rate=12.5 ! keep", options());
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    if (!graph.ok()) return std::string();
    const std::string now = read("buffer/enable");
    EXPECT_TRUE((*graph)->run().ok());
    EXPECT_EQ(Keep::format.clock.sample_rate, 25) << "in two seconds";
    return now;
  });
  EXPECT_EQ(on, "1");
  EXPECT_EQ(read("buffer/enable"), "0");
  // It is not ours to turn off what others have turned on.
  write("buffer/enable", "1");
  during(bytes_of({}), [&] { return run_graph(graph_text() + " rate=12.5 ! keep", options()); });
  EXPECT_EQ(read("buffer/enable"), "1");
}

TEST_F(IioTest, NewerKernelsHaveOneFolderForBoth) {
  element("in_timestamp", 3, "le:s64/64>>0", "0");
  fs::rename(device() / "scan_elements", device() / "buffer0");
  fs::rename(device() / "buffer/enable", device() / "buffer0/enable");
  const auto layout = read_iio_layout(device());
  ASSERT_TRUE(layout.ok()) << layout.status().text();
  EXPECT_EQ(layout->scan_bytes, 8U) << "without a time stamp a scan is aligned to its largest element";
  EXPECT_EQ(layout->time.bytes, 0U);
  EXPECT_EQ(layout->enable, device() / "buffer0/enable");
  EXPECT_EQ(layout->rate, 100);
}

// As the kernel names what the channels of one kind have in common.
TEST_F(IioTest, ScalesAreThoseOfTheKind) {
  for (const char* name :
       {"in_voltage0-voltage1", "in_voltage1_supply", "in_anglvel_x", "in_voltage3-voltage2"})
    element(name, 5, "le:u8/8>>0");
  write("in_voltage-voltage_scale", "3");
  write("in_anglvel_scale", "5");
  write("in_voltage3-voltage2_scale", "11");
  const auto layout = read_iio_layout(device());
  ASSERT_TRUE(layout.ok()) << layout.status().text();
  std::map<std::string, double> scales;
  for (const IioElement& element : layout->channels) scales[element.name] = element.scale;
  EXPECT_EQ(scales, (std::map<std::string, double>{{"in_accel_x", 0.5},
                                                   {"in_voltage2", 0.25},
                                                   {"in_voltage0-voltage1", 3},
                                                   {"in_voltage1_supply", 7},
                                                   {"in_anglvel_x", 5},
                                                   {"in_voltage3-voltage2", 11}}));
}

TEST_F(IioTest, EveryFormatIsRead) {
  const std::byte scan[] = {std::byte{0x12}, std::byte{0x84}, std::byte{0x56}, std::byte{0x78},
                            std::byte{0x9A}, std::byte{0xBC}, std::byte{0xDE}, std::byte{0xF0}};
  const auto raw = [&](std::size_t place, std::size_t bytes, int bits, int shift, bool big, bool with_sign) {
    IioElement element;
    element.place = place;
    element.bytes = bytes;
    element.bits = bits;
    element.shift = shift;
    element.big_endian = big;
    element.is_signed = with_sign;
    return element.raw(scan);
  };
  EXPECT_EQ(raw(1, 1, 8, 0, false, false), 0x84);
  EXPECT_EQ(raw(1, 1, 8, 0, false, true), 0x84 - 256);
  EXPECT_EQ(raw(0, 2, 16, 0, false, true), static_cast<std::int16_t>(0x8412));
  EXPECT_EQ(raw(0, 2, 10, 2, true, false), (0x1284 >> 2) & 0x3FF);
  EXPECT_EQ(raw(0, 2, 10, 2, true, true),
            ((0x1284 >> 2) & 0x3FF) - 0x400 * (((0x1284 >> 2) & 0x200) != 0 ? 1 : 0));
  EXPECT_EQ(raw(0, 8, 64, 0, true, true), 0x128456789ABCDEF0);
  EXPECT_EQ(raw(0, 8, 64, 0, false, true), static_cast<std::int64_t>(0xF0DEBC9A78568412));
  EXPECT_EQ(raw(4, 4, 1, 31, false, true), -1);
}

TEST_F(IioTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(failure_of("iio device=iio:device9999 ! keep", options()),
              HasSubstr("/sys/bus/iio/devices/iio:device9999: is not an IIO device with a buffer"));
  const auto with = [&](const std::string& file, const std::string& line) {
    const std::string before = read(file);
    write(file, line);
    const std::string said = refusal();
    write(file, before);
    return said;
  };
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:s12/16"),
              HasSubstr("in_accel_x_type: expected a format as le:s12/16>>4, found 'le:s12/16'"));
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:f32/32>>0"), HasSubstr("expected a format"));
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:s12/16X2>>4"),
              HasSubstr("has several values in one element"));
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:s14/16>>4"),
              HasSubstr("expected 8, 16, 32 or 64 bits that hold the value"));
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:s128/128>>0"),
              HasSubstr("expected 8, 16, 32 or 64 bits"));
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:s2147483647/16>>1"),
              HasSubstr("expected 8, 16, 32 or 64 bits that hold the value"));
  EXPECT_THAT(with("scan_elements/in_accel_x_type", "le:s12/16>>2147483647"),
              HasSubstr("expected 8, 16, 32 or 64 bits that hold the value"));
  EXPECT_THAT(with("in_voltage2_offset", "1e300"),
              HasSubstr("the scale and the offset of in_voltage2 give values up to"));
  EXPECT_THAT(with("scan_elements/in_accel_x_index", "-3"),
              HasSubstr("in_accel_x_index: expected a number from 0 to 1023, found '-3'"));
  EXPECT_THAT(with("scan_elements/in_accel_x_en", "yes"),
              HasSubstr("in_accel_x_en: expected 0 or 1, found 'yes'"));
  EXPECT_THAT(with("scan_elements/in_timestamp_type", "le:s32/32>>0"),
              HasSubstr("in_timestamp_type: expected 64 bits"));
  EXPECT_THAT(with("in_accel_scale", "1e999"), HasSubstr("in_accel_scale: expected a number"));
  EXPECT_THAT(with("sampling_frequency", "often"),
              HasSubstr("sampling_frequency: expected a number, found 'often'"));
  EXPECT_THAT(with("sampling_frequency", "0"),
              HasSubstr("does not say how many scans are a second: expected rate="));
  EXPECT_THAT(refusal(), HasSubstr("scans: cannot be opened")) << "there is no character device";
  EXPECT_EQ(read("buffer/enable"), "0");
  EXPECT_THAT(during(bytes_of({}) + "half", [&] { return refusal(); }),
              HasSubstr("ended within a scan, after 4 of its 16 bytes"));
  EXPECT_THAT(
      during(bytes_of({}) + bytes_of({0, 0, 9'000'000'000'000}), [&] { return refusal(" max_gap=60"); }),
      HasSubstr("expected a jump of the time stamps of at most 60 s"));
  for (const char* name : {"in_accel_x", "in_voltage2"})
    write("scan_elements/" + std::string(name) + "_en", "0");
  EXPECT_THAT(refusal(), HasSubstr("no element is enabled"));
}

}  // namespace
}  // namespace runnel::pipeline::test
