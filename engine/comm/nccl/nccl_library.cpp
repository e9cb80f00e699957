#include "engine/comm/nccl/nccl_library.h"

#include <nccl.h>

#include <cstring>
#include <optional>

namespace shardscope::comm {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(NcclUniqueId));
static_assert(ncclSuccess == kNcclSuccess && ncclInProgress == kNcclInProgress);

std::optional<ncclDataType_t> toNccl(DataType dtype) {
    switch (dtype) {
        case DataType::kFloat32:
            return ncclFloat32;
        case DataType::kBFloat16:
            return ncclBfloat16;
        case DataType::kFloat16:
            return ncclFloat16;
        case DataType::kInt64:
            return ncclInt64;
        case DataType::kByte:
            return ncclUint8;
        case DataType::kFloat64:
            return ncclFloat64;
        case DataType::kUnknown:
            break;
    }
    return std::nullopt;
}

ncclComm_t communicator(NcclHandle handle) {
    return static_cast<ncclComm_t>(handle.handle);
}
cudaStream_t cudaStream(void* stream) {
    return static_cast<cudaStream_t>(stream);
}

int version(int* out) {
    return ncclGetVersion(out);
}

int uniqueId(NcclUniqueId* id) {
    ncclUniqueId made;
    const ncclResult_t result = ncclGetUniqueId(&made);
    if (result == ncclSuccess) std::memcpy(id->data(), &made, sizeof made);
    return result;
}

int initialise(NcclHandle* out, int ranks, const NcclUniqueId* id, int rank, const char* name) {
    ncclUniqueId shared;
    std::memcpy(&shared, id->data(), sizeof shared);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    // Non-blocking communicators launch from a thread of NCCL's own, without our annotations.
    config.blocking = 1;
    config.commName = name;
    ncclComm_t made = nullptr;
    const ncclResult_t result = ncclCommInitRankConfig(&made, ranks, shared, rank, &config);
    if (result == ncclSuccess) out->handle = made;
    return result;
}

int split(NcclHandle parent, int color, int rank, NcclHandle* out, const char* name) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    config.commName = name;
    ncclComm_t made = nullptr;
    const ncclResult_t result = ncclCommSplit(communicator(parent), color, rank, &made, &config);
    if (result == ncclSuccess) out->handle = made;
    return result;
}

int allGather(const void* send, void* receive, std::size_t count, DataType dtype, NcclHandle handle,
              void* stream) {
    const auto type = toNccl(dtype);
    if (!type) return ncclInvalidArgument;
    return ncclAllGather(send, receive, count, *type, communicator(handle), cudaStream(stream));
}

int reduceScatter(const void* send, void* receive, std::size_t count, DataType dtype,
                  NcclHandle handle, void* stream) {
    const auto type = toNccl(dtype);
    if (!type) return ncclInvalidArgument;
    return ncclReduceScatter(send, receive, count, *type, ncclSum, communicator(handle),
                             cudaStream(stream));
}

int allReduce(const void* send, void* receive, std::size_t count, DataType dtype, bool maximum,
              NcclHandle handle, void* stream) {
    const auto type = toNccl(dtype);
    if (!type) return ncclInvalidArgument;
    return ncclAllReduce(send, receive, count, *type, maximum ? ncclMax : ncclSum,
                         communicator(handle), cudaStream(stream));
}

int broadcast(const void* send, void* receive, std::size_t count, DataType dtype, int root,
              NcclHandle handle, void* stream) {
    const auto type = toNccl(dtype);
    if (!type) return ncclInvalidArgument;
    return ncclBroadcast(send, receive, count, *type, root, communicator(handle),
                         cudaStream(stream));
}

int send(const void* from, std::size_t count, DataType dtype, int to, NcclHandle handle,
         void* stream) {
    const auto type = toNccl(dtype);
    if (!type) return ncclInvalidArgument;
    return ncclSend(from, count, *type, to, communicator(handle), cudaStream(stream));
}

int receive(void* to, std::size_t count, DataType dtype, int from, NcclHandle handle,
            void* stream) {
    const auto type = toNccl(dtype);
    if (!type) return ncclInvalidArgument;
    return ncclRecv(to, count, *type, from, communicator(handle), cudaStream(stream));
}

int groupStart() {
    return ncclGroupStart();
}

int groupEnd() {
    return ncclGroupEnd();
}

int asyncError(NcclHandle handle, int* error) {
    ncclResult_t found = ncclSuccess;
    const ncclResult_t result = ncclCommGetAsyncError(communicator(handle), &found);
    if (result == ncclSuccess) *error = found;
    return result;
}

int abortCommunicator(NcclHandle handle) {
    return ncclCommAbort(communicator(handle));
}

int destroy(NcclHandle handle) {
    return ncclCommDestroy(communicator(handle));
}

const char* errorText(int result) {
    return ncclGetErrorString(static_cast<ncclResult_t>(result));
}

const char* lastError(NcclHandle handle) {
    const char* text = ncclGetLastError(communicator(handle));
    return text != nullptr ? text : "";
}

constexpr NcclApi kLibrary{
    .version = &version,
    .uniqueId = &uniqueId,
    .initialise = &initialise,
    .split = &split,
    .allGather = &allGather,
    .reduceScatter = &reduceScatter,
    .allReduce = &allReduce,
    .broadcast = &broadcast,
    .send = &send,
    .receive = &receive,
    .groupStart = &groupStart,
    .groupEnd = &groupEnd,
    .asyncError = &asyncError,
    .abort = &abortCommunicator,
    .destroy = &destroy,
    .errorText = &errorText,
    .lastError = &lastError,
};

}  // namespace

const NcclApi& ncclLibrary() {
    return kLibrary;
}

}  // namespace shardscope::comm
