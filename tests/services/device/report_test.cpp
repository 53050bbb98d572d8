// Reports of devices come from outside: what is damaged is refused with a sentence.
#include "services/device/report.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/device/read_report.h"
#include "services/device/serial_line.h"
#include "tests/services/device/report_lines.h"
#include "tests/support/data.h"

namespace runnel::device {
namespace {

using test::report_bodies;
using test::text_of;
using test::told;

Status read(const std::string& text, ReportReader& reader) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    RUNNEL_TRY(reader.line(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return reader.end();
}
Status read(const std::string& text, bool joins = false) {
  ReportReader reader(joins);
  return read(text, reader);
}
std::string sentence(const std::string& text) { return std::string(read(text).text()); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, TheLastOneCountsAmongOtherTalk) {
  std::string text = "booting...\r\n" + text_of(report_bodies(7, 2)) + "a word\n@runnel\n";
  std::vector<std::string> later = report_bodies(7, 3);
  later[0].replace(later[0].find("words"), 5, "later");
  for (const std::string& body : later) text += told(body) + "\r\n";
  ReportReader reader(false);
  ASSERT_TRUE(read(text, reader).ok()) << read(text).text();
  EXPECT_EQ(reader.report()->program, "later");
  EXPECT_EQ(reader.report()->model_sum, 7U);
  EXPECT_EQ(reader.report()->operators.size(), 3U);
  EXPECT_EQ(reader.report()->operators[2].cycles, 98U * 3000);
  EXPECT_EQ(reader.report()->stages[1].name, "infer");
  EXPECT_EQ(reader.report()->stack_used, 2540U);
  EXPECT_FALSE(reader.report()->npu);
}

// Every bit of every byte.
TEST(Report, NoFlippedBitPasses) {
  const std::string good = text_of(report_bodies(0x1234abcd, 2));
  ASSERT_TRUE(read(good).ok());
  for (std::size_t at = 0; at + 1 < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      EXPECT_FALSE(read(damaged).ok()) << "byte " << at << ", bit " << bit;
    }
  }
}

TEST(Report, NoLineMayBeMissingOrCut) {
  const auto bodies = report_bodies(1, 3);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    auto some = bodies;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(read(text_of(some)).ok()) << "without line " << i;
    some = bodies;
    if (i + 1 < some.size()) {
      std::swap(some[i], some[i + 1]);
      EXPECT_FALSE(read(text_of(some)).ok()) << "lines " << i << " exchanged";
    }
  }
  const std::string good = text_of(bodies);
  for (std::size_t size = 0; size + 1 < good.size(); ++size)
    EXPECT_FALSE(read(good.substr(0, size)).ok()) << size << " bytes";
}

TEST(Report, SentencesNameTheLine) {
  auto bodies = report_bodies(1, 2);
  EXPECT_EQ(sentence("talk\n"), "no report of a device: no line begins with \"@runnel 1 begin\"");
  EXPECT_EQ(sentence(told("time steps=1", 2)), "line 1: lines of version 2, expected 1");
  EXPECT_TRUE(
      has(sentence("x\n" + told("stream samples=1")), "line 2: a line of kind stream before a report"));
  EXPECT_TRUE(has(sentence(told("greeting a=1")), "unknown kind \"greeting\""));
  EXPECT_TRUE(
      has(sentence(told(bodies[0]) + "\n" + told(bodies[0])), "line 2: a report begins, and that of line 1"));
  EXPECT_TRUE(has(sentence(told(bodies[0])), "the report of line 1 stops before its end"));
  EXPECT_TRUE(has(sentence("@runnel 1 begin"), "line 1: no checksum at the end"));
  EXPECT_TRUE(has(sentence("@runnel 1 begin\x01 #00000000"), "no printable character"));
  EXPECT_TRUE(has(sentence("@runnel 1 " + std::string(300, 'a')), "310 bytes, expected at most 256"));
  auto one = bodies;
  one[1] = "stage index=0 name=source calls=18446744073709551616 cycles=0 most=0";
  EXPECT_TRUE(
      has(sentence(text_of(one)), "line 2: calls=18446744073709551616, expected a number below 2^64"));
  one[1] = "stage index=0 name=source calls=-1 cycles=0 most=0";
  EXPECT_TRUE(has(sentence(text_of(one)), "calls=-1"));
  one[1] = "stage index=5 name=source calls=1 cycles=0 most=0";
  EXPECT_TRUE(has(sentence(text_of(one)), "node 5, expected 0"));
  one[1] = "stage index=0 name=source cycles=0 calls=1 most=0";
  EXPECT_TRUE(has(sentence(text_of(one)), "the field calls is missing or out of order"));
  one[1] = "stage index=0 name=source calls=1 cycles=0 most=0 more=1";
  EXPECT_TRUE(has(sentence(text_of(one)), "\"more=1\" after the last field"));
  one = bodies;
  one[4] = "operator first=2 count=1 runs=1 cycles=1 most=1";
  EXPECT_TRUE(has(sentence(text_of(one)), "operator 2, expected 1"));
  one[4] = "operator first=1 count=0 runs=1 cycles=1 most=1";
  EXPECT_TRUE(has(sentence(text_of(one)), "0 operators from 1 on"));
  one[4] = "operator first=1 count=18446744073709551615 runs=1 cycles=1 most=1";
  EXPECT_TRUE(has(sentence(text_of(one)), "expected 1 to 65536 in all"));
  one = bodies;
  one.back() = "end lines=4";
  EXPECT_TRUE(has(sentence(text_of(one)), "lines of the report arrived, 4 were sent"));
}

TEST(Report, AnNpuAndASelfTestBelongToIt) {
  auto bodies = report_bodies(1, 1);
  bodies.insert(bodies.end() - 1,
                "npu runs=98 failures=0 cycles=98000 near_read=5 near_written=6 far_read=7 far_written=8");
  bodies.back() = "end lines=" + std::to_string(bodies.size());
  bodies.push_back(
      "test program=words code=11 said=vector 2: output 0 differs at frame 3, value 1: 4, expected 5");
  ReportReader reader(false);
  ASSERT_TRUE(read(text_of(bodies), reader).ok()) << sentence(text_of(bodies));
  EXPECT_EQ(reader.report()->npu->far_written, 8U);
  EXPECT_EQ(reader.self_test()->code, 11U);
  EXPECT_EQ(reader.self_test()->said, "vector 2: output 0 differs at frame 3, value 1: 4, expected 5");
}

// ---- a serial line

struct Terminal {
  int master = -1, slave = -1;
  char name[128] = {};
  Terminal() {
    termios raw{};
    ::cfmakeraw(&raw);
    raw.c_cflag |= CREAD;
    EXPECT_EQ(::openpty(&master, &slave, name, &raw, nullptr), 0);
  }
  ~Terminal() {
    if (master >= 0) ::close(master);
    ::close(slave);
  }
  void write(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t done = ::write(master, text.data() + at, text.size() - at);
      ASSERT_GT(done, 0);
      at += static_cast<std::size_t>(done);
    }
  }
};

