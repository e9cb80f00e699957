#include "storage/interchange/kineto/out/trace_events.h"

#include <array>
#include <charconv>

namespace shardscope::interchange::kineto_out {
namespace {

/// CUPTI's memory kinds as the recording words them, and as Kineto does.
std::string_view memoryName(std::string_view word) {
    constexpr std::pair<std::string_view, std::string_view> kNames[] = {
        {"pageable host", "Pageable"},
        {"pinned host", "Pinned"},
        {"device", "Device"},
        {"array", "Array"},
        {"managed", "Managed"}};
    for (const auto& [ours, theirs] : kNames)
        if (ours == word) return theirs;
    return "Unknown";
}

}  // namespace

const char* collectiveName(CollectiveOp operation) {
    const CollectiveWords* words = entryOf(operation);
    return words != nullptr ? words->c10d : "unknown";
}

const std::string& collectiveKernelName(CollectiveOp operation) {
    static const auto kNames = [] {
        std::array<std::string, kPlaces<CollectiveOp>> names;
        names.fill("ncclKernel_CPU");
        for (const CollectiveWords& words : kWords<CollectiveOp>)
            names[static_cast<std::size_t>(words.value)] =
                std::string("ncclKernel_").append(words.kernel) + "_CPU";
        return names;
    }();
    return kNames[isOne(operation) ? static_cast<std::size_t>(operation) : 0];
}

const char* scalarTypeName(DataType dtype) {
    const DataTypeWords* words = entryOf(dtype);
    return words != nullptr ? words->c10 : "";
}

std::string copyName(std::string_view name, std::string_view from, std::string_view to) {
    if (name.starts_with("Memcpy") || name.starts_with("Memset")) return std::string(name);
    if (name == "set memory") return "Memset (Device)";
    constexpr std::pair<std::string_view, std::string_view> kDirections[] = {
        {"copy host to device", "HtoD"},
        {"copy device to host", "DtoH"},
        {"copy device to device", "DtoD"},
        {"copy host to host", "HtoH"},
        {"copy between devices", "PtoP"}};
    for (const auto& [ours, direction] : kDirections)
        if (ours == name)
            return std::string("Memcpy ")
                .append(direction)
                .append(" (")
                .append(memoryName(from))
                .append(" -> ")
                .append(memoryName(to))
                .append(")");
    return std::string("Memcpy (").append(name).append(")");
}

std::string_view callName(std::string_view name) {
    const std::size_t at = name.rfind("_v");
    constexpr std::size_t kFewestDigits = 4;  // _v2 is part of a driver call's name
    if (at == std::string_view::npos || name.size() - at - 2 < kFewestDigits) return name;
    for (const char c : name.substr(at + 2))
        if (c < '0' || c > '9') return name;
    return name.substr(0, at);
}

std::optional<std::int64_t> streamInName(std::string_view laneName) {
    const std::size_t at = laneName.find("stream ");
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view digits = laneName.substr(at + 7);
    std::int64_t stream = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), stream);
    if (parsed.ec != std::errc{} || stream < 0) return std::nullopt;
    return stream;
}

}  // namespace shardscope::interchange::kineto_out
