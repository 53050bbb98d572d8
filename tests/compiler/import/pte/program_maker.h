// Small ExecuTorch programs, made in memory; every field that a reader must check can be set wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/import/pte/pte_generated.h"
#include "tests/compiler/run_graph.h"

namespace runnel::test {

class ProgramMaker {
 public:
  // A tensor as the format says it; numbers of types are ExecuTorch's.
  struct Tensor {
    std::vector<std::int32_t> sizes = {};
    std::int8_t type = 6;                      // float32
    std::vector<std::uint8_t> dim_order = {};  // empty: in order
    std::int64_t offset = -1;                  // in memory 1; -1: not planned
    std::uint32_t memory = 1;
    std::uint32_t buffer = 0;  // of the data; 0: none
    std::int32_t storage_offset = 0;
    std::int8_t dynamism = 0;
  };
  static constexpr std::int8_t kUint8 = 0, kInt8 = 1, kInt32 = 3, kInt64 = 4, kFloat = 6, kDouble = 7;

  // ---- values; each returns its number
  int none();
  int integer(std::int64_t value);
  int number(double value);
  int boolean(bool value);
  int integers(const std::vector<std::int64_t>& values);
  int boxed(const std::vector<std::int64_t>& indices);  // a list whose elements are said to be these values
  int tensors(const std::vector<std::int32_t>& values);
  int tensor(const Tensor& tensor);
  // A planned tensor after all others in memory.
  int planned(std::vector<std::int32_t> sizes, std::int8_t type = kFloat);
  template <class T>
  int constant(std::vector<std::int32_t> sizes, std::int8_t type, const std::vector<T>& data) {
    Tensor made{std::move(sizes), type};
    made.buffer = add_data(reinterpret_cast<const std::byte*>(data.data()), data.size() * sizeof(T));
    return tensor(made);
  }
  // A mutable buffer with a first value.
  int buffer(std::vector<std::int32_t> sizes, const std::vector<float>& first);

  // ---- instructions
  void kernel(const std::string& name, const std::string& overload, std::vector<std::int32_t> args);
  void kernel_number(int op, std::vector<std::int32_t> args);
  void delegate(const std::string& id, const Bytes& payload, std::vector<std::int32_t> args,
                bool in_segment = false);
  void move(int from, int to);
  void jump(int condition, int destination);

  std::vector<std::int32_t> inputs, outputs;
  std::vector<std::int64_t> memories{0, 0};  // the second one grows with planned()
  std::uint32_t version = 0;
  int chains = 1;
  bool inline_constants = false;  // the form of old files
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      extra_segments;  // offset and size, whether they fit or not

  Bytes file();
  // The same with test cases of float32 tensors: inputs, then outputs of each.
  struct Case {
    std::vector<std::pair<std::vector<std::int32_t>, std::vector<float>>> inputs, outputs;
  };
  Bytes bundle(const std::vector<Case>& cases);

 private:
  int add(pte::Values type, flatbuffers::Offset<void> value);
  std::uint32_t add_data(const std::byte* data, std::size_t bytes);
  void instruction(pte::InstructionArguments type, flatbuffers::Offset<void> args);

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<pte::Value>> values_;
  std::vector<flatbuffers::Offset<pte::Operator>> operators_;
  std::vector<std::pair<std::string, std::string>> names_;
  std::vector<flatbuffers::Offset<pte::Delegate>> delegates_;
  std::vector<flatbuffers::Offset<pte::DelegateInlineData>> delegate_data_;
  std::vector<flatbuffers::Offset<pte::Instruction>> instructions_;
  std::vector<Bytes> data_{Bytes()};  // entry 0 is nothing
  std::vector<Bytes> mutable_data_{Bytes()};
  std::vector<Bytes> payloads_;
};

// Numbers in the extended header of a file, little endian.
void put(Bytes& file, std::size_t at, std::uint64_t value, std::size_t bytes);
inline constexpr std::size_t kHeaderLength = 12, kProgramSize = 16, kSegmentBase = 24, kSegmentSize = 32;

// y = relu(x * w + b), one value of 4 each, as a program.
ProgramMaker tiny_program();
// A payload of the Ethos-U back end for one input and one output of one byte each.
Bytes tiny_vela_stream();

}  // namespace runnel::test
