// How the program ends where it cannot go on.
#pragma once

namespace runnel::apps {

// From now on:
//   * an exception that cannot be passed on, which is almost always that there is no memory, ends the program
//   with
//     a sentence and the exit code 1 instead of SIGABRT;
//   * SIGTERM, SIGINT and SIGHUP end verbs that have no other use for them as before.
// In both cases the files that were being written are removed (base/host/output_file.h).
void prepare_last_words() noexcept;

}  // namespace runnel::apps
