#include "profiler/collectors/host/stolen_time.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

namespace shardscope::collectors {
namespace {

constexpr std::int64_t kNsOfSecond = 1'000'000'000;
constexpr std::int64_t kReadOfTime = 1000;  ///< of this much time reading may take one part
// Fields of the line, the last one that is read last.
enum Field : std::size_t { kUser, kNice, kSystem, kIdle, kWait, kIrq, kSoftIrq, kSteal, kFields };

std::int64_t steadyNs() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

HostCores::HostCores(const char* path)
    : m_file(path),
      m_tickNs(kNsOfSecond / std::max(1L, sysconf(_SC_CLK_TCK))),
      m_costNs(std::numeric_limits<std::int64_t>::max()) {}

/// One that was interrupted meanwhile says nothing about the cost of the next.
std::optional<CoreTimes> HostCores::read() {
    std::array<char, 256> room;
    const std::int64_t begun = steadyNs();
    const std::string_view text = m_file.read(room);
    m_costNs = std::min(m_costNs, steadyNs() - begun);
    return coreTicksIn(text);
}

std::optional<CoreTimes> HostCores::take(std::int64_t nowNs) {
    m_left = m_last && nowNs < m_nextNs;
    if (m_left) return CoreTimes{};
    const auto ticks = read();
    m_nextNs = nowNs + std::max(m_tickNs, kReadOfTime * m_costNs);
    if (!ticks) return std::nullopt;
    const CoreTimes before = m_last.value_or(*ticks);
    m_last = ticks;
    // The kernel's sums have gone back where cores were taken away.
    const auto since = [this](std::int64_t now, std::int64_t then) {
        return std::max<std::int64_t>(0, now - then) * m_tickNs;
    };
    return CoreTimes{since(ticks->used, before.used), since(ticks->stolen, before.stolen)};
}

void HostCores::skip(std::int64_t nowNs) {
    if (m_left) return;
    static_cast<void>(take(nowNs));
    m_left = false;
}

std::optional<CoreTimes> coreTicksIn(std::string_view text) {
    constexpr std::string_view kAllCores = "cpu ";
    if (!text.starts_with(kAllCores)) return std::nullopt;
    const auto facts = numbersIn<kFields>(text.substr(kAllCores.size()));
    if (!facts) return std::nullopt;
    const auto& ticks = *facts;
    return CoreTimes{ticks[kUser] + ticks[kNice] + ticks[kSystem] + ticks[kIrq] + ticks[kSoftIrq],
                     ticks[kSteal]};
}

std::optional<std::int64_t> CoreWait::read() const {
    std::array<char, 128> room;
    return coreWaitIn(m_file.read(room));
}

std::optional<std::int64_t> coreWaitIn(std::string_view text) {
    const auto facts = numbersIn<3>(text);
    const bool counted = facts && facts->back() > 0;
    return counted ? std::optional((*facts)[1]) : std::nullopt;
}

KernelFile::KernelFile(const char* path) : m_descriptor(open(path, O_RDONLY | O_CLOEXEC)) {}

KernelFile::~KernelFile() {
    if (m_descriptor >= 0) close(m_descriptor);
}

std::string_view KernelFile::read(std::span<char> room) const {
    if (m_descriptor < 0) return {};
    const ssize_t count = pread(m_descriptor, room.data(), room.size(), 0);
    return count <= 0 ? std::string_view()
                      : std::string_view(room.data(), static_cast<std::size_t>(count));
}

}  // namespace shardscope::collectors
