#include "pipeline/nodes/host/file/npy.h"

#include <limits>
#include <string>

#include "base/host/npy.h"
#include "base/host/output_name.h"

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {text_parameter<&Npy::path>("path", "", "file to write", true)};

}  // namespace

const NodeType Npy::type = {
    .name = "npy",
    .help = "Writes a NumPy file, [frames, values].",
    .input = {Kind::audio | Kind::frames, "any type"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Npy>,
};

Status Npy::prepare(NodeContext& context) noexcept {
  format_ = context.input;
  // The size of the header of the longest possible array.
  const std::int64_t most[] = {std::numeric_limits<std::int64_t>::max(), format_.channels};
  const std::int64_t none[] = {0, format_.channels};
  header_bytes_ = npy_header(format_.dtype, most).size();
  RUNNEL_TRY(check_output_name(path, {".npy"}));
  RUNNEL_ASSIGN(file_, OutputFile::create(path));
  return file_.write(npy_header(format_.dtype, none, header_bytes_));
}

Status Npy::process(const Block& in, Output&) noexcept {
  rows_ += in.count;
  return file_.write(std::span(in.data, static_cast<std::size_t>(in.count) * format_.frame_bytes()));
}

Status Npy::finish() noexcept {
  const std::int64_t shape[] = {rows_, format_.channels};
  const std::string header = npy_header(format_.dtype, shape, header_bytes_);
  RUNNEL_TRY(file_.write_at(0, std::as_bytes(std::span(header))));
  return file_.commit();
}

}  // namespace runnel::pipeline
