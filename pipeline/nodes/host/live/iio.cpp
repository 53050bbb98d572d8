#include "pipeline/nodes/host/live/iio.h"

#include <cstring>
#include <fstream>

#include "base/number_text.h"

namespace runnel::pipeline {
namespace {

namespace fs = std::filesystem;

constexpr Parameter kParameters[] = {
    text_parameter<&Iio::device>("device", "",
                                 "name in /sys/bus/iio/devices, such as iio:device0, or its folder", true),
    text_parameter<&Iio::buffer>("buffer", "",
                                 "character device of the scans; empty: the one of this name in /dev"),
    parameter<&Iio::rate>("rate", "Hz", 0, 1e9, "scans per second; 0: the device's sampling_frequency"),
    parameter<&Iio::tolerance>("tolerance", "", 0, 0.5,
                               "largest deviation of a scan from its time, as a fraction of the period; "
                               "larger ones are accepted and counted"),
    parameter<&Iio::max_gap>("max_gap", "s", 0, 1e9, "a longer jump of the time stamps is refused"),
};

// Scans that are read at once, at most.
constexpr std::size_t kScans = 256;

bool write_line(const fs::path& path, const char* line) {
  std::ofstream out(path);
  out << line << '\n';
  return static_cast<bool>(out.flush());
}

}  // namespace

const NodeType Iio::type = {
    .name = "iio",
    .help = "Reads a Linux industrial I/O sensor live, one sample per scan, one channel per enabled element.",
    .input = {},
    .output = {static_cast<Kinds>(Kind::audio),
               "float32 values in the units of the kernel's interface (m/s^2, rad/s, mV ...)"},
    .parameters = kParameters,
    .make = make_node<Iio>,
};

Iio::~Iio() {
  if (turned_on_) write_line(layout_.enable, "0");
}

Status Iio::open() {
  const fs::path name(device);
  const fs::path folder = name.has_parent_path() ? name : fs::path("/sys/bus/iio/devices") / name;
  RUNNEL_ASSIGN(layout_, read_iio_layout(folder));
  const double hz = rate > 0 ? rate : layout_.rate;
  if (!(hz > 0))
    return Status(Code::invalid_argument)
           << device << ": does not say how many scans are a second: expected rate=";
  grid_rate_ = rate_of(hz, 1e-6);
  if (grid_rate_.samples == 0)
    return Status(Code::invalid_argument)
           << device << ": rate " << shortest_text(hz).view()
           << " Hz: expected one that is a fraction with a denominator up to 100000";
  std::ifstream enable(layout_.enable);
  if (enable.get() == '0') {
    if (!write_line(layout_.enable, "1"))
      return Status(Code::io_error) << layout_.enable.string()
                                    << ": the buffer is off and cannot be turned on; write 1 there, which "
                                       "takes the rights of an administrator";
    turned_on_ = true;
  }
  return input_.open(buffer.empty() ? "/dev/" + folder.filename().string() : std::string(buffer));
}

Status Iio::prepare(NodeContext& context) noexcept {
  input_.end_at(context.stop);
  RUNNEL_TRY(open());
  bytes_.resize(layout_.scan_bytes * kScans);
  Format& format = context.output;
  if (layout_.time.bytes > 0) {
    grid_.emplace(grid_rate_, tolerance);
    RUNNEL_ASSIGN(held_, next());
    if (held_) {
      format.origin = layout_.time.raw(scan());
      RUNNEL_TRY(place().status());
    }
  }
  format.kind = Kind::audio;
  format.dtype = DType::float32;
  format.channels = static_cast<std::int32_t>(layout_.channels.size());
  format.clock = {.sample_rate = grid_rate_.samples,
                  .hop = grid_rate_.seconds,
                  .begin = 0,
                  .span = grid_rate_.seconds,
                  .denominator = 1};
  format.source = device;
  context.max_output = context.max_input;
  return {};
}

Result<bool> Iio::next() {
  const std::size_t size = layout_.scan_bytes;
  while (filled_ - at_ < size) {
    std::memmove(bytes_.data(), bytes_.data() + at_, filled_ - at_);
    filled_ -= at_;
    at_ = 0;
    RUNNEL_ASSIGN(const std::size_t count, input_.read(std::span(bytes_).subspan(filled_)));
    if (count == 0) {
      if (filled_ > 0 && !input_.was_stopped())
        return Status(Code::invalid_data) << input_.name() << ": ended within a scan, after " << filled_
                                          << " of its " << size << " bytes";
      return false;
    }
    filled_ += count;
  }
  return true;
}

Result<bool> Iio::place() {
  if (!grid_) return true;
  const std::int64_t stamp = layout_.time.raw(scan());
  const TimeGrid::Place found = grid_->place(stamp);
  if (found.verdict == TimeGrid::Verdict::out_of_order) {
    ++dropped_;
    return false;
  }
  if (found.verdict == TimeGrid::Verdict::irregular) ++irregular_;
  if (static_cast<double>(found.missing) > max_gap * grid_rate_.hz()) {
    return Status(Code::invalid_data) << input_.name() << ": expected a jump of the time stamps of at most "
                                      << shortest_text(max_gap).view() << " s (max_gap), found " << stamp
                                      << " ns, " << found.missing << " scans further than the one before";
  }
  lost_ += found.missing;
  grid_->take(stamp, found);
  return true;
}

Status Iio::process(const Block&, Output& out) noexcept {
  while (out.count < out.capacity) {
    if (!held_) {
      // Pass on what is there before waiting for more.
      if (out.count > 0 && filled_ - at_ < layout_.scan_bytes && !input_.ready()) return {};
      RUNNEL_ASSIGN(const bool more, next());
      if (!more) {
        out.end = true;
        return {};
      }
      RUNNEL_ASSIGN(held_, place());
      if (!held_) {
        at_ += layout_.scan_bytes;
        continue;
      }
    }
    if (lost_ > 0) {
      if (out.count > 0) return {};
      out.lost = lost_;
      lost_ = 0;
    }
    float* to = out.as<float>() + static_cast<std::size_t>(out.count++) * layout_.channels.size();
    for (const IioElement& element : layout_.channels) *to++ = static_cast<float>(element.value(scan()));
    at_ += layout_.scan_bytes;
    held_ = false;
  }
  return {};
}

Text Iio::note() const noexcept {
  Text text;
  if (dropped_ > 0) text << device << ": " << dropped_ << " scans out of order were left out";
  if (irregular_ > 0)
    text << (text.view().empty() ? device : std::string_view()) << (text.view().empty() ? ": " : ", ")
         << irregular_ << " scans were off their place in time by more than the tolerance";
  return text;
}

}  // namespace runnel::pipeline
