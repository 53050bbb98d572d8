#include "pipeline/nodes/null.h"

namespace runnel::pipeline {

const NodeType Null::type = {
    .name = "null",
    .help = "Drops everything.",
    .input = {Kind::audio | Kind::frames | Kind::events, "anything"},
    .output = {},
    .parameters = {},
    .make = make_node<Null>,
};

}  // namespace runnel::pipeline
