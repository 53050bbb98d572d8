// A virtual sound card for tests, in user space: alsa-lib loads this module and the program captures from it
// as from any card.
//
//     pcm_type.clocked { lib "PATH/runnel_clocked_card.so" }
//     pcm.mic { type clocked infile "PATH/in.raw" rate 16000 channels 1 }
//
// It captures the samples of a file of raw 16-bit integers (zeros after its end) and never waits: sample n
// is captured at n / rate after the first start, whether anyone listens or not, so what was not read in time
// is lost as on a real card. speed_percent=1000 runs ten times as fast on the machine's clock;
// speed_percent=0 runs on the clock of the program (virtual_clock.h), which then moves on by one period
// whenever the program waits for samples. Troubles come when sample N is about to be read:
//     stall_at N, stall M        the program is held up for the time of M samples
//     suspend_at N, suspend M    the card is suspended for as long
//     unplug_at N, unplug M      the card is gone and can be opened again after M samples; M 0: never
//
// With outfile "PATH/out.raw" it plays as well: what is written to it stands in that file, and whoever writes
// too late, stalled or by itself, meets an underrun.
#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>
#include <dlfcn.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "tests/pipeline/clocked/virtual_clock.h"

namespace {

using runnel::pipeline::test::VirtualClock;

VirtualClock* clock_of_program() {
  return static_cast<VirtualClock*>(dlsym(RTLD_DEFAULT, "runnel_virtual_clock"));
}

struct Card {
  snd_pcm_ioplug_t io{};
  VirtualClock own, *clock = nullptr;
  long rate = 16000, channels = 1, speed_percent = 100;
  long stall_at = -1, stall = 0, suspend_at = -1, suspend = 0, unplug_at = -1, unplug = 0;
  std::vector<char> samples;
  std::FILE* played = nullptr;  // what was written to a card that plays
  std::int64_t written = 0;     // samples of it
  std::int64_t base = 0;        // sample that was the first one since the latest start
  int ready = -1;               // readable when it is time to look

