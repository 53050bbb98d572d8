// Programs that are run and records that are sent for events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "pipeline/host/live/socket.h"
#include "pipeline/nodes/host/act/child_process.h"
#include "pipeline/nodes/host/act/send.h"
#include "tests/pipeline/support.h"
#include "tests/support/data.h"

namespace runnel::pipeline::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

class Actions : public testing::Test {
 protected:
  void SetUp() override {
    Lossy::sample_rate = 16000;
    Lossy::losses.clear();
    Lossy::samples.assign(32000, 0.25f);
    Events::label = "yes";
    Events::at = {1600, 8000, 16000};
  }
  void TearDown() override { Lossy::samples.clear(); }
  GraphOptions options() {
    GraphOptions result;
    result.nodes = test_nodes();
    result.tick = 160;
    result.note = [this](std::string_view note) { notes_ += std::string(note) + "\n"; };
    return result;
  }
  std::unique_ptr<Graph> build(const std::string& sink) {
    auto graph = Graph::build("lossy ! events ! " + sink, options());
    EXPECT_TRUE(graph.ok()) << graph.status().text();
    return graph.ok() ? std::move(*graph) : nullptr;
  }
  static Json action(const Graph& graph) { return Json::parse(graph.summary())["actions"][0]; }
  // A program of ours, run by its first line.
  std::string script(const std::string& text) {
    const fs::path path = folder_.path() / ("script" + std::to_string(++scripts_));
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }
  std::string out() const { return (folder_.path() / "out").string(); }

  runnel::test::TemporaryFolder folder_;
  std::string notes_;
  int scripts_ = 0;
};

TEST_F(Actions, ACommandGetsTheEventAsArgumentsEnvironmentAndInput) {
  Events::at = {8000};
  // Whatever a label holds is one argument, and nothing that a shell would read.
  Events::label = "a b; $(touch /nowhere) 'c'";
  const std::string program =
      script("printf '%s\\n' \"$#\" \"$1\" \"$2\" \"$RUNNEL_LABEL\" \"$RUNNEL_SCORE\" \"$RUNNEL_SOURCE\" > " +
             out() + "; cat >> " + out());
  const auto graph = build("command run=\"" + program + " {label} 'at {start}s {x}'\"");
  ASSERT_TRUE(graph->run().ok());
  std::istringstream lines(read_text(out()));
  std::string line;
  for (const char* expected : {"2", "a b; $(touch /nowhere) 'c'", "at 0.500s {x}",
                               "a b; $(touch /nowhere) 'c'", "0.9000", "lossy"}) {
    std::getline(lines, line);
    EXPECT_EQ(line, expected);
  }
  std::getline(lines, line);
  const Json record = Json::parse(line);
  EXPECT_EQ(record["label"], "a b; $(touch /nowhere) 'c'");
  EXPECT_EQ(record["start"], 0.5);
  EXPECT_EQ(action(*graph),
            Json::parse(R"({"output":"command","events":1,"done":1,"failed":0,"dropped":0})"));
}

TEST_F(Actions, CommandsAreDoneBeforeTheRunEnds) {
  const auto graph = build("command run='" + script("sleep 0.2; echo x >> " + out()) + "' concurrency=2");
  ASSERT_TRUE(graph->run().ok());
  EXPECT_EQ(read_text(out()), "x\nx\nx\n");
  EXPECT_EQ(action(*graph)["done"], 3);
}

TEST_F(Actions, AFailedCommandIsToldCountedAndFailsTheRun) {
  for (const auto& [run, told] :
       {std::pair<std::string, std::string>{script("exit 3"), "ended with exit code 3"},
        {script("kill -9 $$"), "was ended by signal 9"},
        {"/nowhere/program", "/nowhere/program: cannot be run: No such file or directory"}}) {
    notes_.clear();
    const auto graph = build("command run=" + run);
    const Status status = graph->run();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.text(), HasSubstr("command: of 3 records, 3 failed and 0 were dropped"));
    EXPECT_EQ(Json::parse(graph->summary())["failures"], 1);
    EXPECT_EQ(action(*graph)["failed"], 3);
  }
}

TEST_F(Actions, NewsOfAFailureComeDuringTheRun) {
  Events::at = {1600};
  const auto graph = build("command run='" + script("exit 3") + "'");
  bool done = false;
  while (graph->executor().samples() < 3200) ASSERT_TRUE(graph->step(done).ok());
  while (graph->executor().samples() < 31000 && notes_.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(graph->step(done).ok());
  }
  EXPECT_THAT(notes_, HasSubstr("ended with exit code 3"));
}

