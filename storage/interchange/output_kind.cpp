#include "storage/interchange/output_kind.h"

#include "storage/interchange/byte_source.h"
#include "storage/interchange/formats.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kFront = std::size_t{64} << 10;

/// The first bytes, gzip looked through; empty where they cannot be read.
std::string frontOf(const std::string& path) {
    auto source = openBytes(path, path);
    std::string front(kFront, '\0');
    std::size_t filled = 0;
    while (source && filled < front.size()) {
        const auto count = (*source)->read(std::span(front).subspan(filled));
        if (!count || *count == 0) break;
        filled += *count;
    }
    front.resize(filled);
    return front;
}

bool isJsonWith(const std::string& path, std::string_view word) {
    const std::string front = frontOf(path);
    return front.starts_with("{") && front.find(word) != std::string::npos;
}

bool isTrace(const std::string& path, std::string_view format) {
    const auto found = recogniseTrace(path);
    return found && (*found)->name == format;
}

}  // namespace

bool isKinetoFile(const std::string& path) {
    if (isJsonWith(path, "\"traceEvents\"") || isJsonWith(path, "\"schemaVersion\"")) return true;
    // Its metadata may be long.
    return isJsonWith(path, "") && findFormat("kineto")->isOne(path);
}

bool isPerfettoFile(const std::string& path) {
    return isTrace(path, "perfetto");
}

bool isNsysFile(const std::string& path) {
    // Tables are described at the front of a database that is written in one go.
    return isTrace(path, "nsys-sqlite") &&
           frontOf(path).find("META_DATA_EXPORT") != std::string::npos;
}

bool isSnapshotFile(const std::string& path) {
    return isTrace(path, "memory-snapshot");
}

bool isFoldedFile(const std::string& path) {
    return isTrace(path, "folded");
}

bool isSpeedscopeFile(const std::string& path) {
    return isJsonWith(path, "speedscope");
}

bool isCsvFile(const std::string& path) {
    const std::string front = frontOf(path);
    const std::string line = front.substr(0, front.find("\r\n"));
    return line.size() < front.size() && line.find(',') != std::string::npos &&
           line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789,") == std::string::npos;
}

bool isReportFile(const std::string& path) {
    return isJsonWith(path, "shardscope.");
}

bool isSafetensorsFile(const std::string& path) {
    const std::string front = frontOf(path);
    std::uint64_t header = 0;
    if (front.size() < 9) return false;
    std::memcpy(&header, front.data(), sizeof header);
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    return !error && front[8] == '{' && header < size;
}

bool isTokenizerFile(const std::string& path) {
    return isJsonWith(path, "\"added_tokens\"") || isJsonWith(path, "\"vocab\"");
}

bool isTokenFile(const std::string& path) {
    std::error_code error;
    return path.ends_with(".bin") && std::filesystem::file_size(path, error) % 2 == 0 && !error;
}

bool isTextFile(const std::string& path) {
    return frontOf(path).find('\0') == std::string::npos;
}

}  // namespace shardscope::interchange
