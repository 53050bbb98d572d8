// Programs that are killed while they work.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace runnel::apps::test {

// Starts the program and ends it with SIGKILL after so long; whether it ended by itself before.
bool run_and_kill(std::vector<std::string> arguments, std::chrono::microseconds after);

}  // namespace runnel::apps::test
