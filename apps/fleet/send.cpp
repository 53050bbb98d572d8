// runnel send: samples of a microphone, recordings, a pipe or a sensor into the streams of a fleet.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "apps/fleet/nats_flags.h"
#include "apps/graphs.h"
#include "apps/verbs.h"
#include "base/crc32c.h"
#include "base/host/joined_thread.h"
#include "pipeline/host/promise.h"
#include "services/batch/recordings/recording_list.h"
#include "services/fleet/nats/jetstream.h"
#include "services/fleet/send/chunk_sink.h"
#include "services/fleet/send/sender.h"
#include "services/fleet/send/spool.h"
#include "services/listen/listen_graph.h"

namespace runnel::apps {
// One name for all of this file: the files of a folder are compiled as one.
namespace sending {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

struct SendCall {
  fleet::Wire::Settings nats;
  listen::ListenOptions listen;
  std::string stream, source, samples = "s16", pace = "fast", spool, streams = "audio.>",
                              input = "RUNNEL_INPUT";
  std::vector<std::string> wavs;
  double chunk = 100, keep = 1, drain = 10, patience = -1;
  std::int64_t spool_size = 64;
  std::uint64_t run = 0;
  int replicas = 1, jobs = 8;
};

// One stream: what it comes from, and how far it is.
struct Source {
  std::string subject, text;  // of the graph
  fs::path recording;         // empty: none
  std::unique_ptr<fleet::Lane> lane;
  fleet::Spool* spool = nullptr;  // of the lane
  std::uint64_t run = 0;
  std::int64_t from = 0;
  bool whole = false;  // everything was taken before
  Status status;
};

fleet::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::uint64_t fresh_run() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

Status check_subject(std::string_view subject, std::string_view filter) {
  const bool letters = std::all_of(subject.begin(), subject.end(), [](unsigned char letter) {
    return letter > ' ' && letter != '*' && letter != '>' && letter != 127;
  });
  if (subject.empty() || !letters || subject.front() == '.' || subject.back() == '.' ||
      subject.find("..") != std::string_view::npos)
    return Status(Code::invalid_argument)
           << "--stream " << subject << ": expected words with dots between them, such as audio.hall.1";
  const std::string_view start = filter.ends_with(">") ? filter.substr(0, filter.size() - 1) : filter;
  if (filter == subject ||
      (filter.ends_with(">") && subject.size() > start.size() && subject.starts_with(start)))
    return {};
  return Status(Code::invalid_argument)
         << "--stream " << subject << ": the log keeps " << filter << " (--streams)";
}

// A word of a subject.
std::string word_of(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char letter) {
        return letter <= ' ' || letter == '.' || letter == '*' || letter == '>' || letter == 127;
      },
      '_');
  return text;
}

// A recording with this content: a file that was written anew is another one.
std::uint32_t number_of(const fs::path& path) {
  std::error_code none;
  const std::string text = fs::weakly_canonical(path, none).string() + '\n' +
                           std::to_string(fs::file_size(path, none)) + '\n' +
                           std::to_string(fs::last_write_time(path, none).time_since_epoch().count());
  return std::max(crc32c(std::as_bytes(std::span(text))), 1U);
}

Result<std::vector<Source>> sources_of(const SendCall& call) {
  std::vector<Source> out;
  const auto add = [&](std::string subject, std::string text, fs::path recording) {
    out.emplace_back();
    out.back().subject = std::move(subject);
    out.back().text = std::move(text);
    out.back().recording = std::move(recording);
  };
  if (call.wavs.empty()) {
    add(call.stream, call.source.empty() ? listen::source_text(call.listen) : call.source, {});
  } else if (call.wavs.size() == 1 && fs::is_regular_file(call.wavs[0]) &&
             batch::is_sound_name(call.wavs[0])) {
    add(call.stream, "wav path=" + quote_value(call.wavs[0]), call.wavs[0]);
  } else {
    RUNNEL_ASSIGN(const batch::Recordings all, batch::list_recordings(call.wavs));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const fs::path path = all[i].path;
      add(call.stream + '.' + word_of(path.stem().string()), "wav path=" + quote_value(path.string()), path);
    }
    std::vector<std::string> names;
    for (const Source& one : out) names.push_back(one.subject);
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      return Status(Code::invalid_argument)
             << "two recordings for the stream " << *twice << ": expected a name of its own for each";
    if (!call.spool.empty() && out.size() > 1)
      return Status(Code::invalid_argument) << "--spool is for one stream, found " << out.size()
                                            << " recordings, which need none: send them again with --run";
  }
  for (const Source& one : out) RUNNEL_TRY(check_subject(one.subject, call.streams));
  return out;
}

