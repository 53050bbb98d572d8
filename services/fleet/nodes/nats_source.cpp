#include "services/fleet/nodes/nats_source.h"

#include <algorithm>
#include <exception>
#include <span>

#include "pipeline/host/live/sample_code.h"

namespace runnel::fleet {
namespace {

using pipeline::parameter;
using pipeline::text_parameter;
using std::chrono::steady_clock;

constexpr auto kParameters = joined(
    std::array{
        text_parameter<&NatsSource::stream>("stream", "", "subject of the stream, such as audio.hall.1",
                                            true),
        text_parameter<&NatsSource::log>("log", "", "JetStream stream that keeps the chunks"),
        text_parameter<&NatsSource::from>(
            "from", "start|now", "start: the whole run, as far as it is kept; now: from the newest chunk on"),
        parameter<&NatsSource::wait>("wait", "s", 0, 1e6, "how long to wait for the first chunk"),
    },
    nats_parameters<pipeline::Node>());

constexpr int kWaitMilliseconds = 100;

}  // namespace

const pipeline::NodeType NatsSource::type = {
    .name = "nats",
    .help =
        "Takes a run of a stream from NATS with JetStream: doubled chunks are dropped, lost ones are a gap.",
    .input = {},
    .output = {static_cast<pipeline::Kinds>(pipeline::Kind::audio), "float32; integers in [-1, 1)"},
    .parameters = kParameters,
    .make = pipeline::make_node<NatsSource>,
};

NatsSource::~NatsSource() = default;

Status NatsSource::prepare(pipeline::NodeContext& context) noexcept {
  stop_ = context.stop;
  try {
    name_ = "nats " + std::string(stream);
    RUNNEL_ASSIGN(auto wire, make_wire());
    exchange_ = std::make_unique<JetStream>(std::move(wire));
    RUNNEL_TRY(exchange_->open(settings("runnel " + name_)));
    exchange_->know(stream, log);
    RUNNEL_TRY(find_run(context.stop));
  } catch (const std::exception&) {
    return pipeline::out_of_memory("a stream of NATS");
  }
  pipeline::Format& output = context.output;
  output.kind = pipeline::Kind::audio;
  output.dtype = DType::float32;
  output.channels = format_.channels;
  output.clock.sample_rate = format_.rate;
  output.source = stream;
  output.origin = origin_;
  context.max_output = context.max_input;
  return {};
}

// The newest run, and its format.
Status NatsSource::find_run(const std::atomic<bool>* stop) {
  const auto end = steady_clock::now() + std::chrono::duration<double>(wait);
  std::string why = "nobody has sent anything";
  do {
    const std::uint64_t request = exchange_->last(stream);
    Happening what;
    bool answered = false;
    while (!answered && (stop == nullptr || !stop->load()) && exchange_->next(what, kWaitMilliseconds * 30)) {
      auto* const answer = std::get_if<Answer>(&what);
      if (answer == nullptr || answer->request != request) continue;
      answered = true;
      if (answer->outcome != Answer::Outcome::done) why = answer->why;
      if (!answer->message) continue;
      unpack(*answer->message);
      const auto chunk = read_chunk(*answer->message);
      if (!chunk.ok()) {
        why = chunk.status().text();
        continue;
      }
      run_ = chunk->run;
      format_ = chunk->format;
      begun_ = true;
      if (chunk->time > 0)
        origin_ = chunk->time - static_cast<std::int64_t>(1e9 * static_cast<double>(chunk->first) /
                                                          static_cast<double>(format_.rate));
      const std::uint64_t first = from == "now" ? answer->message->sequence : 1;
      feed_ = exchange_->follow(stream, first);
      return {};
    }
    for (int i = 0; i < 5 && steady_clock::now() < end && (stop == nullptr || !stop->load()); ++i)
      static_cast<void>(exchange_->next(what, kWaitMilliseconds));
  } while (steady_clock::now() < end && (stop == nullptr || !stop->load()));
  return Status(Code::not_found) << name_ << ": no chunk within " << static_cast<std::int64_t>(wait)
                                 << " s: " << why;
}

// True: samples or the end.
bool NatsSource::take(Message& message) {
  const auto chunk = read_chunk(message);
  const auto refuse = [&](std::string_view why) {
    ++refused_;
    if (refused_why_.empty())
      refused_why_ = "message " + std::to_string(message.sequence) + ": " + std::string(why);
    return false;
  };
  if (!chunk.ok()) return refuse(chunk.status().text());
  if (chunk->run < run_) return false;
  if (chunk->run > run_) return ended_ = true;
  if (!(chunk->format == format_)) return refuse("a chunk in another format than its run");
  const std::int64_t missing = chunk->first - next_;
  if (missing > kMostGapSeconds * format_.rate && !(next_ == 0 && from == "now"))
    return refuse("a chunk that starts at sample " + std::to_string(chunk->first) + ", expected " +
                  std::to_string(next_) + " and at most " + std::to_string(kMostGapSeconds) + " s more");
  const std::int64_t known = std::clamp<std::int64_t>(-missing, 0, chunk->samples);
  if (missing < 0) ++doubled_;
  ended_ = chunk->end;
  if (known == chunk->samples) return ended_;
  if (missing > 0) {
    lost_now_ = missing;
    lost_ += missing;
    ++gaps_;
  }
  piece_ = std::move(message.data);
  given_ = static_cast<std::size_t>(known) * format_.frame_bytes();
  next_ = chunk->first + chunk->samples;
  return true;
}

Status NatsSource::process(const pipeline::Block&, pipeline::Output& out) noexcept {
  try {
    const auto start = steady_clock::now();
    while (given_ == piece_.size() && !ended_ && !stopped()) {
      Happening what;
      if (!exchange_->next(what, kWaitMilliseconds)) {
        if (exchange_->closed())
          return Status(Code::io_error) << name_ << ": the server has closed the connection for good";
        continue;
      }
      auto* const delivery = std::get_if<Delivery>(&what);
      if (delivery != nullptr && delivery->feed == feed_ && take(delivery->message)) break;
    }
    waited_ += std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now() - start).count();
  } catch (const std::exception&) {
    return pipeline::out_of_memory("a chunk of NATS");
  }
  const std::size_t frame = format_.frame_bytes();
  const auto left = static_cast<std::int64_t>((piece_.size() - given_) / frame);
  out.count = std::min(out.capacity, left);
  if (out.count > 0) out.lost = std::exchange(lost_now_, 0);
  pipeline::to_float(format_.code, piece_.data() + given_,
                     {out.as<float>(), static_cast<std::size_t>(out.count * format_.channels)});
  given_ += static_cast<std::size_t>(out.count) * frame;
  out.end = given_ == piece_.size() && (ended_ || stopped());
  return {};
}

pipeline::CaptureFacts NatsSource::capture_facts() const {
  pipeline::CaptureFacts out;
  out.device_lost = lost_;
  out.overruns = gaps_;
  return out;
}

Text NatsSource::note() const noexcept {
  Text text;
  if (doubled_ > 0)
    text << name_ << ": " << doubled_ << " chunks were there before, all or some of their samples";
  if (refused_ > 0)
    text << (doubled_ > 0 ? "; " : "") << name_ << ": " << refused_
         << " messages were left out, the first: " << refused_why_;
  return text;
}

}  // namespace runnel::fleet
