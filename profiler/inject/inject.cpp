// The entry points of inject_api.h: find the session of this process, and do nothing without one.
#include "profiler/inject/inject_api.h"
#include "profiler/inject/process_session.h"
#include "profiler/inject/stacks/lock_calls.h"
#include "storage/model/host_clock.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>

namespace shardscope::inject {
namespace {

std::atomic<ProcessSession*> g_session{nullptr};
char g_why[512];

/// Of this process, while it is recorded.
ProcessSession* session() {
    ProcessSession* own = g_session.load(std::memory_order_acquire);
    return own != nullptr && !own->isLost() ? own : nullptr;
}

/// A session that failed is not used again.
void giveUp(ProcessSession& own, const char* why) noexcept {
    g_session.store(nullptr);
    try {
        own.log("error", std::string("the recording of this process ends here: ") + why);
    } catch (...) {  // then without a word
    }
}

/// What is thrown inside, where memory is short for instance, ends here. False: there is no
/// session.
template <class Use>
bool guarded(Use use) noexcept {
    ProcessSession* own = session();
    if (own == nullptr) return false;
    try {
        use(*own);
    } catch (const std::exception& error) {
        giveUp(*own, error.what());
    } catch (...) {
        giveUp(*own, "an unknown failure");
    }
    return true;
}

/// Only what may be called between fork() and exec().
void forgetInChild() {
    if (const ProcessSession* parents = g_session.load()) parents->closeInChild();
    g_session.store(nullptr);
}

/// The recorder has gone.
void switchOffWhenLost() noexcept {
    ProcessSession* own = g_session.load();
    if (own != nullptr && own->isLost()) own->marks().stop();
}

void atExit(int status, void*) {
    guarded([status](ProcessSession& own) { own.finish(status); });
    g_session.store(nullptr);
}

void spanBegin(const ShardscopeSpan* span) noexcept {
    if (!guarded([span](ProcessSession& own) { own.spans().begin(*span, hostNow()); }))
        SpanRecorder::beginUnrecorded(span->key);
}

void spanEnd(const void* key) noexcept {
    const std::int64_t nowNs = hostNow();
    if (!guarded([=](ProcessSession& own) { own.spans().end(key, nowNs); }))
        SpanRecorder::endUnrecorded(key);
}

std::uint64_t collectiveIssued(const ShardscopeCollective* collective) noexcept {
    std::uint64_t number = 0;
    guarded([&](ProcessSession& own) {
        number = own.collectives().issued(*collective, hostNow(), own.marks().step());
    });
    return number;
}

void collectiveCompleted(std::uint64_t number) noexcept {
    guarded([number](ProcessSession& own) { own.collectives().completed(number, hostNow()); });
}

void collectiveFailed(std::uint64_t number) noexcept {
    guarded([number](ProcessSession& own) { own.collectives().failed(number, hostNow()); });
}

void allocated(const void* block, std::size_t bytes) noexcept {
    guarded([&](ProcessSession& own) { own.allocated(block, bytes, MemoryAction::kAllocate); });
}

void freed(const void* block, std::size_t bytes) noexcept {
    guarded([&](ProcessSession& own) { own.allocated(block, bytes, MemoryAction::kFree); });
}

const ShardscopeApi kApi{
    SHARDSCOPE_API_VERSION,  sizeof(ShardscopeApi), spanBegin, spanEnd, collectiveIssued,
    collectiveCompleted,     collectiveFailed,      allocated, freed,   shardscope_log,
    shardscope_first_forward};

std::int32_t startOnce() {
    if (g_session.load() != nullptr) return 1;
    const auto options = optionsFromEnvironment();
    auto started = options ? ProcessSession::start(*options) : failure(options);
    if (!started) {
        std::strncpy(g_why, started.error().message.c_str(), sizeof(g_why) - 1);
        return -1;
    }
    static const bool kHooked = [] {
        ::pthread_atfork(nullptr, nullptr, forgetInChild);
        ::on_exit(atExit, nullptr);
        return true;
    }();
    static_cast<void>(kHooked);
    g_session.store(*started, std::memory_order_release);
    return 0;
}

/// Python's own, once its lock is watched.
LockCalls g_lockCalls;

void* saveThread() {
    guarded([](ProcessSession& own) {
        own.spans().stacks().released(own.level() >= CaptureLevel::kFull);
    });
    return g_lockCalls.save();
}

/// Python may end the thread in here.
void restoreThread(void* state) {
    PythonStacks::restored();
    g_lockCalls.restore(state);
}

/// Once in a process; a child of fork() has it already.
Result<void> watchLock() {
    if (g_lockCalls.save != nullptr) return {};
    const auto python = pythonLockCalls();
    if (!python) return failure(python);
    g_lockCalls = *python;
    auto replaced = replaceLockCalls("/libtorch_python.so", {saveThread, restoreThread});
    if (!replaced) g_lockCalls = {};
    return replaced;
}

Result<void> startStacks(ProcessSession& own) {
    const auto api = PythonApi::find();
    if (!api) return failure(api);
    if (const auto watched = watchLock(); !watched) return watched;
    own.spans().stacks().start(*api);
    return {};
}

MemoryCategory categoryOf(std::string_view word) {
    if (word == "parameter") return MemoryCategory::kParameterShard;
    if (word == "gradient") return MemoryCategory::kGradient;
    if (word == "optimizer") return MemoryCategory::kOptimizerState;
    return MemoryCategory::kOther;
}

}  // namespace
}  // namespace shardscope::inject

