// The node infer of a program that was made with --cores: heavy operators in parts, which cores of the
// application compute at the same time.
#pragma once

#include "embed/cores/runnel_cores.h"
#include "inference/workers.h"
#include "pipeline/nodes/model/infer.h"

struct runnel_job {
  void (*task)(const void* argument, int part) noexcept;
  const void* argument;
};

namespace runnel::embed {

// The application's cores as Workers.
class CoreWorkers final : public Workers {
 public:
  void set(const runnel_cores& cores) noexcept { cores_ = cores; }
  void run(int parts, void (*task)(const void* argument, int part) noexcept,
           const void* argument) noexcept override;

 private:
  runnel_cores cores_ = {};
};

class CoresInfer : public pipeline::Infer {
 public:
  int cores = 2;  // parts of a heavy operator

  // Null: everything in the calling core. Once prepared.
  void use(const runnel_cores* given) noexcept;

 protected:
  Result<const Prepared*> make_prepared(pipeline::NodeContext& context, const Model& loaded,
                                        const PrepareOptions& options) noexcept override;
  Result<Session> make_session(pipeline::NodeContext& context) noexcept override;
  Result<SteppedSession> make_stepped(pipeline::NodeContext& context,
                                      const ModelUsage& usage) noexcept override;

 private:
  CoreWorkers workers_;
  Workspace* workspace_ = nullptr;
};

}  // namespace runnel::embed
