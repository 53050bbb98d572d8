// Workers are killed, stopped and started, and the server, too, while streams are sent.
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
  }
  EXPECT_GT(found, kStreams);
  for (const auto& one : workers) EXPECT_EQ(one->end(SIGTERM), 0);
}

TEST(Work, WrongCalls) {
  refusal({"work", model(), "--nats", "nats://user:secret@127.0.0.1:4222"}, "expected them in files");
  refusal({"work", model(), "--nats", "nats://127.0.0.1:1"}, "127.0.0.1:1");
  refusal({"work", model(), "--user", "me", "--password-file", "/nonexistent"}, "/nonexistent");
}

}  // namespace
}  // namespace runnel::apps::test
