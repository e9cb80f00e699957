// A library to be loaded before all others (LD_PRELOAD), for processes of a host whose clock is not
// ours: what they take for CLOCK_MONOTONIC is shifted, drifts and is set at some time.
//
//   SKEW_AHEAD_NS  at SKEW_SINCE_NS of the kernel's clock; SKEW_DRIFT_PPB from there on
//   SKEW_SET_AT_NS, SKEW_SET_NS  when it is set, and by how much; backwards it stands still
//   instead until it has lost that much, as the clock of a host that slept
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

std::int64_t setting(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? 0 : std::strtoll(value, nullptr, 10);
}

struct Skew {
    std::int64_t aheadNs = setting("SKEW_AHEAD_NS"), sinceNs = setting("SKEW_SINCE_NS");
    std::int64_t driftPpb = setting("SKEW_DRIFT_PPB");
    std::int64_t setAtNs = setting("SKEW_SET_AT_NS"), setNs = setting("SKEW_SET_NS");

    std::int64_t skewed(std::int64_t kernelNs) const {
        if (setNs < 0 && kernelNs >= setAtNs) return evenly(std::max(setAtNs, kernelNs + setNs));
        return evenly(kernelNs) + (kernelNs >= setAtNs ? setNs : 0);
    }

private:
    std::int64_t evenly(std::int64_t kernelNs) const {
        const double drift = static_cast<double>(driftPpb) * 1e-9;
        return kernelNs + aheadNs +
               static_cast<std::int64_t>(static_cast<double>(kernelNs - sinceNs) * drift);
    }
};

const Skew& skew() {
    static const Skew made;
    return made;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

timespec timeOf(std::int64_t ns) {
    return {ns / 1'000'000'000, ns % 1'000'000'000};
}

int kernelTime(clockid_t clock, timespec* time) {
    static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
    return real(clock, time);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const int status = kernelTime(clock, time);
    if (clock == CLOCK_MONOTONIC && status == 0) *time = timeOf(skew().skewed(nanoseconds(*time)));
    return status;
}

/// Deadlines are theirs, and the kernel's clock is waited for.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* deadline) {
    using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
    static const auto real = next<Wait>("pthread_cond_clockwait");
    if (clock != CLOCK_MONOTONIC) return real(condition, mutex, clock, deadline);
    timespec now{};
    kernelTime(clock, &now);
    const std::int64_t kernelNs = nanoseconds(now);
    const std::int64_t left =
        std::max<std::int64_t>(0, nanoseconds(*deadline) - skew().skewed(kernelNs));
    const timespec theirs = timeOf(kernelNs + left);
    return real(condition, mutex, clock, &theirs);
}
}
