// A message from outside, as its headers and data come over the wire, through all that reads it in a worker.
// For the mutation tests and the fuzzer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace runnel::fleet::test {

// A block of headers ("NATS/1.0\r\n...\r\n\r\n"), or none, and data. What is read is written and read again;
// then it comes to a stream that has a run already. Gives the failure of the chunk, or ok.
Status feed_message(std::span<const std::byte> bytes);

// Messages in order, and some that are not, with names.
std::vector<std::pair<std::string, std::string>> made_messages();

}  // namespace runnel::fleet::test
