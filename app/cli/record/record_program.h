// `shardscope record -o run.sscope -- CMD ARG...`: runs any program and records what it can of it.
#pragma once

#include "app/cli/record/record_options.h"

namespace shardscope::cli {

/// The program's exit status, or 128 + the signal that ended it; 2 where the command line asks for
/// something impossible, 127 and 126 where the program is not there or cannot be executed.
int recordProgram(RecordOptions& options);

}  // namespace shardscope::cli
