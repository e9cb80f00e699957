// The linked libcupti.so.13.
#pragma once

#include "profiler/collectors/cupti/cupti_api.h"

namespace shardscope::collectors {

/// Of the process, as CUPTI itself is; loads without a driver, then subscribe() returns 999.
[[nodiscard]] CuptiApi& cuptiLibrary();

}  // namespace shardscope::collectors