Result<std::unique_ptr<fleet::JetStream>> connect(const SendCall& call) {
  RUNNEL_ASSIGN(auto wire, fleet::make_wire());
  auto out = std::make_unique<fleet::JetStream>(std::move(wire));
  RUNNEL_TRY(out->open(call.nats));
  if (call.replicas > 0) RUNNEL_TRY(out->use({call.streams, call.input, call.replicas, call.keep, false}));
  return out;
}

// A connection that asks the server for nothing but what a device may ask: nothing is made.
void register_log(const SendCall& call, fleet::JetStream& exchange) {
  if (call.replicas == 0) exchange.know(call.streams, call.input);
}

// The end of a stream's log. Waits for it.
Result<std::optional<fleet::StreamEnd>> ask_end(fleet::JetStream& exchange, const std::string& subject) {
  const fleet::Time end = now() + std::chrono::seconds(10);
  std::string why = "no answer";
  while (now() < end && !stop_requested) {
    const std::uint64_t request = exchange.last(subject);
    fleet::Happening what;
    while (now() < end && exchange.next(what, 3000)) {
      const auto* const answer = std::get_if<fleet::Answer>(&what);
      if (answer == nullptr || answer->request != request) continue;
      if (answer->outcome == fleet::Answer::Outcome::done)
        return answer->message ? fleet::end_of(*answer->message) : std::nullopt;
      why = answer->why;
      break;
    }
  }
  return Status(Code::io_error) << subject << ": what the server has of it is not known: " << why;
}

// The lane of a source, and from where it goes on.
Status make_lane(const SendCall& call, Source& it, fleet::JetStream* exchange) {
  if (call.spool.empty()) {
    it.run = call.run != 0 ? call.run : fresh_run();
    if (call.run != 0) {
      if (exchange == nullptr)
        return Status(Code::io_error, "--run needs the server, to go on from what it has");
      RUNNEL_ASSIGN(const auto end, ask_end(*exchange, it.subject));
      if (end && end->run > it.run)
        return Status(Code::mismatch) << it.subject << ": the server has run " << end->run
                                      << " already, expected --run " << end->run << " or higher";
      if (end && end->run == it.run) {
        it.from = end->next;
        it.whole = end->ended;
      }
    }
    it.lane = std::make_unique<fleet::Lane>(it.subject,
                                            std::make_unique<fleet::MemoryBacklog>(std::size_t{8} << 20),
                                            it.from > 0 ? it.run : 0, it.from);
    return {};
  }
  RUNNEL_ASSIGN(auto spool, fleet::Spool::open(call.spool, it.subject,
                                               static_cast<std::uint64_t>(call.spool_size) << 20));
  if (!spool->damage().empty()) say(spool->damage());
  if (spool->samples() > 0)
    say(call.spool + ": " + std::to_string(spool->samples()) + " samples of run " +
        std::to_string(spool->run()) + " wait to be stored");
  const std::uint32_t source = it.recording.empty() ? 0 : number_of(it.recording);
  if (source != 0 && spool->run() != 0 && spool->source() == source &&
      (call.run == 0 || call.run == spool->run())) {
    it.run = spool->run();
    it.from = spool->next();
    it.whole = spool->ended();
  } else {
    if (spool->run() != 0 && !spool->ended()) {
      // Its process was killed; what the graph still holds comes out.
      fleet::Piece end;
      end.chunk.format = spool->format();
      end.chunk.run = spool->run();
      end.chunk.first = spool->next();
      end.chunk.end = true;
      RUNNEL_TRY(spool->put(end).status());
    }
    it.run = call.run != 0 ? call.run : std::max(fresh_run(), spool->run() + 1);
    if (it.run <= spool->run())
      return Status(Code::invalid_argument) << "--run " << it.run << ": " << call.spool << " has run "
                                            << spool->run() << ", expected a higher one";
    spool->source(source);
  }
  it.spool = spool.get();
  const std::uint64_t run = spool->run();
  const std::int64_t next = spool->next();
  it.lane = std::make_unique<fleet::Lane>(it.subject, std::move(spool), run, next);
  return {};
}

