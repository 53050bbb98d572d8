// Small .tflite files for tests, and running them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/import/tflite/importer.h"
#include "compiler/import/tflite/operator_codes.h"
#include "compiler/import/tflite/tflite_generated.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {

using compiler::tflite_source::Builtin;
using flatbuffers::Offset;

enum Type : std::int8_t {
  kFloat = 0,
  kInt32 = 2,
  kUint8 = 3,
  kInt64 = 4,
  kInt16 = 7,
  kInt8 = 9,
  kResource = 13
};

// One operator after another; tensors are numbered as they are added, in each graph from 0.
class TinyTflite {
 public:
  template <class T = std::int8_t>
  int tensor(Type type, std::vector<std::int32_t> shape, float scale, std::int64_t zero,
             const std::vector<T>& data = {}, const std::vector<std::int32_t>& signature = {}) {
    std::uint32_t buffer = 0;
    if (!data.empty()) {
      buffer = static_cast<std::uint32_t>(buffers_.size());
      buffers_.push_back(tflite::CreateBuffer(
          builder_, builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(data.data()),
                                          data.size() * sizeof(T))));
    }
    const auto quantization = scale == 0 ? 0
                                         : tflite::CreateQuantizationParameters(
                                               builder_, 0, 0, builder_.CreateVector({scale}),
                                               builder_.CreateVector(std::vector<std::int64_t>{zero}));
    const auto dims = builder_.CreateVector(shape);
    const auto name = builder_.CreateString("t" + std::to_string(tensors_.size()));
    const auto open = signature.empty() ? 0 : builder_.CreateVector(signature);
    tensors_.push_back(
        tflite::CreateTensor(builder_, dims, type, buffer, name, quantization, false, 0, open));
    return static_cast<int>(tensors_.size() - 1);
  }
  // A tensor whose data lies `offset` bytes into the file.
  int outside(std::vector<std::int32_t> shape, std::uint64_t offset, std::uint64_t size) {
    const auto buffer = static_cast<std::uint32_t>(buffers_.size());
    buffers_.push_back(tflite::CreateBuffer(builder_, 0, offset, size));
    tensors_.push_back(tflite::CreateTensor(builder_, builder_.CreateVector(shape), kInt32, buffer));
    return static_cast<int>(tensors_.size() - 1);
  }
  template <class Table = void>
  void op(Builtin code, std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
          tflite::BuiltinOptions type = tflite::BuiltinOptions::NONE, Offset<Table> options = 0,
          bool old_code = true) {
    const auto number = static_cast<std::int32_t>(code);
    codes_.push_back(tflite::CreateOperatorCode(builder_, static_cast<std::int8_t>(old_code ? number : 0),
                                                custom_, 1, old_code ? 0 : number));
    const auto in = builder_.CreateVector(inputs), out = builder_.CreateVector(outputs);
    ops_.push_back(tflite::CreateOperator(builder_, static_cast<std::uint32_t>(codes_.size() - 1), in, out,
                                          type, options.Union()));
  }
  void custom(const std::string& name) { custom_ = builder_.CreateString(name); }
  // What follows is another graph. The first one is the model.
  void end_graph(const std::vector<std::int32_t>& inputs, const std::vector<std::int32_t>& outputs) {
    graphs_.push_back(tflite::CreateSubGraph(builder_, builder_.CreateVector(tensors_),
                                             builder_.CreateVector(inputs), builder_.CreateVector(outputs),
                                             builder_.CreateVector(ops_)));
    tensors_.clear();
    ops_.clear();
  }
  // With these ends of the last graph.
  Bytes file(const std::vector<std::int32_t>& inputs, const std::vector<std::int32_t>& outputs) {
    end_graph(inputs, outputs);
    const auto model =
        tflite::CreateModel(builder_, 3, builder_.CreateVector(codes_), builder_.CreateVector(graphs_), 0,
                            builder_.CreateVector(buffers_));
    tflite::FinishModelBuffer(builder_, model);
    const auto* first = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
    return {first, first + builder_.GetSize()};
  }
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<Offset<tflite::Buffer>> buffers_{tflite::CreateBuffer(builder_)};
  std::vector<Offset<tflite::Tensor>> tensors_;
  std::vector<Offset<tflite::OperatorCode>> codes_;
  std::vector<Offset<tflite::Operator>> ops_;
  std::vector<Offset<tflite::SubGraph>> graphs_;
  Offset<flatbuffers::String> custom_ = 0;
};

template <class T>
inline Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> run(const Bytes& file, const std::vector<Bytes>& inputs) {
  const auto graph = compiler::import_tflite(file);
  EXPECT_TRUE(graph.ok()) << graph.status().text();
  if (!graph.ok()) return {};
  const auto runnable = RunnableGraph::make(*graph);
  EXPECT_TRUE(runnable.ok()) << runnable.status().text();
  if (!runnable.ok()) return {};
  const auto outputs = (*runnable)->whole(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status().text();
  if (!outputs.ok()) return {};
  std::vector<T> values((*outputs)[0].size() / sizeof(T));
  std::memcpy(values.data(), (*outputs)[0].data(), (*outputs)[0].size());
  return values;
}

}  // namespace runnel::test
