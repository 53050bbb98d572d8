// Samples that come from pipes, sockets and serial lines.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "pipeline/host/live/frame_stream.h"
#include "pipeline/nodes/host/live/tcp_source.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

using testing::HasSubstr;

std::string bytes_of(const std::vector<std::int16_t>& samples) {
  return {reinterpret_cast<const char*>(samples.data()), samples.size() * 2};
}

// Writes in blocks of this many bytes.
void write_all(int descriptor, std::string_view bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor, bytes.data(), std::min(piece, bytes.size()));
    ASSERT_GT(count, 0) << std::strerror(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

GraphOptions with_keep(std::int64_t tick = 256) {
  GraphOptions options;
  options.nodes = test_nodes();
  options.tick = tick;
  return options;
}

void expect_heard(const std::vector<std::int16_t>& samples) {
  ASSERT_EQ(Keep::values.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    ASSERT_EQ(Keep::values[i], static_cast<float>(samples[i]) / 32768) << i;
}

// The standard input is a pipe meanwhile.
class Stdin : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(ends_), 0);
    kept_ = dup(0);
    dup2(ends_[0], 0);
    close(ends_[0]);
  }
  void TearDown() override {
    dup2(kept_, 0);
    close(kept_);
    hang_up();
  }
  void hang_up() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // What happens to the graph while these bytes come.
  std::string failure_with(const std::string& bytes, const std::string& text) {
    write_all(ends_[1], bytes, bytes.size());
    hang_up();
    return failure_of(text, with_keep());
  }
  int ends_[2] = {-1, -1};
  int kept_ = -1;
};

TEST_F(Stdin, GivesSamplesHoweverTheyAreCut) {
  const auto samples = make_samples(20000);
  std::thread writer([&] {
    write_all(ends_[1], bytes_of(samples), 777);
    hang_up();
  });
  run_graph("stdin channels=2 rate=8000 ! keep", with_keep());
  writer.join();
  expect_heard(samples);
  EXPECT_EQ(Keep::format.channels, 2);
  EXPECT_EQ(Keep::format.clock.sample_rate, 8000);
}

TEST_F(Stdin, GivesWhatIsThereWithoutWaitingForMore) {
  const auto samples = make_samples(100);
  auto graph = Graph::build("stdin ! keep", with_keep());
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  write_all(ends_[1], bytes_of(samples), 1000);
  ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_FALSE(done);
  expect_heard(samples);
  hang_up();
  ASSERT_TRUE((*graph)->run().ok());
}

TEST_F(Stdin, KnowsTheFormats) {
  const float values[] = {0.5f, -0.25f};
  write_all(ends_[1], std::string(reinterpret_cast<const char*>(values), sizeof values), 3);
  hang_up();
  run_graph("stdin format=float ! keep", with_keep());
  EXPECT_EQ(Keep::values, (std::vector<float>{0.5f, -0.25f}));
}

TEST_F(Stdin, RefusesAStreamThatEndsWithinAFrame) {
  EXPECT_THAT(failure_with("abcde", "stdin channels=2 ! keep"),
              HasSubstr("standard input: ends 1 bytes into a frame of 4 bytes"));
}

TEST_F(Stdin, RefusesAFileWithAHeader) {
  EXPECT_THAT(failure_with("RIFF....WAVEfmt ", "stdin ! keep"),
              HasSubstr("begins with RIFF, as a sound file does"));
}

TEST_F(Stdin, RefusesWhatIsNoNumber) {
  const float values[] = {0.5f, std::nanf("")};
  EXPECT_THAT(failure_with(std::string(reinterpret_cast<const char*>(values), sizeof values),
                           "stdin format=float ! keep"),
              HasSubstr("sample 1 is infinite or not a number"));
}

TEST_F(Stdin, StopsWithWhatHadCome) {
  std::atomic<bool> stop{false};
  GraphOptions options = with_keep();
  options.stop = &stop;
  auto graph = Graph::build("stdin ! keep", options);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  const auto samples = make_samples(3000);
  write_all(ends_[1], bytes_of(samples) + "x", 10000);
  stop = true;
  // The pipe stays open: it is the flag that ends the stream.
  ASSERT_TRUE((*graph)->run().ok());
  expect_heard(samples);
}