Status interrupted(const Source& it) {
  return Status(Code::io_error) << (it.recording.empty() ? it.text : it.recording.string())
                                << ": interrupted before its end";
}

// Runs the graph of a source until it ends.
Status produce(const SendCall& call, Source& it) {
  pipeline::GraphOptions options;
  const auto nodes = pipeline::with_nodes(pipeline::host_nodes(), {&fleet::ChunkSink::type});
  options.nodes = nodes;
  options.stop = &stop_requested;
  options.note = say;
  RUNNEL_ASSIGN(const auto graph, pipeline::Graph::build(it.text + " ! chunks", options));
  fleet::ChunkSink::Settings settings;
  settings.lane = it.lane.get();
  for (const pipeline::SampleCode code : pipeline::kSampleCodes)
    if (pipeline::name_of(code) == call.samples) settings.code = code;
  settings.seconds = call.chunk / 1000;
  settings.run = it.run;
  settings.from = it.from;
  settings.stop = &stop_requested;
  const bool live = dynamic_cast<const pipeline::LiveSource*>(graph->stage(0).node) != nullptr;
  // What writes to a pipe or a socket waits; a device does not.
  const bool pipe = it.text.starts_with("stdin") || it.text.starts_with("tcp");
  settings.real_pace = !live && call.pace == "real";
  settings.waits = !live || pipe;
  settings.timed = live;
  settings.ends_when_stopped = live;
  const fleet::ChunkSink* last = nullptr;
  for (int i = 0; i < graph->size(); ++i) {
    auto* const sink = dynamic_cast<fleet::ChunkSink*>(graph->stage(i).node);
    if (sink == nullptr) continue;
    last = sink;
    const serve::SampleFormat& format = sink->format();
    if (settings.code != pipeline::SampleCode::float32 && (format.rate < 1000 || format.rate % 25 != 0))
      return Status(Code::invalid_argument)
             << it.text << ": " << format.rate
             << " values per second are for --samples float; others have 1000 to 768000 Hz in steps of 25";
    sink->use(settings);
  }
  RUNNEL_TRY(graph->run());
  // A device is listened to until the signal; a recording has an end.
  if (!live && stop_requested && last != nullptr && !last->complete()) return interrupted(it);
  return {};
}

class Sending {
 public:
  Sending(const SendCall& call, std::vector<Source> sources) : call_(call), sources_(std::move(sources)) {}

  Status run(std::unique_ptr<fleet::JetStream> exchange) {
    exchange_ = std::move(exchange);
    std::vector<JoinedThread> threads;
    for (Source& it : sources_) {
      sender_.add(*it.lane);
      std::printf("%s\n",
                  Json({{"type", "sending"}, {"stream", it.subject}, {"run", it.run}, {"from", it.from}})
                      .dump()
                      .c_str());
    }
    std::fflush(stdout);
    sender_.use(exchange_.get());
    const std::size_t jobs = std::min(sources_.size(), static_cast<std::size_t>(call_.jobs));
    try {
      for (std::size_t i = 0; i < jobs; ++i) threads.emplace_back([this] { produce_all(); });
    } catch (const std::system_error&) {
      if (threads.empty()) return Status(Code::io_error, "the system gives no thread");
    }
    const Status status = loop();
    if (!status.ok()) stop_requested = true;
    for (Source& it : sources_) {
      // Who waits for room waits no longer.
      if (!it.lane->done()) it.lane->fail(Status(Code::io_error) << it.subject << ": the sender has ended");
    }
    threads.clear();
    return status.ok() ? summary() : (static_cast<void>(summary()), status);
  }

 private:
  void produce_all() {
    for (;;) {
      const std::size_t at = next_++;
      if (at >= sources_.size()) return;
      Source& it = sources_[at];
      Status status;
      if (!it.whole && !stop_requested)
        status = produce(call_, it);
      else if (!it.whole && !it.recording.empty())
        status = interrupted(it);
      const std::lock_guard lock(mutex_);
      it.status = status;
      it.lane->close();
    }
  }

