// `shardscope record --kineto -o run.sscope -- CMD ARG...`: a window of any PyTorch program, with
// nothing of ours in its processes.
#pragma once

#include "app/cli/record/record_options.h"

namespace shardscope::cli {

/// As recordProgram(): the program's exit status.
int recordKineto(const RecordOptions& options);

}  // namespace shardscope::cli
