// The part of NCCL that the communicator uses, behind a seam: the CUDA module fills it in, tests
// put a fake there. Vendor-free. Result codes are ncclResult_t: 0 is success.
#pragma once

#include "storage/model/events.h"

#include <array>
#include <cstddef>

namespace shardscope::comm {

/// ncclUniqueId
using NcclUniqueId = std::array<std::byte, 128>;
/// ncclComm_t
struct NcclHandle {
    void* handle = nullptr;
    friend bool operator==(NcclHandle, NcclHandle) = default;
};

inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclInProgress = 7;

/// Streams are cudaStream_t. `count` is in elements of `dtype`.
struct NcclApi {
    int (*version)(int* version);  ///< 22809 for 2.28.9
    int (*uniqueId)(NcclUniqueId* id);
    /// `name` tells communicators apart in profiler events ("dp0"); copied by NCCL.
    int (*initialise)(NcclHandle* out, int ranks, const NcclUniqueId* id, int rank,
                      const char* name);
    /// A communicator of the ranks that name the same `color`, all ranks of `parent` call it.
    int (*split)(NcclHandle parent, int color, int rank, NcclHandle* out, const char* name);
    /// In place when send == receive + rank * count elements.
    int (*allGather)(const void* send, void* receive, std::size_t count, DataType dtype, NcclHandle,
                     void* stream);
    /// receive[i] = sum over ranks of send[rank * count + i]
    int (*reduceScatter)(const void* send, void* receive, std::size_t count, DataType dtype,
                         NcclHandle, void* stream);
    int (*allReduce)(const void* send, void* receive, std::size_t count, DataType dtype,
                     bool maximum, NcclHandle, void* stream);
    int (*broadcast)(const void* send, void* receive, std::size_t count, DataType dtype, int root,
                     NcclHandle, void* stream);
    int (*send)(const void* from, std::size_t count, DataType dtype, int to, NcclHandle,
                void* stream);
    int (*receive)(void* to, std::size_t count, DataType dtype, int from, NcclHandle, void* stream);
    /// Sends and receives between the two run at once.
    int (*groupStart)();
    int (*groupEnd)();
    /// What went wrong behind the caller's back, e.g. a lost peer.
    int (*asyncError)(NcclHandle, int* error);
    /// Frees it, even while it is in use. May itself hang.
    int (*abort)(NcclHandle);
    /// Frees it once its operations are done.
    int (*destroy)(NcclHandle);
    const char* (*errorText)(int result);
    /// NCCL's own last sentence, may be empty.
    const char* (*lastError)(NcclHandle);
};

}  // namespace shardscope::comm