  // A user whom the server refuses now, or a server that was not there at the start.
  void connect_again() {
    if (exchange_ != nullptr && !exchange_->closed()) return;
    if (now() < next_try_) return;
    next_try_ = now() + std::chrono::seconds(1);
    auto made = connect(call_);
    if (!made.ok()) {
      if (std::string text(made.status().text()); text != told_) say(told_ = text);
      return;
    }
    sender_.use(nullptr);
    exchange_ = *std::move(made);
    register_log(call_, *exchange_);
    sender_.use(exchange_.get());
    told_.clear();
  }

  Status loop() {
    fleet::Time deadline{0};
    const bool forever =
        call_.patience == 0 || (call_.patience < 0 && (call_.wavs.empty() || !call_.spool.empty()));
    const auto patience = std::chrono::milliseconds(
        static_cast<std::int64_t>(1000 * (call_.patience > 0 ? call_.patience : 60)));
    const fleet::Time begin = now();
    while (!sender_.done()) {
      if (stop_requested && deadline.count() == 0)
        deadline = now() + std::chrono::milliseconds(static_cast<std::int64_t>(call_.drain * 1000));
      if (deadline.count() != 0 && now() > deadline) break;
      connect_again();
      fleet::Happening what;
      if (exchange_ == nullptr) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } else {
        for (int count = 0; count < 1000 && exchange_->next(what, count == 0 ? 10 : 0); ++count) {
          if (const auto* const answer = std::get_if<fleet::Answer>(&what); answer != nullptr)
            sender_.happened(*answer);
        }
      }
      sender_.work(now());
      for (const std::string& line : sender_.take_news()) say(line);
      if (!forever && now() - std::max(sender_.stuck_since(), begin) > patience)
        return Status(Code::io_error)
               << "nothing was stored for " << patience.count() / 1000 << " s"
               << (sender_.last_trouble().empty() ? "" : ": ") << sender_.last_trouble();
    }
    return {};
  }

  // The first failure of all.
  Status summary() {
    Status first;
    std::int64_t taken = 0, lost = 0, waiting = 0;
    for (Source& it : sources_) {
      const fleet::LaneFacts facts = it.lane->facts();
      taken += facts.taken;
      lost += facts.lost;
      waiting += facts.waiting;
      std::printf("%s\n", Json({{"type", "sent"},
                                {"stream", it.subject},
                                {"run", it.run},
                                {"samples", facts.taken},
                                {"lost_samples", facts.lost},
                                {"waiting_samples", facts.waiting}})
                              .dump()
                              .c_str());
      Status status = it.status.ok() && facts.waiting == 0 ? Status() : it.lane->status();
      if (!it.status.ok()) status = it.status;
      if (facts.waiting > 0 && it.spool != nullptr && (it.status.ok() || stop_requested))
        status = Status(Code::io_error) << facts.waiting << " samples wait in " << call_.spool
                                        << "; `runnel send` with this spool sends them";
      else if (facts.waiting > 0 && status.ok())
        status = Status(Code::io_error) << it.subject << ": " << facts.waiting << " samples were not stored";
      if (first.ok() && !status.ok()) first = status;
      if (it.spool != nullptr && status.ok() && facts.pieces == 0 && it.lane->status().ok())
        it.spool->remove();
    }
    const fleet::SenderFacts& facts = sender_.facts();
    std::printf("%s\n", Json({{"type", "summary"},
                              {"streams", sources_.size()},
                              {"samples", taken},
                              {"lost_samples", lost},
                              {"waiting_samples", waiting},
                              {"messages", facts.messages},
                              {"bytes", facts.bytes},
                              {"failures", facts.failures}})
                            .dump()
                            .c_str());
    return first;
  }

  const SendCall& call_;
  std::vector<Source> sources_;
  std::unique_ptr<fleet::JetStream> exchange_;
  fleet::Sender sender_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  fleet::Time next_try_{0};
  std::string told_;
};

Status run_send(SendCall& call) {
  call.nats.name = "runnel send " + call.stream;
  RUNNEL_TRY(fleet::complete_settings(call.nats));
  if (const std::string warning = fleet::open_secret(call.nats); !warning.empty()) say(warning);
  RUNNEL_ASSIGN(std::vector<Source> sources, sources_of(call));
  catch_signals();
  auto exchange = connect(call);
  std::unique_ptr<fleet::JetStream> connected;
  if (exchange.ok()) {
    connected = *std::move(exchange);
    register_log(call, *connected);
  } else if (call.spool.empty() || exchange.status().code() != Code::io_error) {
    return exchange.status();
  } else {
    say(std::string(exchange.status().text()) + "; samples wait in " + call.spool);
  }
  for (Source& it : sources) RUNNEL_TRY(make_lane(call, it, connected.get()));
  return Sending(call, std::move(sources)).run(std::move(connected));
}