TEST_F(Actions, ACommandThatTakesTooLongIsEndedWithAllThatItStarted) {
  Events::at = {8000};
  const auto start = std::chrono::steady_clock::now();
  const auto graph =
      build("command run='" + script("trap '' TERM; sleep 61 & echo $! > " + out() + "; wait; sleep 61") +
            "' timeout=0.3");
  EXPECT_FALSE(graph->run().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(action(*graph)["failed"], 1);
  const int grandchild = std::stoi(read_text(out()));
  for (int i = 0; i < 100 && kill(grandchild, 0) == 0; ++i) {
    // An orphaned zombie disappears when init reaps it; the test only requires that the process does not run.
    std::ifstream status("/proc/" + std::to_string(grandchild) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(status), {}};
    if (text.find(") Z ") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_LT(i, 99) << "still runs";
  }
}

TEST_F(Actions, WhatDoesNotFitIntoTheQueueIsDroppedAndCounted) {
  Events::at.clear();
  for (std::int64_t i = 0; i < 20; ++i) Events::at.push_back(800 * i);
  const auto graph = build("command run='" + script("sleep 0.5") + "' concurrency=2 queue=3");
  EXPECT_FALSE(graph->run().ok());
  const Json facts = action(*graph);
  EXPECT_EQ(facts["events"], 20);
  EXPECT_EQ(facts["done"].get<int>() + facts["dropped"].get<int>(), 20);
  EXPECT_EQ(facts["done"], 5) << "two at once and three that waited: the stream took no time";
  EXPECT_THAT(notes_, HasSubstr("are waiting for"));
}

TEST(Words, AreTakenApartAsInAShellWithoutOne) {
  const auto words = words_of("a  'b c' \"d \\\" $x\" e'f'g ''");
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words, (std::vector<std::string>{"a", "b c", "d \" $x", "efg", ""}));
  EXPECT_FALSE(words_of("a 'b").ok());
  EXPECT_TRUE(words_of("  ")->empty());
}

TEST_F(Actions, GraphsAreCheckedWithoutActing) {
  const auto graph = build("command run='" + script("echo x >> " + out()) + "'");
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_THAT(failure_of("lossy ! events ! command run=''", options()), HasSubstr("expected a program"));
  EXPECT_THAT(failure_of("lossy ! events ! send to=nowhere", options()),
              HasSubstr("expected tcp:HOST:PORT or unix:PATH"));
}

// The other side of `send`.
class Listener {
 public:
  explicit Listener(const std::string& address) : Listener(*SocketAddress::parse(address)) {}
  explicit Listener(const SocketAddress& address) {
    auto socket = listen_at(address);
    EXPECT_TRUE(socket.ok()) << socket.status().text();
    if (socket.ok()) socket_ = std::move(*socket);
  }
  [[nodiscard]] std::string address() const { return local_address(socket_); }
  // Takes the next connection.
  void accept() {
    pollfd polled{socket_.number(), POLLIN, 0};
    ASSERT_EQ(poll(&polled, 1, 10000), 1) << "nobody called";
    connection_ = Descriptor(::accept(socket_.number(), nullptr, nullptr));
  }
  // So many lines, or what came until the connection was closed.
  std::vector<std::string> lines(std::size_t count) {
    std::vector<std::string> all;
    for (char letter = 0; all.size() < count;) {
      pollfd polled{connection_.number(), POLLIN, 0};
      if (poll(&polled, 1, 10000) != 1 || ::read(connection_.number(), &letter, 1) != 1) break;
      line_ += letter;
      if (letter == '\n') all.push_back(std::exchange(line_, {}));
    }
    return all;
  }
  void hang_up() { connection_.close(); }

 private:
  Descriptor socket_, connection_;
  std::string line_;
};

TEST_F(Actions, SendGivesLinesToASocket) {
  for (const std::string& address :
       {std::string("tcp:127.0.0.1:0"), "unix:" + (folder_.path() / "s").string()}) {
    Lossy::losses = {{12000, 400}};
    Listener listener(address);
    const auto graph = build("send to=" + listener.address());
    ASSERT_TRUE(graph->run().ok()) << notes_;
    listener.accept();
    const auto lines = listener.lines(10);
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_EQ(Json::parse(lines[0])["start"], 0.1);
    EXPECT_EQ(Json::parse(lines[2]),
              Json::parse(R"({"type":"gap","source":"lossy","start":0.75,"end":0.775,"lost_samples":400})"));
    EXPECT_EQ(Json::parse(lines[3])["start"], 1.0);
    EXPECT_EQ(action(*graph), Json::parse(R"({"output":"send","events":4,"done":4,"failed":0,"dropped":0})"));
  }
}

TEST_F(Actions, SendConnectsAgain) {
  const std::string path = (folder_.path() / "s").string();
  const auto graph = build("send to=unix:" + path + " linger=20 retry=0.2");
  bool done = false;
  // Nobody is there yet.
  while (graph->executor().samples() < 4800) ASSERT_TRUE(graph->step(done).ok());
  auto listener = std::make_unique<Listener>("unix:" + path);
  listener->accept();
  EXPECT_EQ(listener->lines(1).size(), 1u);
  // The other side goes away and comes back.
  listener.reset();
  fs::remove(path);
  while (graph->executor().samples() < 11200) ASSERT_TRUE(graph->step(done).ok());
  listener = std::make_unique<Listener>("unix:" + path);
  listener->accept();
  std::thread rest([&] { EXPECT_TRUE(graph->run().ok()); });
  const auto lines = listener->lines(2);
  rest.join();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(Json::parse(lines[0])["start"], 0.5);
  EXPECT_EQ(action(*graph)["done"], 3);
  EXPECT_THAT(notes_, HasSubstr("trying again"));
}

TEST_F(Actions, SendDropsWhatItCannotKeepAndSaysSo) {
  for (const std::string full : {"drop-oldest", "drop-newest"}) {
    const std::string path = (folder_.path() / full).string();
    const auto graph = build("send to=unix:" + path + " queue=1 retry=0.1 full=" + full + " linger=10");
    bool done = false;
    while (graph->executor().samples() < 24000) ASSERT_TRUE(graph->step(done).ok());
    Listener listener("unix:" + path);
    Status status;
    std::thread rest([&] { status = graph->run(); });
    listener.accept();
    const auto lines = listener.lines(1);
    rest.join();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(Json::parse(lines[0])["start"], full == "drop-oldest" ? 1.0 : 0.1);
    EXPECT_THAT(status.text(), HasSubstr("of 3 records, 0 failed and 2 were dropped"));
  }
}

TEST_F(Actions, SendGivesUpAtTheEnd) {
  const auto start = std::chrono::steady_clock::now();
  const auto graph = build("send to=unix:" + (folder_.path() / "nobody").string() + " linger=0.3");
  EXPECT_THAT(graph->run().text(), HasSubstr("of 3 records, 0 failed and 3 were dropped"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace runnel::pipeline::test