// The rest of a report whose start was missed, talk, and a whole report; what follows is not waited for.
TEST(SerialReport, AConnectionMayComeInTheMiddle) {
  const Terminal terminal;
  ASSERT_TRUE(is_serial_line(terminal.name));
  std::string text = text_of(report_bodies(3, 20));
  text = text.substr(text.find('\n') - 20) + "\xff\xfe noise\n" + text_of(report_bodies(4, 40));
  std::thread device([&] { terminal.write(text); });
  const auto received = read_report({terminal.name, 115200, 100});
  device.join();
  ASSERT_TRUE(received.ok()) << received.status().text();
  EXPECT_EQ(received->report.model_sum, 4U);
  EXPECT_EQ(received->report.operators.size(), 40U);
}

TEST(SerialReport, DamageAndTheEndAreFailures) {
  {
    const Terminal terminal;
    std::string text = text_of(report_bodies(3, 2));
    text[text.find("cycles=20000") + 8] = '9';
    terminal.write(text);
    const auto received = read_report({terminal.name, 9600, 100});
    EXPECT_FALSE(received.ok());
    EXPECT_TRUE(has(std::string(received.status().text()), ": line 2: the checksum differs"))
        << received.status().text();
    EXPECT_TRUE(has(std::string(received.status().text()), terminal.name));
  }
  {
    Terminal terminal;
    auto line = SerialLine::open(terminal.name, 115200);
    ASSERT_TRUE(line.ok()) << line.status().text();
    ::close(std::exchange(terminal.master, -1));
    std::string text;
    const auto more = line->read(text, std::chrono::steady_clock::now() + std::chrono::seconds(100));
    ASSERT_TRUE(more.ok());
    EXPECT_FALSE(*more);
    EXPECT_TRUE(line->closed());
  }
  const Terminal terminal;
  EXPECT_TRUE(has(std::string(read_report({terminal.name, 12345, 1}).status().text()), "--baud 12345"));
  const auto late = read_report({terminal.name, 115200, 1});
  EXPECT_TRUE(has(std::string(late.status().text()), "no whole report in 1 s")) << late.status().text();
}

TEST(ReadReport, FilesAreNamedInFailures) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "lines.txt";
  EXPECT_TRUE(has(std::string(read_report({path}).status().text()), path + ": cannot be opened"));
  EXPECT_TRUE(has(std::string(read_report({folder.path()}).status().text()), "a folder, expected a file"));
  std::ofstream(path) << text_of(report_bodies(9, 1));
  const auto received = read_report({path});
  ASSERT_TRUE(received.ok()) << received.status().text();
  EXPECT_EQ(received->report.model_sum, 9U);
  std::ofstream(path) << "nothing\n";
  EXPECT_TRUE(has(std::string(read_report({path}).status().text()), path + ": no report of a device"));
  EXPECT_FALSE(read_report({"/dev/null"}).ok());
}

}  // namespace
}  // namespace runnel::device
