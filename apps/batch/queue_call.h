// runnel batch with a queue that many machines share (docs/fleet.md): filling it, working on it, looking at
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/batch/recordings_call.h"
#include "apps/command_line.h"
#include "services/fleet/nats/jetstream_queue.h"

namespace runnel::apps {

struct QueueCall {
  fleet::Wire::Settings nats;
  std::string name, root;
  bool enqueue = false, status = false, wait = false;
  double patience = 30;
  int replicas = 1;
};

// --nats and those of the connection, --queue, --enqueue, --status, --wait, --root, --redeliver, --replicas.
void add_queue_flags(Verb verb, QueueCall& call);

// What a call cannot mean; `inputs`: all positional arguments. ok: it can be run.
Status check_queue_call(const QueueCall& queue, const RecordingsCall& call, bool pipe,
                        const std::vector<std::string>& inputs);

// Enters --root, where relative paths of recordings begin. Files of the connection are named before.
Status enter_root(QueueCall& queue);

Status enqueue(QueueCall& queue, const std::vector<std::string>& inputs, const batch::ListOptions& list);
Status print_queue_status(const QueueCall& queue);
// Works until the queue is empty. `output`: the file of this worker; `checksum`: of model and options. Also
// fails when recordings are set apart.
Status work_on_queue(const QueueCall& queue, RecordingsCall& call, const std::string& output,
                     std::uint32_t checksum, const RecordingsWork& work);

}  // namespace runnel::apps
