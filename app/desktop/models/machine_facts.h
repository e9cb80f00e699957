// The machine this window runs on.
#pragma once

#include "storage/model/units.h"

#include <QString>

namespace shardscope::desktop {

/// The machine a run would be started on.
struct MachineFacts {
    QString name;  ///< of the host, as recordings and calibrations have it
    int cores = 1;
    Bytes freeMemory;
    Bytes totalMemory;
};
[[nodiscard]] MachineFacts thisMachine();

}  // namespace shardscope::desktop
