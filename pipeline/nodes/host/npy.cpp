#include "pipeline/nodes/host/npy.h"

#include <string>

namespace runnel::pipeline {
namespace {

constexpr Parameter kParameters[] = {text_parameter<&Npy::path>("path", "", "file to write", true)};

// Format version 1.0 (numpy.lib.format); 128 bytes leave room for any number of rows.
constexpr std::size_t kHeaderBytes = 128;

const char* code_of(DType type) noexcept {
  switch (type) {
    case DType::float32: return "<f4";
    case DType::float64: return "<f8";
    case DType::int8: return "|i1";
    case DType::uint8: return "|u1";
    case DType::int16: return "<i2";
    case DType::uint16: return "<u2";
    case DType::int32: return "<i4";
    case DType::int64: return "<i8";
    case DType::boolean: return "|b1";
    case DType::none: break;
  }
  return nullptr;
}

}  // namespace

const NodeType Npy::type = {
    .name = "npy",
    .help = "Writes a NumPy file, [frames, values].",
    .input = {Kind::audio | Kind::frames, "any type"},
    .output = {},
    .parameters = kParameters,
    .make = make_node<Npy>,
};

std::string Npy::header() const {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(kHeaderBytes - 10);
  text += '\0';
  text += std::string("{'descr': '") + code_of(format_.dtype) + "', 'fortran_order': False, 'shape': (" + std::to_string(rows_) + ", " +
          std::to_string(format_.channels) + "), }";
  text.resize(kHeaderBytes - 1, ' ');
  text += '\n';
  return text;
}

Status Npy::prepare(PrepareContext& context) noexcept {
  format_ = context.input;
  if (code_of(format_.dtype) == nullptr) return Status(Code::unsupported) << "values of type " << name_of(format_.dtype);
  RUNNEL_TRY(file_.open(path));
  return file_.write(header().data(), kHeaderBytes);
}

Status Npy::process(const Block& in, Output&) noexcept {
  rows_ += in.count;
  return file_.write(in.data, static_cast<std::size_t>(in.count) * format_.frame_bytes());
}

Status Npy::finish() noexcept {
  RUNNEL_TRY(file_.seek(0));
  RUNNEL_TRY(file_.write(header().data(), kHeaderBytes));
  return file_.commit();
}

}  // namespace runnel::pipeline