  [[nodiscard]] bool is_virtual() const { return speed_percent == 0; }
  [[nodiscard]] std::int64_t now() const {
    if (is_virtual()) return clock->nanoseconds;
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
  }
  [[nodiscard]] double real_rate() const {
    return static_cast<double>(rate) * (is_virtual() ? 1.0 : static_cast<double>(speed_percent) / 100);
  }
  [[nodiscard]] std::int64_t captured() const {
    return static_cast<std::int64_t>(static_cast<double>(now() - clock->card_started) * real_rate() / 1e9);
  }
  [[nodiscard]] bool plays() const { return io.stream == SND_PCM_STREAM_PLAYBACK; }
  void pass(long samples_of_time) const { clock->nanoseconds += samples_of_time * (1000000000LL / rate); }
};

Card& card_of(snd_pcm_ioplug_t* io) { return *static_cast<Card*>(io->private_data); }

int start(snd_pcm_ioplug_t* io) {
  Card& card = card_of(io);
  if (card.clock->card_started < 0) card.clock->card_started = card.now();
  card.base = card.captured();
  if (card.is_virtual()) return 0;
  const auto period =
      static_cast<std::int64_t>(static_cast<double>(io->period_size) / card.real_rate() * 1e9);
  itimerspec timer{};
  timer.it_interval =
      timer.it_value = {static_cast<time_t>(period / 1000000000), static_cast<long>(period % 1000000000)};
  return timerfd_settime(card.ready, 0, &timer, nullptr);
}

int stop(snd_pcm_ioplug_t*) { return 0; }

// Where the card is in its buffer; a failure makes alsa-lib see an overrun, or an underrun.
snd_pcm_sframes_t pointer(snd_pcm_ioplug_t* io) {
  const Card& card = card_of(io);
  if (io->state == SND_PCM_STATE_PREPARED)
    return 0;  // what is written first is in the buffer before it plays
  const std::int64_t since_start = card.captured() - card.base;
  const std::int64_t late = since_start - static_cast<std::int64_t>(io->appl_ptr);
  if (late > (card.plays() ? 0 : static_cast<std::int64_t>(io->buffer_size))) return -EPIPE;
  return static_cast<snd_pcm_sframes_t>(since_start % static_cast<std::int64_t>(io->buffer_size));
}

snd_pcm_sframes_t take(Card& card, const char* from, snd_pcm_uframes_t count) {
  if (std::fwrite(from, 2 * static_cast<std::size_t>(card.channels), count, card.played) != count)
    return -EIO;
  card.written += static_cast<std::int64_t>(count);
  if (card.stall_at >= 0 && card.written >= card.stall_at && !card.clock->stalled.exchange(true))
    card.pass(card.stall);
  return static_cast<snd_pcm_sframes_t>(count);
}

snd_pcm_sframes_t transfer(snd_pcm_ioplug_t* io, const snd_pcm_channel_area_t* areas,
                           snd_pcm_uframes_t offset, snd_pcm_uframes_t count) {
  Card& card = card_of(io);
  char* to = static_cast<char*>(areas[0].addr) + (areas[0].first + areas[0].step * offset) / 8;
  if (card.plays()) return take(card, to, count);
  const std::int64_t frame = card.base + static_cast<std::int64_t>(io->appl_ptr);
  if (card.unplug_at >= 0 && frame >= card.unplug_at && !card.clock->unplugged.exchange(true)) {
    card.clock->card_returns =
        card.unplug > 0 ? card.clock->nanoseconds + card.unplug * (1000000000LL / card.rate) : -1;
    snd_pcm_ioplug_set_state(io, SND_PCM_STATE_DISCONNECTED);
    return -ENODEV;
  }
  if (card.suspend_at >= 0 && frame >= card.suspend_at && !card.clock->suspended.exchange(true)) {
    card.pass(card.suspend);
    snd_pcm_ioplug_set_state(io, SND_PCM_STATE_SUSPENDED);
    return -ESTRPIPE;
  }
  const std::size_t bytes = 2 * static_cast<std::size_t>(card.channels);
  const std::size_t at = std::min(static_cast<std::size_t>(frame) * bytes, card.samples.size()),
                    wanted = count * bytes;
  const std::size_t there = std::min(wanted, card.samples.size() - at);
  std::memcpy(to, card.samples.data() + at, there);
  std::memset(to + there, 0, wanted - there);
  if (card.stall_at >= 0 && frame >= card.stall_at && !card.clock->stalled.exchange(true))
    card.pass(card.stall);
  return static_cast<snd_pcm_sframes_t>(count);
}

int poll_revents(snd_pcm_ioplug_t* io, pollfd* descriptors, unsigned, unsigned short* revents) {
  const Card& card = card_of(io);
  *revents = 0;
  if ((descriptors[0].revents & POLLIN) == 0) return 0;
  *revents = card.plays() ? POLLOUT : POLLIN;
  if (card.is_virtual()) {
    card.pass(static_cast<long>(io->period_size));
    return 0;
  }
  std::uint64_t ticks = 0;
  return read(card.ready, &ticks, sizeof ticks) < 0 && errno != EAGAIN ? -errno : 0;
}

int prepare(snd_pcm_ioplug_t*) { return 0; }

int close_card(snd_pcm_ioplug_t* io) {
  Card* card = &card_of(io);
  close(card->ready);
  if (card->played != nullptr) std::fclose(card->played);
  delete card;
  return 0;
}

constexpr snd_pcm_ioplug_callback_t make_callbacks() {
  snd_pcm_ioplug_callback_t all{};
  all.start = start;
  all.stop = stop;
  all.pointer = pointer;
  all.transfer = transfer;
  all.close = close_card;
  all.prepare = prepare;
  all.poll_revents = poll_revents;
  return all;
}
const snd_pcm_ioplug_callback_t kCallbacks = make_callbacks();

int read_options(snd_config_t* conf, Card& card, std::string& infile, std::string& outfile) {
  const struct {
    const char* name;
    long* value;
  } numbers[] = {
      {"rate", &card.rate},         {"channels", &card.channels},   {"speed_percent", &card.speed_percent},
      {"stall_at", &card.stall_at}, {"stall", &card.stall},         {"suspend_at", &card.suspend_at},
      {"suspend", &card.suspend},   {"unplug_at", &card.unplug_at}, {"unplug", &card.unplug}};
  snd_config_iterator_t i = nullptr, next = nullptr;
  snd_config_for_each(i, next, conf) {
    snd_config_t* node = snd_config_iterator_entry(i);
    const char *id = nullptr, *text = nullptr;
    if (snd_config_get_id(node, &id) < 0) continue;
    const std::string_view name = id;
    if (name == "type" || name == "comment" || name == "hint") continue;
    bool known = name == "infile" && snd_config_get_string(node, &text) == 0;
    if (known) infile = text;
    if (name == "outfile" && snd_config_get_string(node, &text) == 0) {
      known = true;
      outfile = text;
    }
    for (const auto& number : numbers)
      known = known || (name == number.name && snd_config_get_integer(node, number.value) == 0);
    if (!known) return -EINVAL;
  }
  return (infile.empty() && outfile.empty()) || card.rate < 1 || card.channels < 1 || card.speed_percent < 0
             ? -EINVAL
             : 0;
}

int read_samples(const std::string& path, std::vector<char>& samples) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return -errno;
  char bytes[65536];
  for (std::size_t count = 0; (count = std::fread(bytes, 1, sizeof bytes, file)) > 0;)
    samples.insert(samples.end(), bytes, bytes + count);
  std::fclose(file);
  return 0;
}

