#include "engine/control/precision_probe.h"

namespace shardscope::control {

PrecisionProbe*& threadPrecisionProbe() {
    thread_local PrecisionProbe* probe = nullptr;
    return probe;
}

}  // namespace shardscope::control
