#include "profiler/collectors/cupti/cupti_session.h"

#include "profiler/collectors/cupti/annotations.h"
#include "profiler/collectors/cupti/record_reader.h"
#include "profiler/collectors/cupti/traced_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardscope::collectors::cupti {
namespace {

using capture::DeviceLevel;

constexpr const char* kConsequence =
    "kernels are shown as engine ranges timed by CUDA events instead";

Diagnostic warning(std::string code, std::string message, std::string remedy) {
    Diagnostic diagnostic;
    diagnostic.severity = Severity::kWarning;
    diagnostic.code = std::move(code);
    diagnostic.message = std::move(message);
    diagnostic.remedy = std::move(remedy);
    return diagnostic;
}

Diagnostic wrongVersion(std::uint32_t found) {
    return warning("cupti-version",
                   fmt::format("CUPTI {} was loaded, and the layouts of its records are only known "
                               "for {} (CUDA 13.0 Update 1): {}",
                               found, kCuptiVersion, kConsequence),
                   "Let libcupti.so.13 of CUDA 13.0 Update 1 come first on the library path; a "
                   "stale LD_LIBRARY_PATH is the usual cause.");
}

Diagnostic busy(const std::string& blocker) {
    const std::string who = blocker.empty() ? "another tool" : "'" + blocker + "'";
    return warning("cupti-busy",
                   fmt::format("{} already traces this process, and CUPTI 13.0 serves one tool at "
                               "a time (error {}): {}",
                               who, kCuptiSecondSubscriber, kConsequence),
                   "End the other tool (nsys, ncu, cuda-gdb, compute-sanitizer, torch.profiler) "
                   "and record again.");
}

Diagnostic unavailable(const std::string& what, int code, const std::string& text) {
    return warning("cupti-unavailable",
                   fmt::format("CUPTI cannot trace this process, {} failed with error {} ({}): {}",
                               what, code, text, kConsequence),
                   code == kCuptiUnknown
                       ? "Check the NVIDIA driver with nvidia-smi; CUDA 13.0 needs driver 580 or "
                         "newer."
                       : "Look the error up in NVIDIA's CUPTI documentation, or record without "
                         "kernels.");
}

}  // namespace

Session::Session(CuptiApi& api, const Settings& settings) : m_api(api), m_settings(settings) {}

Session::~Session() {
    if (!m_subscribed) return;
    setLevel(DeviceLevel::kIdle);
    if (tracesNodes()) m_api.setGraphNodeCallbacks(false);
    setAnnotationTarget(nullptr);
    m_api.unsubscribe();
}

std::optional<Diagnostic> Session::subscribe() {
    const std::uint32_t version = m_api.version();
    if (!layoutsKnown(version)) return wrongVersion(version);
    const CuptiApi::Subscription subscription = m_api.subscribe(*this);
    if (subscription.code == kCuptiSecondSubscriber) return busy(subscription.blocker);
    if (subscription.code != kCuptiSuccess) {
        return unavailable("cuptiSubscribe", subscription.code, m_api.errorText(subscription.code));
    }
    m_subscribed = true;
    return std::nullopt;
}

// In this order: the buffers have to be known before the first kind is enabled.
std::optional<Diagnostic> Session::configure() {
    m_pool.emplace(m_settings.buffers, m_settings.bufferBytes);
    const std::pair<const char*, int (CuptiApi::*)()> settings[] = {
        {"cuptiSetThreadIdType", &CuptiApi::useSystemThreadIds},
        {"cuptiActivitySetAttribute", &CuptiApi::promiseZeroedBuffers},
        {"cuptiActivityRegisterCallbacks", &CuptiApi::registerBufferCallbacks},
    };
    for (const auto& [name, setting] : settings) {
        const int code = (m_api.*setting)();
        if (code != kCuptiSuccess) return unavailable(name, code, m_api.errorText(code));
    }
    return std::nullopt;
}

