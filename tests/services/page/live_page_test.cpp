// The page over HTTP, with readers in the same program.
#include "services/page/live_page.h"

#include <gtest/gtest.h>
#include <httplib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "services/page/watches.h"
#include "tests/pipeline/support.h"

namespace runnel::page {
namespace {

using Json = nlohmann::json;

// Recordings made on the spot, in a folder of the test's own.
class LivePages : public testing::Test {
 protected:
  LivePages() { std::filesystem::create_directories(folder_ / "kept"); }
  ~LivePages() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const char* name) const {
    return pipeline::quote_value((folder_ / name).string());
  }
  void write(const char* name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::string recording() const {
    pipeline::test::write_recording(folder_ / "sound.wav", pipeline::test::make_samples(32000));
    return path("sound.wav");
  }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  ("runnel_page_" + std::to_string(getpid()) + "_" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

net::Address any() { return *net::Address::parse("127.0.0.1:0"); }
int port_of(const LivePage& page) {
  const std::string url = page.url();
  return std::stoi(url.substr(url.rfind(':') + 1));
}

// All messages until the end, or until `enough` says so.
std::vector<Json> messages(
    int port, const std::function<bool(const Json&)>& enough = [](const Json&) { return false; },
    const httplib::Headers& headers = {}) {
  std::vector<Json> all;
  std::string pending;
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(30);
  client.Get("/messages", headers, [&](const char* data, std::size_t size) {
    pending.append(data, size);
    for (std::size_t end = pending.find("\n\n"); end != std::string::npos; end = pending.find("\n\n")) {
      const std::string block = pending.substr(0, end);
      pending.erase(0, end + 2);
      if (!block.starts_with("data: ")) continue;
      all.push_back(Json::parse(block.substr(6)));
      if (all.back()["type"] == "end" || enough(all.back())) return false;
    }
    return true;
  });
  return all;
}

std::map<std::string, int> count_types(const std::vector<Json>& all) {
  std::map<std::string, int> counts;
  for (const Json& message : all) ++counts[message["type"].get<std::string>()];
  return counts;
}

struct Running {
  std::unique_ptr<LivePage> page;
  std::unique_ptr<pipeline::Graph> graph;
};
Running make(const std::string& text, double speed, std::string token = {}) {
  Running made;
  auto page = LivePage::start({.address = any(), .tokens = std::move(token)});
  EXPECT_TRUE(page.ok()) << page.status().text();
  made.page = std::move(page).value();
  pipeline::GraphOptions options;
  options.nodes = pipeline::test::test_nodes();
  options.speed = speed;
  options.time_nodes = true;
  options.amend = [nodes = options.nodes](pipeline::GraphText& graph) { add_watches(graph, nodes); };
  auto graph = pipeline::Graph::build(text, options);
  EXPECT_TRUE(graph.ok()) << graph.status().text();
  made.graph = std::move(graph).value();
  made.page->show(*made.graph);
  return made;
}

TEST_F(LivePages, ShowSoundEventsRecordingsAndCosts) {
  pipeline::test::Events::at = {8000, 16000};
  pipeline::test::Events::label = "word";
  Running running =
      make("wav path=" + recording() + " name=in ! history seconds=2 ! events name=found ! jsonl path=" +
               path("events.jsonl") + "\nfound. ! record before=0.2 after=0.2 folder=" + path("kept"),
           2);
  const int port = port_of(*running.page);
  std::vector<Json> all;
  std::atomic<bool> hears{false};
  std::thread reader([&] {
    all = messages(port, [&](const Json&) {
      hears = true;
      return false;
    });
  });
  while (!hears) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the description comes first
  EXPECT_TRUE(running.graph->run().ok());
  httplib::Client client("127.0.0.1", port);
  const auto sound = client.Get("/recordings/0");
  ASSERT_TRUE(sound);
  EXPECT_EQ(sound->status, 200);
  EXPECT_EQ(sound->get_header_value("Content-Type"), "audio/wav");
  EXPECT_TRUE(sound->body.starts_with("RIFF"));
  for (const char* path :
       {"/recordings/2", "/recordings/999999999", "/recordings/..%2f..%2fetc%2fpasswd", "/nothing"}) {
    const auto missing = client.Get(path);
    ASSERT_TRUE(missing) << path;
    EXPECT_EQ(missing->status, 404) << path;
  }
  // Who comes late hears what there was.
  const auto late = messages(port, [](const Json& message) { return message["type"] == "recording"; });
  EXPECT_EQ(count_types(late)["graph"], 1);
  EXPECT_GE(count_types(late)["event"], 1);
  running.page.reset();
  reader.join();
  auto counts = count_types(all);
  EXPECT_EQ(counts["graph"], 1);
  EXPECT_NEAR(counts["spectrum"], 49, 3);
  EXPECT_EQ(counts["event"], 2);
  EXPECT_EQ(counts["recording"], 2);
  EXPECT_GE(counts["stats"], 1);
  EXPECT_EQ(counts["end"], 1);
  for (const Json& message : all) {
    if (message["type"] == "spectrum") {
      EXPECT_EQ(message["bands"].get<std::string>().size(), 128u);
    }
    if (message["type"] == "graph") {
      EXPECT_EQ(message["nodes"][0]["label"], "in");
    }
    if (message["type"] == "stats") {
      double busy = 0;
      for (const Json& node : message["busy_ms"]) busy += node.get<double>();
      EXPECT_GT(busy, 0);
    }
  }
}

TEST_F(LivePages, AreOneDocumentWithoutOutsideResources) {
  const auto page = LivePage::start({.address = any()});
  ASSERT_TRUE(page.ok()) << page.status().text();
  httplib::Client client("127.0.0.1", port_of(**page));
  const auto got = client.Get("/");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_NE(got->body.find("</html>"), std::string::npos);
  EXPECT_EQ(got->body.find("http://"), std::string::npos);
  EXPECT_EQ(got->body.find("https://"), std::string::npos);
  EXPECT_NE(got->get_header_value("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
}

// A page elsewhere that gave its name this address must not be able to read here.
TEST_F(LivePages, AnswerToTheirOwnNameOnly) {
  const auto page = LivePage::start({.address = any()});
  ASSERT_TRUE(page.ok());
  httplib::Client client("127.0.0.1", port_of(**page));
  EXPECT_EQ(client.Get("/", {{"Host", "attacker.example:80"}})->status, 403);
  EXPECT_EQ(client.Get("/", {{"Host", "localhost:" + std::to_string(port_of(**page))}})->status, 200);
}

TEST_F(LivePages, ShareTheirAddressWithNobody) {
  const auto first = LivePage::start({.address = any()});
  ASSERT_TRUE(first.ok()) << first.status().text();
  const auto second =
      LivePage::start({.address = *net::Address::parse("127.0.0.1:" + std::to_string(port_of(**first)))});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().text().find("cannot listen there"), std::string::npos) << second.status().text();
}

TEST_F(LivePages, AskForTheToken) {
  const std::string token = "0123456789abcdef";
  const auto page = LivePage::start({.address = any(), .tokens = token});
  ASSERT_TRUE(page.ok());
  httplib::Client client("127.0.0.1", port_of(**page));
  EXPECT_EQ(client.Get("/")->status, 401);
  EXPECT_EQ(client.Get("/messages")->status, 401);
  EXPECT_EQ(client.Get(("/?token=" + token).c_str())->status, 401) << "addresses are remembered and logged";
  EXPECT_EQ(client.Get("/", {{"Authorization", "Bearer " + token}})->status, 200);
  // A browser is asked by a page, whose form it sends.
  const auto page_that_asks = client.Get("/", {{"Accept", "text/html"}});
  EXPECT_EQ(page_that_asks->status, 401);
  EXPECT_NE(page_that_asks->body.find("<form method=\"post\" action=\"/login\">"), std::string::npos);
  const auto wrong = client.Post("/login", "token=0123456789abcdeX", "application/x-www-form-urlencoded");
  EXPECT_EQ(wrong->status, 401);
  EXPECT_EQ(wrong->get_header_value("Set-Cookie"), "");
  EXPECT_EQ(client
                .Post("/login", {{"Origin", "http://attacker.example"}}, "token=" + token,
                      "application/x-www-form-urlencoded")
                ->status,
            403);
  const auto first = client.Post("/login", "token=" + token, "application/x-www-form-urlencoded");
  EXPECT_EQ(first->status, 303);
  EXPECT_EQ(first->get_header_value("Location"), "/");
  const std::string cookie = first->get_header_value("Set-Cookie");
  EXPECT_NE(cookie.find("HttpOnly"), std::string::npos);
  EXPECT_EQ(client.Get("/", {{"Cookie", "a=b; " + cookie.substr(0, cookie.find(';'))}})->status, 200);
  EXPECT_EQ(client.Get("/", {{"Cookie", "runnel_token=wrong"}})->status, 401);
  EXPECT_EQ(LivePage::start({.address = *net::Address::parse("0.0.0.0:0")}).status().code(),
            Code::invalid_argument);
}

// A front end in place of a recogniser.
TEST_F(LivePages, ShowTextThatSettles) {
  std::string tokens = "<blk>\n";
  for (int i = 1; i < 80; ++i) tokens += "▁w" + std::to_string(i) + "\n";
  write("tokens.txt", tokens);
  Running running =
      make("wav path=" + recording() + " ! fbank num_mel_bins=80 ! ctc partials=50ms longest=300ms tokens=" +
               path("tokens.txt") + " ! jsonl path=" + path("text.jsonl"),
           2);
  const int port = port_of(*running.page);
  std::vector<Json> all;
  std::atomic<bool> hears{false};
  std::thread reader([&] {
    all = messages(port, [&](const Json&) {
      hears = true;
      return false;
    });
  });
  while (!hears) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(running.graph->run().ok());
  const auto late = messages(port, [](const Json& message) { return message["type"] == "final"; });
  EXPECT_EQ(count_types(late)["partial"], 0) << "only final results are kept for late readers";
  running.page.reset();
  reader.join();
  auto counts = count_types(all);
  EXPECT_GE(counts["partial"], 3);
  EXPECT_GE(counts["final"], 2);
  const auto final =
      std::find_if(all.begin(), all.end(), [](const Json& message) { return message["type"] == "final"; });
  EXPECT_FALSE((*final)["words"].empty());
}

// Fifty readers are allowed; the next one is refused, and readers never block the run.
TEST_F(LivePages, HaveRoomForFiftyReaders) {
  constexpr int kReaders = 50;
  Running running = make("wav path=" + recording() + " ! null", 1);
  const int port = port_of(*running.page);
  std::atomic<int> started{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      bool counted = false;
      messages(port, [&](const Json&) {
        if (!counted) ++started;
        counted = true;
        return false;
      });
    });
  }
  std::thread looking([&] {
    while (started < kReaders) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    httplib::Client client("127.0.0.1", port);
    EXPECT_EQ(client.Get("/messages")->status, 503);
    EXPECT_EQ(client.Get("/")->status, 200);
  });
  EXPECT_TRUE(running.graph->run().ok());
  looking.join();
  running.page.reset();
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace runnel::page