// Unplugged and not yet back.
bool is_away(Card& card) {
  if (!card.clock->unplugged) return false;
  if (card.is_virtual()) card.pass(card.rate / 10);
  return card.clock->card_returns < 0 || card.clock->nanoseconds < card.clock->card_returns;
}

int create(Card& card, const char* name, snd_pcm_stream_t stream, int mode) {
  card.ready = card.is_virtual() ? eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)
                                 : timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (card.ready < 0) return -errno;
  card.io.version = SND_PCM_IOPLUG_VERSION;
  card.io.name = "clocked virtual card";
  card.io.callback = &kCallbacks;
  card.io.private_data = &card;
  card.io.poll_fd = card.ready;
  card.io.poll_events = POLLIN;
  card.io.flags = SND_PCM_IOPLUG_FLAG_MONOTONIC;
  if (const int error = snd_pcm_ioplug_create(&card.io, name, stream, mode); error < 0) return error;
  static const unsigned access[] = {SND_PCM_ACCESS_RW_INTERLEAVED, SND_PCM_ACCESS_MMAP_INTERLEAVED};
  static const unsigned formats[] = {SND_PCM_FORMAT_S16_LE};
  const auto rate = static_cast<unsigned>(card.rate), channels = static_cast<unsigned>(card.channels);
  snd_pcm_ioplug_set_param_list(&card.io, SND_PCM_IOPLUG_HW_ACCESS, 2, access);
  snd_pcm_ioplug_set_param_list(&card.io, SND_PCM_IOPLUG_HW_FORMAT, 1, formats);
  snd_pcm_ioplug_set_param_minmax(&card.io, SND_PCM_IOPLUG_HW_CHANNELS, channels, channels);
  snd_pcm_ioplug_set_param_minmax(&card.io, SND_PCM_IOPLUG_HW_RATE, rate, rate);
  snd_pcm_ioplug_set_param_minmax(&card.io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 64, 65536);
  snd_pcm_ioplug_set_param_minmax(&card.io, SND_PCM_IOPLUG_HW_BUFFER_BYTES, 128, 1048576);
  snd_pcm_ioplug_set_param_minmax(&card.io, SND_PCM_IOPLUG_HW_PERIODS, 2, 256);
  return 0;
}

}  // namespace

extern "C" {

int _snd_pcm_clocked_open(snd_pcm_t** pcm, const char* name, snd_config_t*, snd_config_t* conf,
                          snd_pcm_stream_t stream, int mode) {
  auto* card = new Card;
  card->clock = clock_of_program();
  if (card->clock == nullptr) card->clock = &card->own;
  std::string infile, outfile;
  const bool plays = stream == SND_PCM_STREAM_PLAYBACK;
  int error = read_options(conf, *card, infile, outfile);
  if (error == 0 && (plays ? outfile : infile).empty()) error = -EINVAL;
  if (error == 0 && is_away(*card)) error = -ENODEV;
  if (error == 0 && plays) {
    card->played = std::fopen(outfile.c_str(), "wb");
    if (card->played == nullptr) error = -errno;
  } else if (error == 0) {
    error = read_samples(infile, card->samples);
  }
  if (error == 0) error = create(*card, name, stream, mode);
  if (error != 0) {
    if (card->ready >= 0) close(card->ready);
    if (card->played != nullptr) std::fclose(card->played);
    delete card;
    return error;
  }
  *pcm = card->io.pcm;
  return 0;
}

// The version that alsa-lib looks for next to the function.
SND_PCM_PLUGIN_SYMBOL(clocked);

}  // extern "C"
