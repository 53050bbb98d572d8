// The elementary functions of base/exact_math.h under this folder's names.
#pragma once

#include "base/exact_math.h"

namespace runnel::features {

using exact::bessel_i0;
using exact::exp;
using exact::kPi;
using exact::log;
using exact::log1p;
using exact::pow;
using exact::SinCos;
using exact::turn;

}  // namespace runnel::features
