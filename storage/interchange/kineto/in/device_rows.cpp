#include "storage/interchange/kineto/in/device_rows.h"

#include "storage/interchange/collective_kernels.h"
#include "storage/interchange/decimal.h"

#include <algorithm>
#include <iterator>

namespace shardscope::interchange::kineto {
namespace {

constexpr std::size_t kMostRows = 65'536;
constexpr std::string_view kXla = "/device:";
constexpr std::string_view kXlaHost = "/device:CPU";
constexpr std::string_view kAscend = "Ascend Hardware";

/// By number; empty: PyTorch has no profiler of it.
constexpr std::string_view kDeviceTypes[] = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};

constexpr Category kKernels{"", LaneRole::kCompute, true, true};
constexpr Category kCollectives{"", LaneRole::kCommunication, true, true};
constexpr Category kCopies{"", LaneRole::kCopy, true, false};
constexpr Category kWaits{"", LaneRole::kSync, true, false};
/// Modules, scopes and steps that are drawn above the streams from what runs on them.
constexpr Category kRanges{"", LaneRole::kRange, true, false};

bool isDevice(std::string_view process) {
    const std::size_t at = process.find(kXla);
    if (at != std::string_view::npos) return !process.substr(at).starts_with(kXlaHost);
    return process == kAscend;
}

/// XLA names work by its operation (xla/hlo/ir/hlo_opcode.h): "all-reduce.2", "all-gather-start".
bool isCollectiveOfXla(std::string_view name) {
    for (const std::string_view front : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                         "collective-permute", "collective-broadcast"})
        if (name.starts_with(front)) return true;
    return false;
}

Category xlaCategory(std::string_view thread, std::string_view name) {
    const bool stream = thread.find("Stream #") != std::string_view::npos;
    if (!stream && thread != "XLA Ops") return kRanges;
    if (name.starts_with("Memcpy") || name.starts_with("Memset")) return kCopies;
    return isCollectiveKernel(name) || isCollectiveOfXla(name) ? kCollectives : kKernels;
}

Category ascendCategory(const Event& event, std::string_view thread) {
    if (!thread.starts_with("Stream") && !thread.empty()) return kRanges;
    const std::string task = textOf(valueOf(event.members, "Task Type"));
    const auto has = [&](std::string_view word) { return task.find(word) != std::string::npos; };
    if (has("WAIT") || has("RECORD") || has("NOTIFY")) return kWaits;
    if (has("MEMCPY") || has("SDMA")) return kCopies;
    if (has("HCCL") || has("COMMUNICATION") || isCollectiveKernel(textOf(event.name)))
        return kCollectives;
    return kKernels;
}

}  // namespace

std::string deviceTypeName(std::int64_t type) {
    const bool known = type >= 0 && type < static_cast<std::int64_t>(std::size(kDeviceTypes));
    return known ? std::string(kDeviceTypes[type]) : std::to_string(type);
}

std::int64_t deviceTypeOf(std::string_view name) {
    const auto* const at = std::find(std::begin(kDeviceTypes), std::end(kDeviceTypes), name);
    if (at != std::end(kDeviceTypes)) return at - std::begin(kDeviceTypes);
    return parseInteger(name).value_or(1);
}

void DeviceRows::name(const Event& event) {
    const std::string_view kind = bare(event.name);
    if (kind != "process_name" && kind != "thread_name") return;
    if (m_processes.size() + m_threads.size() > kMostRows) return;
    std::string name = textOf(valueOf(event.members, "name"));
    const std::string process(bare(event.process));
    if (kind == "thread_name")
        m_threads[{process, std::string(bare(event.thread))}] = std::move(name);
    else if (isDevice(name))
        m_processes[process] = std::move(name);
}

DeviceRows::Threads DeviceRows::threadsOfDevices() const {
    Threads threads;
    for (const auto& [row, name] : m_threads)
        if (m_processes.contains(row.first)) threads.emplace(row, name);
    return threads;
}

std::string_view DeviceRows::nameOf(std::string_view process) const {
    const auto at = m_processes.find(process);
    return at == m_processes.end() ? std::string_view{} : std::string_view(at->second);
}

std::optional<std::int64_t> DeviceRows::numberOf(std::string_view process) const {
    std::string_view name = nameOf(process);
    if (const std::size_t at = name.find(kXla); at != std::string_view::npos)
        name = name.substr(at + kXla.size());
    const std::size_t colon = name.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    name = name.substr(colon + 1);
    return parseInteger(name.substr(0, name.find_first_not_of("0123456789")));
}

std::optional<Category> DeviceRows::categoryOf(const Event& event) const {
    if (m_processes.empty()) return std::nullopt;
    const std::string_view process = nameOf(bare(event.process));
    if (process.empty()) return std::nullopt;
    const auto at =
        m_threads.find({std::string(bare(event.process)), std::string(bare(event.thread))});
    const std::string_view thread = at == m_threads.end() ? std::string_view{} : at->second;
    if (process == kAscend) return ascendCategory(event, thread);
    return xlaCategory(thread, textOf(event.name));
}

}  // namespace shardscope::interchange::kineto
