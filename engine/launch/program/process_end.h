// How a process that need not be a child of ours ended.
#pragma once

#include "storage/model/file_descriptor.h"

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace shardscope::launch {

struct KnownEnd {
    std::optional<std::int32_t> code, signal;
};

/// Stands for the process also after its end; readable from then on. Not valid: an older kernel,
/// or too many descriptors are open.
[[nodiscard]] FileDescriptor openProcess(pid_t pid);

/// Of one that has ended and was waited for; nothing where the kernel does not tell (before Linux
/// 6.15).
[[nodiscard]] KnownEnd knownEnd(const FileDescriptor& process);

}  // namespace shardscope::launch