using namespace shardscope;          // NOLINT(google-build-using-namespace): nothing but calls
using namespace shardscope::inject;  // NOLINT(google-build-using-namespace)

std::int32_t shardscope_start(void) {
    try {
        return startOnce();
    } catch (const std::exception& error) {
        std::strncpy(g_why, error.what(), sizeof(g_why) - 1);
        return -1;
    }
}

const char* shardscope_why(void) {
    return g_why;
}

std::int32_t shardscope_level(void) {
    const ProcessSession* own = session();
    return own == nullptr ? SHARDSCOPE_OFF : static_cast<std::int32_t>(own->level());
}

const ShardscopeApi* shardscope_api(void) {
    return &kApi;
}

void shardscope_on_level(void (*set)(std::int32_t level)) {
    guarded([set](ProcessSession& own) { own.marks().onLevel(set); });
}

void shardscope_fact(const char* name, const char* value) {
    guarded([&](ProcessSession& own) { own.post(capture::ProcessFact{name, value}); });
}

void shardscope_rank(std::int32_t rank, const char* source) {
    guarded([&](ProcessSession& own) { own.post(capture::RankClaim{rank, source}); });
}

void shardscope_first_forward(void) {
    guarded([](ProcessSession& own) { own.marks().firstForward(hostNow()); });
}

void shardscope_step(const char* source) {
    const std::int64_t nowNs = hostNow();
    guarded([&](ProcessSession& own) { own.marks().stepEnds(source, nowNs); });
    switchOffWhenLost();
}

void shardscope_metric(const char* name, double value) {
    guarded([&](ProcessSession& own) { own.metric(name, value); });
}

void shardscope_range_begin(const char* name) {
    ShardscopeSpan span{};
    span.name = name;
    span.name_length = std::strlen(name);
    span.sequence = -1;
    span.scope = SHARDSCOPE_RANGE;
    spanBegin(&span);
}

void shardscope_range_end(void) {
    spanEnd(nullptr);
}

const char* shardscope_python_stacks(void) {
    static char why[512];
    std::strncpy(why, "this process is not recorded", sizeof(why) - 1);
    guarded([](ProcessSession& own) {
        const auto started = startStacks(own);
        std::strncpy(why, started ? "" : started.error().message.c_str(), sizeof(why) - 1);
    });
    return *why != '\0' ? why : nullptr;
}

void shardscope_block(const void* block, const char* category) {
    guarded([&](ProcessSession& own) {
        own.memory().mark(reinterpret_cast<std::uint64_t>(block), categoryOf(category),
                          own.capture().at(hostNow()));
    });
}

void shardscope_log(const char* level, const char* text) {
    guarded([&](ProcessSession& own) { own.log(level, text); });
}

void shardscope_flush(std::int32_t milliseconds) {
    guarded([milliseconds](ProcessSession& own) { own.flush(milliseconds); });
}
