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
constexpr std::size_t kStealField = 7;  ///< behind user, nice, system, idle, iowait, irq, softirq

std::int64_t steadyNs() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

StolenTime::StolenTime(const char* path)
    : m_file(path),
      m_tickNs(kNsOfSecond / std::max(1L, sysconf(_SC_CLK_TCK))),
      m_costNs(std::numeric_limits<std::int64_t>::max()) {}

/// One that was interrupted meanwhile says nothing about the cost of the next.
std::optional<std::int64_t> StolenTime::read() {
    std::array<char, 256> room;
    const std::int64_t begun = steadyNs();
    const std::string_view text = m_file.read(room);
    m_costNs = std::min(m_costNs, steadyNs() - begun);
    return stolenTicksIn(text);
}

std::optional<std::int64_t> StolenTime::take(std::int64_t nowNs) {
    if (m_last && nowNs < m_nextNs) return 0;
    const auto ticks = read();
    m_nextNs = nowNs + std::max(m_tickNs, kReadOfTime * m_costNs);
    if (!ticks) return std::nullopt;
    const std::int64_t before = m_last.value_or(*ticks);
    m_last = ticks;
    // The kernel's sum has gone back where cores were taken away.
    return std::max<std::int64_t>(0, *ticks - before) * m_tickNs;
}

std::optional<std::int64_t> stolenTicksIn(std::string_view text) {
    constexpr std::string_view kAllCores = "cpu ";
    if (!text.starts_with(kAllCores)) return std::nullopt;
    const auto facts = numbersIn<kStealField + 1>(text.substr(kAllCores.size()));
    return facts ? std::optional(facts->back()) : std::nullopt;
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
