// NCCL's profiler plugin interface, version 5, declared by hand: nccl.h does not hold it.
//
// Layout facts for x86-64 Linux (shared/reference/cupti_nccl.md 2.1): released versions are
// frozen, so the sizes and offsets asserted below hold for every NCCL that looks for v5.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardscope::collectors::nccl {

/// Bits of the activation mask and values of EventDescriptor::type.
enum EventType : std::uint64_t {
    kGroup = 1u << 0,  ///< one a kernel plan
    kColl = 1u << 1,   ///< enqueueing of one collective
    kP2p = 1u << 2,
    kProxyOp = 1u << 3,
    kProxyStep = 1u << 4,
    kProxyCtrl = 1u << 5,
    kKernelCh = 1u << 6,  ///< one channel of a kernel, by the device's clock
    kNetPlugin = 1u << 7,
    kGroupApi = 1u << 8,
    kCollApi = 1u << 9,  ///< the call itself
    kP2pApi = 1u << 10,
    kKernelLaunch = 1u << 11,  ///< brackets the driver launch on one thread
};

inline constexpr int kStateKernelChStop = 22;

struct GroupApiEvent {
    bool graphCaptured;
    int groupDepth;
};
struct CollApiEvent {
    const char* func;  ///< strings are static literals of NCCL
    std::size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool graphCaptured;
};
struct P2pApiEvent {
    const char* func;
    std::size_t count;
    const char* datatype;
    void* stream;
    bool graphCaptured;
};
struct KernelLaunchEvent {
    void* stream;
};
struct CollEvent {
    std::uint64_t seqNumber;  ///< counts by function and communicator
    const char* func;
    const void* sendBuff;
    void* recvBuff;
    std::size_t count;  ///< bytes for AllGather and Broadcast, else elements
    int root;
    const char* datatype;
    std::uint8_t nChannels;
    std::uint8_t nWarps;
    const char* algo;
    const char* proto;
    void* parentGroup;
};
struct P2pEvent {
    const char* func;
    void* buff;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint8_t nChannels;
    void* parentGroup;
};
struct ProxyOpEvent {
    int pid;  ///< of the originating process: its parentObj may be another address space's
    std::uint8_t channelId;
    int peer;
    int nSteps;
    int chunkSize;
    int isSend;
};
struct ProxyStepEvent {
    int step;
};
struct KernelChEvent {
    std::uint8_t channelId;
    std::uint64_t pTimer;  ///< device clock, ns
};
struct NetPluginEvent {
    std::int64_t id;
    void* data;
};

struct EventDescriptor {
    std::uint64_t type;
    void* parentObj;  ///< a handle of ours, or null
    int rank;
    union {
        GroupApiEvent groupApi;
        CollApiEvent collApi;
        P2pApiEvent p2pApi;
        KernelLaunchEvent kernelLaunch;
        CollEvent coll;
        P2pEvent p2p;
        ProxyOpEvent proxyOp;
        ProxyStepEvent proxyStep;
        KernelChEvent kernelCh;
        NetPluginEvent netPlugin;
    };
};

union EventStateArgs {
    struct {
        std::size_t transSize;
    } proxyStep;
    struct {
        int appendedProxyOps;
    } proxyCtrl;
    struct {
        void* data;
    } netPlugin;
    struct {
        std::uint64_t pTimer;
    } kernelCh;
};

/// ncclResult_t and ncclDebugLogger_t by their C representation.
using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

struct Plugin {
    const char* name;
    int (*init)(void** context, std::uint64_t commId, int* eActivationMask, const char* commName,
                int nNodes, int nranks, int rank, Logger logger);
    int (*startEvent)(void* context, void** eHandle, EventDescriptor* descriptor);
    int (*stopEvent)(void* eHandle);
    int (*recordEventState)(void* eHandle, int state, EventStateArgs* args);
    int (*finalize)(void* context);
};

static_assert(sizeof(EventDescriptor) == 112);
static_assert(offsetof(EventDescriptor, parentObj) == 8);
static_assert(offsetof(EventDescriptor, rank) == 16);
static_assert(offsetof(EventDescriptor, coll) == 24);
static_assert(offsetof(EventDescriptor, groupApi) == 24);
static_assert(offsetof(GroupApiEvent, groupDepth) == 4);
static_assert(offsetof(CollApiEvent, count) == 8);
static_assert(offsetof(CollApiEvent, datatype) == 16);
static_assert(offsetof(CollApiEvent, root) == 24);
static_assert(offsetof(CollApiEvent, stream) == 32);
static_assert(offsetof(CollApiEvent, graphCaptured) == 40);
static_assert(offsetof(P2pApiEvent, datatype) == 16);
static_assert(offsetof(P2pApiEvent, stream) == 24);
static_assert(offsetof(P2pApiEvent, graphCaptured) == 32);
static_assert(offsetof(CollEvent, func) == 8);
static_assert(offsetof(CollEvent, sendBuff) == 16);
static_assert(offsetof(CollEvent, recvBuff) == 24);
static_assert(offsetof(CollEvent, count) == 32);
static_assert(offsetof(CollEvent, root) == 40);
static_assert(offsetof(CollEvent, datatype) == 48);
static_assert(offsetof(CollEvent, nChannels) == 56);
static_assert(offsetof(CollEvent, nWarps) == 57);
static_assert(offsetof(CollEvent, algo) == 64);
static_assert(offsetof(CollEvent, proto) == 72);
static_assert(offsetof(CollEvent, parentGroup) == 80);
static_assert(sizeof(CollEvent) == 88);
static_assert(offsetof(P2pEvent, datatype) == 16);
static_assert(offsetof(P2pEvent, count) == 24);
static_assert(offsetof(P2pEvent, peer) == 32);
static_assert(offsetof(P2pEvent, nChannels) == 36);
static_assert(offsetof(P2pEvent, parentGroup) == 40);
static_assert(offsetof(ProxyOpEvent, channelId) == 4);
static_assert(offsetof(ProxyOpEvent, peer) == 8);
static_assert(offsetof(ProxyOpEvent, isSend) == 20);
static_assert(offsetof(KernelChEvent, pTimer) == 8);
static_assert(sizeof(EventStateArgs) == 8);
static_assert(sizeof(Plugin) == 48);

}  // namespace shardscope::collectors::nccl
