// Puts functions of ours where PyTorch's library for Python calls those that give up Python's lock
// and take it again: in the table by which the loader links them (JUMP_SLOT, GLOB_DAT).
//
// Calls of other libraries stay as they are.
#pragma once

#include "storage/model/result.h"

namespace shardscope::inject {

struct LockCalls {
    void* (*save)() = nullptr;         ///< PyEval_SaveThread
    void (*restore)(void*) = nullptr;  ///< PyEval_RestoreThread
};

/// Python's own; kLaunch where this Python does not have them.
Result<LockCalls> pythonLockCalls();

/// Of the loaded library whose path ends with `library`, from now on; for good. kLaunch with what
/// is missing, and then nothing is changed.
Result<void> replaceLockCalls(const char* library, const LockCalls& ours);

}  // namespace shardscope::inject