std::optional<Diagnostic> Session::start(DeviceLevel level) {
    if (auto failed = subscribe()) return failed;
    if (auto failed = configure()) return failed;
    setAnnotationTarget(&m_api);
    m_highest = level;
    setLevel(level);
    const MutexLock lock(m_mutex);
    // Whatever the level is when a graph is captured, its replays may be traced.
    if (tracesNodes()) note(m_api.setGraphNodeCallbacks(true), "the nodes of CUDA graphs");
    if (m_kernelsCode == kCuptiSuccess) return std::nullopt;
    return unavailable("enabling kernels", m_kernelsCode, m_api.errorText(m_kernelsCode));
}

void Session::setLevel(DeviceLevel level) {
    level = std::clamp(level, DeviceLevel::kIdle, m_highest);
    const MutexLock lock(m_mutex);
    apply(m_level.load(std::memory_order_relaxed), level);
    m_level.store(level, std::memory_order_relaxed);
}

// Annotations start after and end before what would record them, so that none is lost midway.
void Session::apply(DeviceLevel from, DeviceLevel to) {
    if (from == to) return;
    if (to < DeviceLevel::kLaunches) setAnnotating(false);
    applyKinds(from, to);
    applyCalls(from, to);
    if (to == DeviceLevel::kFull) {
        // Polling code would flood the buffers with queries that returned "not ready".
        note(m_api.setAllSyncRecords(false), "only successful synchronisation");
    }
    if (to >= DeviceLevel::kLaunches) setAnnotating(true);
}

void Session::applyKinds(DeviceLevel from, DeviceLevel to) {
    const auto before = kindsAt(from, m_settings.graphNodes);
    const auto after = kindsAt(to, m_settings.graphNodes);
    const auto has = [](const std::vector<std::uint32_t>& kinds, std::uint32_t kind) {
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    };
    for (const std::uint32_t kind : before) {
        if (!has(after, kind)) m_api.setKind(kind, false);
    }
    for (const std::uint32_t kind : after) {
        if (has(before, kind)) continue;
        const int code = m_api.setKind(kind, true);
        if (kind == kernelKind()) m_kernelsCode = code;
        note(code, kindName(kind));
    }
}

void Session::applyCalls(DeviceLevel from, DeviceLevel to) {
    for (const TracedCall& call : tracedCalls()) {
        const bool wanted = tracedAt(call, to);
        if (wanted == tracedAt(call, from)) continue;
        const int code = m_api.setCall(call.domain, call.id, wanted);
        if (wanted) note(code, call.name);
    }
}

void Session::note(int code, const std::string& what) {
    if (code == kCuptiSuccess) return;
    m_refused.push_back(fmt::format("{} (error {}, {})", what, code, m_api.errorText(code)));
}

std::vector<std::string> Session::takeRefused() {
    const MutexLock lock(m_mutex);
    return std::exchange(m_refused, {});
}

std::uint8_t* Session::takeBuffer(std::size_t& bytes) noexcept {
    std::uint8_t* buffer = m_pool->take();
    bytes = buffer == nullptr ? 0 : m_pool->bufferBytes();
    return buffer;
}

void Session::completeBuffer(std::uint8_t* buffer, std::size_t validBytes) noexcept {
    m_pool->complete(buffer, validBytes);
}

void Session::graphNodeCreated(std::uint64_t node, bool kernel) noexcept {
    if (kernel && level() >= DeviceLevel::kLaunches)
        m_capturedLaunches.fetch_add(1, std::memory_order_relaxed);
    const CapturedLaunch launch = threadAnnotations();
    // Captured outside any operator: then the replay's context says more.
    if (launch != CapturedLaunch{}) m_graphNodes.add(node, launch);
}

void Session::graphNodeCloned(std::uint64_t original, std::uint64_t node) noexcept {
    m_graphNodes.clone(original, node);
}

}  // namespace shardscope::collectors::cupti