TEST_F(Stdin, AStopWakesIt) {
  std::atomic<bool> stop{false};
  GraphOptions options = with_keep();
  options.stop = &stop;
  auto graph = Graph::build("stdin ! keep", options);
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  EXPECT_TRUE((*graph)->run().ok());
  stopper.join();
  EXPECT_GE((*graph)->executor().samples(), 0);
}

// ---- tcp
// -----------------------------------------------------------------------------------------------------------

std::string message(std::string_view bytes) {
  const auto header = frame_header(static_cast<std::uint32_t>(bytes.size()));
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + std::string(bytes);
}

std::string messages(const std::string& bytes, std::size_t piece) {
  std::string all;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    all += message(std::string_view(bytes).substr(at, piece));
  return all;
}

class Tcp : public testing::Test {
 protected:
  // Runs a graph that listens while `bytes` are sent to it.
  Status send(const std::string& bytes, bool stay = false, const std::string& parameters = "") {
    auto graph = Graph::build("tcp address=tcp:127.0.0.1:0 " + parameters + " ! keep", with_keep());
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    if (!graph.ok()) return graph.status();
    const std::string address = dynamic_cast<TcpSource&>(*(*graph)->stage(0).node).local();
    std::thread sender([&] {
      auto socket = connect_to(*SocketAddress::parse(address), 5000);
      ASSERT_TRUE(socket.ok()) << socket.status().text();
      write_all(socket->number(), bytes, 501);
      // Until the other side has had enough.
      char ignored = 0;
      if (stay)
        while (recv(socket->number(), &ignored, 1, 0) < 0)
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    const Status status = (*graph)->run();
    graph->reset();
    sender.join();
    return status;
  }
  std::vector<std::int16_t> samples_ = make_samples(20000);
};

TEST_F(Tcp, TakesMessagesWhateverTheirLengths) {
  for (const std::size_t piece : {1, 3, 640, 40000}) {
    const std::string bytes = piece < 10 ? bytes_of(samples_).substr(0, 2000) : bytes_of(samples_);
    ASSERT_TRUE(send(messages(bytes, piece)).ok());
    expect_heard(piece < 10 ? std::vector<std::int16_t>(samples_.begin(), samples_.begin() + 1000)
                            : samples_);
  }
}

TEST_F(Tcp, AnEmptyMessageEndsTheStream) {
  ASSERT_TRUE(send(messages(bytes_of(samples_), 640) + message(""), true).ok());
  expect_heard(samples_);
}

TEST_F(Tcp, RefusesWhatIsCutAndWhatIsTooLong) {
  const std::string whole = messages(bytes_of(samples_), 640);
  EXPECT_THAT(send(whole.substr(0, whole.size() - 1)).text(),
              HasSubstr("the connection ended within a message"));
  EXPECT_TRUE(send(whole.substr(0, whole.size() - 1), false, "truncated=accept").ok());
  EXPECT_THAT(send("GET / HTTP/1.1\r\n\r\n").text(), HasSubstr("expected a little-endian length of at most"));
}

TEST_F(Tcp, CallsTheSenderWhenToldTo) {
  auto listener = listen_at(*SocketAddress::parse("tcp:127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  std::thread sender([&] {
    Descriptor connection;
    for (int i = 0; i < 1000 && !connection.is_open(); ++i) {
      connection = Descriptor(accept(listener->number(), nullptr, nullptr));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    write_all(connection.number(), messages(bytes_of(samples_), 640), 10000);
  });
  run_graph("tcp mode=connect address=" + local_address(*listener) + " ! keep", with_keep());
  sender.join();
  expect_heard(samples_);
  EXPECT_THAT(failure_of("tcp mode=connect address=tcp:127.0.0.1:1 ! keep", with_keep()),
              HasSubstr("tcp:127.0.0.1:1: cannot connect"));
}

TEST_F(Tcp, TakesSendersOfThisMachineAlone) {
  EXPECT_THAT(failure_of("tcp address=tcp:0.0.0.0:0 ! keep", with_keep()),
              HasSubstr("tcp:0.0.0.0:0: other machines can reach this address: expected allow="));
  // Not every machine has addresses of version 6.
  EXPECT_THAT(failure_of("tcp address=tcp:[::]:0 ! keep", with_keep()),
              AnyOf(HasSubstr("expected allow="), HasSubstr("cannot listen")));
  EXPECT_THAT(failure_of("tcp address=tcp:127.0.0.1:0 allow=127.0.0.1,nobody ! keep", with_keep()),
              HasSubstr("allow: \"nobody\": expected an address in numbers, or any"));
  EXPECT_THAT(failure_of("tcp address=tcp:127.0.0.1:0 allow=2001:DB8:0::1 ! keep", with_keep()),
              HasSubstr("expected 2001:db8::1"));
  auto any = Graph::build("tcp address=tcp:0.0.0.0:0 allow=any ! keep", with_keep());
  EXPECT_TRUE(any.ok()) << any.status().text();
  ASSERT_TRUE(send(messages(bytes_of(samples_), 640), false, "allow=192.0.2.7,127.0.0.1").ok());
  expect_heard(samples_);
}

// Who is not on the list is cut off, and the next one is heard.
TEST_F(Tcp, SendersThatAreNotListedAreCutOff) {
  auto graph = Graph::build("tcp address=tcp:127.0.0.1:0 allow=127.0.0.2 ! keep", with_keep());
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  const std::string address = dynamic_cast<TcpSource&>(*(*graph)->stage(0).node).local();
  std::thread sender([&] {
    auto stranger = connect_to(*SocketAddress::parse(address), 5000);
    ASSERT_TRUE(stranger.ok()) << stranger.status().text();
    char nothing = 0;
    while (recv(stranger->number(), &nothing, 1, 0) < 0 && (errno == EAGAIN || errno == EINTR))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Descriptor known(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in from{}, to{};
    socklen_t size = sizeof to;
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    ASSERT_EQ(getpeername(stranger->number(), reinterpret_cast<sockaddr*>(&to), &size), 0);
    ASSERT_EQ(bind(known.number(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0);
    ASSERT_EQ(connect(known.number(), reinterpret_cast<const sockaddr*>(&to), size), 0);
    write_all(known.number(), messages(bytes_of(samples_), 640), 501);
  });
  const Status status = (*graph)->run();
  graph->reset();
  sender.join();
  ASSERT_TRUE(status.ok()) << status.text();
  expect_heard(samples_);
}

TEST_F(Tcp, CanBeStoppedBeforeAnyoneCalls) {
  std::atomic<bool> stop{true};
  GraphOptions options = with_keep();
  options.stop = &stop;
  EXPECT_EQ(run_graph("tcp address=tcp:127.0.0.1:0 ! keep", options)->executor().samples(), 0);
}

// ---- sensor
// --------------------------------------------------------------------------------------------------------

class SensorTest : public testing::Test {
 protected:
  // The rows arrive through a FIFO, in parts.
  std::unique_ptr<Graph> hear(const std::string& rows, const std::string& parameters) {
    const std::string path = (folder_.path() / "rows").string();
    std::filesystem::remove(path);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
      const int descriptor = open(path.c_str(), O_WRONLY);
      write_all(descriptor, rows, 7);
      close(descriptor);
    });
    auto options = with_keep();
    notes_.clear();
    options.note = [this](std::string_view note) { notes_ += std::string(note) + "\n"; };
    auto graph = run_graph("sensor path=" + path + " " + parameters + " ! keep", options);
    writer.join();
    return graph;
  }
  runnel::test::TemporaryFolder folder_;
  std::string notes_;
};

TEST_F(SensorTest, GivesRowsWithNamesAndTimes) {
  hear("t,x,y\n0.00,1,-1\n0.01,2,-2\n0.02,3,-3\n", "time=t rate=100");
  EXPECT_EQ(Keep::values, (std::vector<float>{1, -1, 2, -2, 3, -3}));
  EXPECT_EQ(Keep::format.clock.sample_rate, 100);
  EXPECT_EQ(Keep::format.origin, 0);
  EXPECT_EQ(notes_, "");
}

TEST_F(SensorTest, CountsWhatIsMissingEarlyTwiceOrGarbled) {
  const auto graph =
      hear("0.00 1\n0.01 2\n0.04 5\n0.03 9\n0.05 6\n0.0#6 7\n0.07 8\n0.08 x\n0.09 nan\n0.10 11\n0.1145 12\n",
           "time=1 rate=100 header=no tolerance=0.4");
  EXPECT_EQ(Keep::values, (std::vector<float>{1, 2, 5, 6, 8, 11, 12}));
  EXPECT_EQ(Keep::indices, (std::vector<std::int64_t>{0, 1, 4, 5, 7, 10, 11})) << "time never drifts";
  std::int64_t lost = 0;
  for (const Gap& gap : Keep::gaps) lost += gap.lost;
  EXPECT_EQ(lost, 5);
  EXPECT_EQ(graph->executor().lost(), 5);
  EXPECT_THAT(notes_, HasSubstr("1 rows out of order were left out"));
  EXPECT_THAT(notes_, HasSubstr("1 rows were off their place in time by more than the tolerance"));
  EXPECT_THAT(notes_, HasSubstr("2 rows of "));
}

TEST_F(SensorTest, GivesUpWhenNothingUsefulComes) {
  std::string rows = "5.00 1\n";
  for (int i = 0; i < 200; ++i) rows += "0.00 1\n";
  const std::string path = (folder_.path() / "rows.txt").string();
  std::ofstream(path) << rows;
  EXPECT_THAT(failure_of("sensor path=" + path + " time=1 rate=100 ! keep", with_keep()),
              HasSubstr("its clock went back"));
  std::ofstream(path) << "1 2\n" + rows;
  EXPECT_THAT(failure_of("sensor path=" + path + " garbled=error time=1 rate=100 out_of_order=error ! keep",
                         with_keep()),
              HasSubstr("expected a time after that of the row above"));
}

// A pseudo terminal: settings, a line that had begun before, and rows at once.
TEST_F(SensorTest, ReadsASerialLine) {
  int line = -1, other = -1;
  char name[256];
  ASSERT_EQ(openpty(&line, &other, name, nullptr, nullptr), 0);
  // What comes while a line is changed from words to bytes may be lost: on a terminal, not on a serial line.
  termios raw{};
  ASSERT_EQ(tcgetattr(other, &raw), 0);
  cfmakeraw(&raw);
  ASSERT_EQ(tcsetattr(other, TCSANOW, &raw), 0);
  std::atomic<bool> stop{false};
  GraphOptions options = with_keep();
  options.stop = &stop;
  std::thread writer([&] { write_all(line, "7,8\r\n1,2\r\n3,4\r\n", 5); });
  auto graph = Graph::build("sensor path=" + std::string(name) + " rate=10 baud=9600 ! keep", options);
  writer.join();
  ASSERT_TRUE(graph.ok()) << graph.status().text();
  bool done = false;
  while (Keep::values.size() < 4) ASSERT_TRUE((*graph)->step(done).ok());
  EXPECT_EQ(Keep::values, (std::vector<float>{1, 2, 3, 4}));
  write_all(line, "5,6\r\n7,", 100);
  while (Keep::values.size() < 6) ASSERT_TRUE((*graph)->step(done).ok());
  stop = true;
  ASSERT_TRUE((*graph)->run().ok());
  EXPECT_EQ(Keep::values, (std::vector<float>{1, 2, 3, 4, 5, 6})) << "half a row is none";
  close(line);
  close(other);
  EXPECT_THAT(failure_of("sensor path=/dev/ptmx rate=10 baud=9601 ! keep", with_keep()),
              HasSubstr("baud=9601: expected one of 1200"));
}

}  // namespace
}  // namespace runnel::pipeline::test