void add_sources(Verb verb, SendCall& call) {
  const Option wav =
      verb.option("--wav", call.wavs,
                  "Recording, or a folder, pattern or list of recordings, each a stream of its own "
                  "below --stream")
          .take_all();
  const Option device =
      verb.option("--device", call.listen.device, "Capture device (default: the default one)").excludes(wav);
  const Option pipe = verb.flag("--stdin", call.listen.from_stdin, "Bare samples from the standard input")
                          .excludes(wav)
                          .excludes(device);
  verb.option("--source", call.source,
              "Any source of a graph, as text: \"sensor path=/dev/ttyACM0 rate=100\", \"csv path=a.csv "
              "rate=100\"")
      .excludes(wav)
      .excludes(device)
      .excludes(pipe);
  verb.option("--rate", call.listen.rate, "Hz, of the device or of bare samples")
      .range(std::int64_t{1000}, std::int64_t{768000});
  verb.option("--channels", call.listen.channels, "Channels of the device or of bare samples")
      .range(std::int64_t{1}, std::int64_t{8});
  verb.option("--format", call.listen.stdin_format, "Bare samples: s16, s32, s24, s24_3, float")
      .choices({"s16", "s32", "s24", "s24_3", "float"});
  verb.option("--duration", call.listen.duration, "Seconds to listen to a device (0: no limit)")
      .range(0.0, 1e9);
  verb.option("--pace", call.pace, "Of recordings: real, as they would be heard, or fast")
      .choices({"real", "fast"});
  verb.option("--jobs", call.jobs, "Recordings that are sent at a time").range(1, 256);
}

}  // namespace
}  // namespace sending

void add_send(Verb verb, int& exit_code) {
  auto call = std::make_shared<sending::SendCall>();
  verb.positional("NATS", call->nats.urls,
                  "Addresses of the servers, with commas: nats://HOST:PORT, tls://HOST:PORT")
      .required();
  verb.option("--stream", call->stream, "Subject of the stream, such as audio.hall.1").required();
  sending::add_sources(verb, *call);
  verb.option("--samples", call->samples, "How samples are sent; float for sensors")
      .choices({"s16", "s32", "s24", "s24_3", "float"});
  verb.option("--chunk", call->chunk, "Milliseconds of a chunk; when answers are slow, several travel as one")
      .range(1.0, 10000.0);
  const Option spool = verb.option("--spool", call->spool,
                                   "File that keeps what is not stored yet, over restarts of this program "
                                   "too; without it 8 MiB of memory do");
  verb.option("--spool-size", call->spool_size, "MiB of that file")
      .range(std::int64_t{1}, std::int64_t{1} << 20)
      .needs(spool);
  verb.option("--run", call->run,
              "Number of the run (default: the time); with one that the server has, the run goes on where "
              "its log ends");
  verb.option("--drain", call->drain, "Seconds after SIGTERM for the servers to store what waits")
      .range(0.1, 3600.0);
  verb.option("--patience", call->patience,
              "Seconds without anything stored, after which it gives up (0: never; default: 60 for "
              "recordings without a spool)")
      .default_str("")
      .range(0.0, 1e9);
  verb.option("--streams", call->streams,
              "Subjects that the log of chunks keeps, with > for any that follow");
  verb.option("--input-log", call->input, "JetStream stream that keeps the chunks; made where there is none");
  verb.option("--replicas", call->replicas,
              "Servers that keep each message, for what is made; 0: nothing is made, and nothing asked but "
              "the end of --stream")
      .range(0, 5);
  verb.option("--keep", call->keep, "Days that chunks are kept, for what is made").range(0.01, 3650.0);
  add_nats_flags(verb, call->nats);
  verb.callback([call, &exit_code] {
    if (const Status status = sending::run_send(*call); !status.ok()) exit_code = fail(status);
  });
}

}  // namespace runnel::apps
