// Workers are killed, stopped and started, and the server, too, while streams are sent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>

#include "tests/apps/fleet/work_support.h"

namespace runnel::apps::test {
namespace {

TEST_F(WorkTest, EveryEventOnceWhileWorkersAndTheServerDie) {
  constexpr std::size_t kStreams = 8, kPiece = kRate / 10;
  std::vector<std::vector<std::int16_t>> sounds;
  std::vector<std::string> subjects;
  for (std::size_t i = 0; i < kStreams; ++i) {
    sounds.push_back(tone_words(8, kRate));
    std::rotate(sounds[i].begin(), sounds[i].begin() + static_cast<std::ptrdiff_t>(1234 * i),
                sounds[i].end());
    subjects.push_back("audio.room." + std::to_string(i));
  }
  std::vector<std::unique_ptr<Background>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(worker());
  std::mt19937 random(1);
  const std::size_t pieces = sounds[0].size() / kPiece;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    send(subjects, sounds, piece * kPiece, kPiece);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    switch (piece) {
      case 15:
        workers[0]->end(SIGKILL);
        break;
      case 25:
        workers[0] = worker();
        workers[1]->signal(SIGSTOP);
        break;
      case 40:
        ASSERT_TRUE(server_->restart());
        break;
      case 60:
        workers[1]->signal(SIGCONT);
        break;
      default:
        break;
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!std::all_of(subjects.begin(), subjects.end(), [&](const std::string& one) { return ended(one); })) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "streams did not end";
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < kStreams; ++i) {
    const std::vector<std::string> expected = offline(subjects[i], sounds[i]);
    found += expected.size();
    EXPECT_EQ(parsed(events(subjects[i])), parsed(expected)) << subjects[i];
    if (i == 0) {
      EXPECT_EQ(json_lines(call_well({"fleet", "events", "--nats", url(), "--stream", subjects[i]}).out),
                parsed(expected));
    }
  }
  EXPECT_GT(found, kStreams);
  for (const auto& one : workers) EXPECT_EQ(one->end(SIGTERM), 0);
}

// A log as servers were seen to have it, but in the only copy there is.
TEST_F(WorkTest, EventsAreReadOnceAndWhatIsMissingIsSaid) {
  for (const int number : {1, 2, 2, 1, 5, 6})
    ASSERT_EQ(answer(exchange_->append("events.audio.odd", fleet::Exchange::kAnyway,
                                       {{"Runnel-Event", std::to_string(number)}},
                                       "{\"number\":" + std::to_string(number) + "}"))
                  .outcome,
              Answer::Outcome::done);
  std::vector<std::string> words = {"fleet", "events", "--nats", url(), "--stream", "audio.odd"};
  const Output all = call(words);
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_EQ(all.out,
            "{\"number\":1}\n{\"number\":2}\n"
            "{\"type\":\"missing\",\"source\":\"audio.odd\",\"from\":3,\"to\":4}\n"
            "{\"number\":5}\n{\"number\":6}\n");
  EXPECT_NE(all.err.find("2 events are in no copy of the log"), std::string::npos) << all.err;
  words.insert(words.end(), {"--from", "5"});
  EXPECT_EQ(call_well(words).out, "{\"number\":5}\n{\"number\":6}\n");
  EXPECT_EQ(call_well({"fleet", "events", "--nats", url(), "--stream", "audio.none"}).out, "");
}

// Runs whose samples pass the ends of 31, 32 and 45 bits, in whole seconds before them.
TEST_F(WorkTest, RunsNearTheEndOfCountersDifferInNumbersAlone) {
  const std::vector<std::int16_t> sound = tone_words(4, kRate);
  const std::vector<std::string> expected = offline("", sound);
  ASSERT_FALSE(expected.empty());
  const auto one = worker();
  std::map<std::string, std::int64_t> begins;
  for (const int bits : {31, 32, 45}) {
    const std::string subject = "audio.late." + std::to_string(bits);
    const std::int64_t second = (std::int64_t{1} << bits) / kRate - 1;
    begins[subject] = second;
    for (std::size_t at = 0; at < sound.size(); at += kRate / 2) {
      const std::size_t count = std::min<std::size_t>(kRate / 2, sound.size() - at);
      fleet::Chunk chunk;
      chunk.first = second * kRate + static_cast<std::int64_t>(at);
      chunk.run = ~std::uint64_t{0};
      chunk.time = std::numeric_limits<std::int64_t>::max();
      chunk.end = at + count == sound.size();
      fleet::Headers headers = fleet::headers_of(chunk);
      headers.emplace_back("Nats-Msg-Id", fleet::id_of(subject, chunk));
      const std::string_view bytes(reinterpret_cast<const char*>(sound.data() + at), 2 * count);
      const Answer stored = answer(exchange_->append(subject, fleet::Exchange::kAnyway, headers, bytes));
      ASSERT_EQ(stored.outcome, Answer::Outcome::done) << stored.why;
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (const auto& [subject, second] : begins) {
    while (!ended(subject)) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << subject << " did not end";
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::vector<Json> found = parsed(events(subject));
    for (Json& event : found) {
      event["source"] = "";
      event["frame"] = event["frame"].get<std::int64_t>() - second * 100;
      for (const char* const time : {"start", "end"})
        event[time] = std::round(1000 * (event[time].get<double>() - static_cast<double>(second))) / 1000;
    }
    std::vector<Json> wanted = parsed(expected);
    for (Json& event : wanted)
      for (const char* const time : {"start", "end"})
        event[time] = std::round(1000 * event[time].get<double>()) / 1000;
    EXPECT_EQ(found, wanted) << subject;
  }
  EXPECT_EQ(one->end(SIGTERM), 0);
}

// What a page answers to a GET; "" if nothing.
std::string get(const std::string& url) {
  const std::size_t host = url.find("//") + 2, colon = url.find(':', host), path = url.find('/', colon);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1, path - colon - 1))));
  inet_pton(AF_INET, url.substr(host, colon - host).c_str(), &to.sin_addr);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string out;
  const std::string ask = "GET " + url.substr(path) + " HTTP/1.1\r\nHost: " + url.substr(host, path - host) +
                          "\r\nConnection: close\r\n\r\n";
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      ::send(socket, ask.data(), ask.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(ask.size())) {
    char buffer[4096];
    for (ssize_t count; (count = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      out.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(socket);
  return out;
}

TEST_F(WorkTest, ThePageOfAWorkerSaysWhatRunsWhere) {
  const std::filesystem::path log = folder_.path() / "with_page";
  Background with_page({"work", model(), "--nats", url(), "--decision", kEager, "--save", "0.5", "--name",
                        "seen", "--metrics", "127.0.0.1:0"},
                       log);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::string page;
  while (page.empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "it did not say where its page is";
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ifstream file(log);
    for (std::string line; page.empty() && std::getline(file, line);) {
      const Json said = Json::parse(line, nullptr, false);
      if (said.is_object() && said.contains("metrics")) page = said["metrics"];
    }
  }
  const std::vector<std::string> subjects = {"audio.room.1", "audio.room.2"};
  const std::vector<std::vector<std::int16_t>> sounds(2, tone_words(2, kRate));
  send(subjects, sounds, 0, sounds[0].size());
  const auto says = [&](const std::string& line) { return get(page).find('\n' + line) != std::string::npos; };
  while (!says("runnel_work_chunks_total 2\n") || !says("runnel_work_snapshots_total ")) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << get(page);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const std::string text = get(page);
  EXPECT_NE(text.find("\nrunnel_work_fleet_streams_known 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nrunnel_work_fleet_streams{worker=\"seen-"), std::string::npos) << text;
  EXPECT_EQ(text.find("\nrunnel_work_lateness_seconds{quantile=\"1\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(get(page.substr(0, page.size() - 7)).find("<td>audio.room.2</td>"), std::string::npos);
  EXPECT_EQ(with_page.end(SIGTERM), 0);
}

TEST(Work, WrongCalls) {
  refusal({"work", model(), "--metrics", "nowhere"}, "nowhere");
  refusal({"work", model(), "--nats", "nats://user:secret@127.0.0.1:4222"}, "expected them in files");
  refusal({"work", model(), "--nats", "nats://127.0.0.1:1"}, "127.0.0.1:1");
  refusal({"work", model(), "--user", "me", "--password-file", "/nonexistent"}, "/nonexistent");
}

}  // namespace
}  // namespace runnel::apps::test
