// The part of CUPTI that is used, as an interface: the real library or a test's.
//
// Plain types only. Every call returns CUPTI's result code, 0 for success. Any thread, but never
// while holding a lock that CuptiClient takes: CUPTI calls the client with its own locks held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shardscope::collectors {

inline constexpr int kCuptiSuccess = 0;
inline constexpr int kCuptiEndOfBuffer = 12;   ///< CUPTI_ERROR_MAX_LIMIT_REACHED
inline constexpr int kCuptiBrokenRecord = 21;  ///< CUPTI_ERROR_INVALID_KIND
inline constexpr int kCuptiSecondSubscriber =
    39;                                    ///< CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
inline constexpr int kCuptiUnknown = 999;  ///< also: there is no driver

/// Called by CUPTI: on application threads in the middle of a launch, or on its own.
class CuptiClient {
public:
    virtual ~CuptiClient() = default;
    /// Null drops records. Must neither allocate nor wait.
    virtual std::uint8_t* takeBuffer(std::size_t& bytes) noexcept = 0;
    virtual void completeBuffer(std::uint8_t* buffer, std::size_t validBytes) noexcept = 0;
    /// On the capturing thread. `kernel`: a launch made it.
    virtual void graphNodeCreated(std::uint64_t node, bool kernel) noexcept = 0;
    /// A graph was copied or instantiated.
    virtual void graphNodeCloned(std::uint64_t original, std::uint64_t node) noexcept = 0;
};

enum class CallDomain : std::uint8_t { kRuntime, kDriver };

class CuptiApi {
public:
    virtual ~CuptiApi() = default;

    virtual std::uint32_t version() = 0;  ///< 130001; works without a driver

    struct Subscription {
        int code = kCuptiSuccess;
        std::string blocker;  ///< who holds the one place there is; empty: CUPTI did not say
    };
    /// `client` is called until unsubscribe() returns. One at a time.
    virtual Subscription subscribe(CuptiClient& client) = 0;
    virtual int unsubscribe() = 0;

    virtual int useSystemThreadIds() = 0;    ///< gettid, not pthread_self cut to 32 bits
    virtual int promiseZeroedBuffers() = 0;  ///< spares a memset on the application's thread
    virtual int registerBufferCallbacks() = 0;
    virtual int setKind(std::uint32_t kind, bool enabled) = 0;
    virtual int setCall(CallDomain domain, std::uint32_t id, bool enabled) = 0;
    virtual int setGraphNodeCallbacks(bool enabled) = 0;
    virtual int setAllSyncRecords(bool enabled) = 0;

    virtual int pushExternalId(std::uint32_t kind, std::uint64_t id) = 0;
    virtual int popExternalId(std::uint32_t kind) = 0;

    /// Never from a callback. `forced`: incomplete records too.
    virtual int flush(bool forced) = 0;
    /// Records CUPTI dropped since the last call.
    virtual std::uint64_t takeDropped() = 0;
    /// Moves `record` on, from null to the first; points into the buffer.
    virtual int nextRecord(std::uint8_t* buffer, std::size_t validBytes, void*& record) = 0;
    [[nodiscard]] virtual std::string errorText(int code) = 0;
};

// The linked libcupti.so.13.

/// Of the process, as CUPTI itself is; loads without a driver, then subscribe() returns 999.
[[nodiscard]] CuptiApi& cuptiLibrary();

}  // namespace shardscope::collectors
