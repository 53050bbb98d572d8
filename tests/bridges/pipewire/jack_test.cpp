// A program for JACK in PipeWire's graph, by PipeWire's own library of JACK: it sees runnel's ports, links
// itself to them, and is heard bit for bit.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/bridges/pipewire/own_pipewire.h"
#include "tests/bridges/sound.h"
#include "tests/support/data.h"
#include "tests/support/wav.h"

namespace runnel::bridges::test {
namespace {

namespace fs = std::filesystem;

// The part of JACK's interface that is needed, as jack/jack.h has it.
struct Jack {
  explicit Jack(void* library) {
    const auto find = [library](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      EXPECT_NE(function, nullptr) << name;
    };
    find("jack_client_open", client_open);
    find("jack_client_close", client_close);
    find("jack_port_register", port_register);
    find("jack_port_get_buffer", port_get_buffer);
    find("jack_set_process_callback", set_process_callback);
    find("jack_activate", activate);
    find("jack_connect", connect);
    find("jack_get_ports", get_ports);
    find("jack_get_sample_rate", get_sample_rate);
    find("jack_free", free);
  }
  static constexpr int kNoStartServer = 1;
  static constexpr unsigned long kIsInput = 1, kIsOutput = 2;
  static constexpr const char* kAudio = "32 bit float mono audio";

  void* (*client_open)(const char*, int, int*, ...) = nullptr;
  int (*client_close)(void*) = nullptr;
  void* (*port_register)(void*, const char*, const char*, unsigned long, unsigned long) = nullptr;
  void* (*port_get_buffer)(void*, std::uint32_t) = nullptr;
  int (*set_process_callback)(void*, int (*)(std::uint32_t, void*), void*) = nullptr;
  int (*activate)(void*) = nullptr;
  int (*connect)(void*, const char*, const char*) = nullptr;
  const char** (*get_ports)(void*, const char*, const char*, unsigned long) = nullptr;
  std::uint32_t (*get_sample_rate)(void*) = nullptr;
  void (*free)(void*) = nullptr;
};

struct Player {
  const Jack* jack = nullptr;
  void* port = nullptr;
  std::vector<float> samples;
  std::atomic<bool> plays{false};
  std::atomic<std::size_t> played{0};

  static int process(std::uint32_t frames, void* self) {
    auto& player = *static_cast<Player*>(self);
    auto* const to = static_cast<float*>(player.jack->port_get_buffer(player.port, frames));
    const std::size_t at = player.played.load();
    const std::size_t count = player.plays ? std::min<std::size_t>(frames, player.samples.size() - at) : 0;
    std::copy_n(player.samples.begin() + static_cast<std::ptrdiff_t>(at), count, to);
    std::fill(to + count, to + frames, 0.0F);
    player.played = at + count;
    return 0;
  }
};

TEST(Jack, AProgramForItIsHeardBitForBit) {
  for (const std::string file : {RUNNEL_PIPEWIRE_DAEMON, RUNNEL_PW_LINK, RUNNEL_PIPEWIRE_JACK}) {
    if (!fs::exists(file)) GTEST_SKIP() << "SKIPPED: no " << file << " (scripts/install.sh pipewire)";
  }
  OwnPipeWire own;
  ASSERT_TRUE(own.started()) << text_in(own.folder() / "daemon.err");
  void* const library = dlopen(RUNNEL_PIPEWIRE_JACK, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const Jack jack(library);
  ASSERT_FALSE(HasFailure());
  const std::vector<std::int16_t> samples = tones(2);
  // A machine that is busy for half a second breaks what is played: then once more.
  bool whole = false;
  for (int attempt = 0; attempt < 5 && !whole; ++attempt) {
    const runnel::test::TemporaryFolder folder;
    const fs::path wav = folder.path() / "heard.wav";
    Beside ears(
        {runnel::test::program(), "run", "pipewire target=none label=ears ! wav path=" + wav.string()},
        folder.path() / "ears.out", folder.path() / "ears.err");
    int status = 0;
    void* const client = jack.client_open("player", Jack::kNoStartServer, &status);
    ASSERT_NE(client, nullptr) << status;
    EXPECT_EQ(jack.get_sample_rate(client), 16000U);
    Player player;
    player.jack = &jack;
    player.port = jack.port_register(client, "out", Jack::kAudio, Jack::kIsOutput, 0);
    ASSERT_NE(player.port, nullptr);
    for (const std::int16_t sample : samples) player.samples.push_back(static_cast<float>(sample) / 32768);
    // Silence follows, so that the cycle of the last samples is over when all was played.
    player.samples.resize(samples.size() + 2 * 8192);
    jack.set_process_callback(client, Player::process, &player);
    ASSERT_EQ(jack.activate(client), 0);
    // As any patch bay for JACK does it.
    std::string found;
    EXPECT_TRUE(soon([&] {
      if (const char** ports = jack.get_ports(client, "ears", Jack::kAudio, Jack::kIsInput);
          ports != nullptr) {
        if (ports[0] != nullptr) found = ports[0];
        jack.free(static_cast<void*>(ports));
      }
      return !found.empty();
    })) << text_in(folder.path() / "ears.err");
    EXPECT_EQ(found, "runnel/ears:input_MONO") << "the name of the program, and of its stream";
    EXPECT_EQ(jack.connect(client, "player:out", found.c_str()), 0);
    player.plays = true;
    EXPECT_TRUE(soon([&] { return player.played == player.samples.size(); }));
    jack.client_close(client);
    ears.signal(SIGINT);
    ASSERT_EQ(ears.wait(), 0) << text_in(folder.path() / "ears.err");
    const std::vector<std::int16_t> heard = runnel::test::read_wav(wav).samples;
    whole = std::search(heard.begin(), heard.end(), samples.begin(), samples.end()) != heard.end();
  }
  EXPECT_TRUE(whole) << "in none of five attempts all samples arrived";
}

}  // namespace
}  // namespace runnel::bridges::test
