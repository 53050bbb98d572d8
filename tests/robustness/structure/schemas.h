// The FlatBuffers of model files, by the schemas that the readers are made from.
#pragma once

#include "tests/robustness/structure/flatbuffer.h"

namespace runnel::test::flat {

const Format& rnl_format();
const Format& tflite_format();
const Format& espdl_format();
const Format& pte_format();
// Of a program with test cases: its root is another table of the same schema.
const Format& bundle_format();

}  // namespace runnel::test::flat
