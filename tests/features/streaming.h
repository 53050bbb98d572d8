// Runs a front end over a recording in pieces.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/cpu.h"
#include "features/fbank/fbank.h"

namespace runnel::test {

// Every level this machine can run.
std::vector<Isa> isas();

// All frames of the recording; piece(i) is the size of the i-th piece.
std::vector<float> run_in_pieces(features::Fbank& fbank, std::span<const float> samples,
                                 const std::function<std::size_t(std::size_t)>& piece);

// The same in one piece with a fresh front end, in memory of exactly its stated size.
std::vector<float> run_whole(const features::FbankOptions& options, Isa isa, std::span<const float> samples,
                             features::RealFft* fft = nullptr);

}  // namespace runnel::test
