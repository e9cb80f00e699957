#include "profiler/planning/calibration_store.h"

#include "engine/run/config/machine_figure.h"
#include "storage/model/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace shardscope::planning {
namespace {

namespace fs = std::filesystem;

/// Letters and digits, everything else a hyphen: a part of a file's name.
std::string plain(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool keeps = byte < 0x80 && std::isalnum(byte) != 0;
        if (keeps)
            name += static_cast<char>(std::tolower(byte));
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    while (name.ends_with('-')) name.pop_back();
    return name.empty() ? "unknown" : name;
}

std::string stemOf(const std::string& host, run::Device kind, const std::string& device) {
    if (kind != run::Device::kCpu) return plain(host) + '-' + plain(device);
    const std::string held = run::heldInstructions();
    return plain(host) + '-' + toWord(kind) + (held.empty() ? "" : '-' + plain(held));
}

Result<std::optional<Calibration>> readFrom(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::error_code error;
    if (!file && !fs::exists(path, error)) return std::optional<Calibration>();
    std::ostringstream text;
    text << file.rdbuf();
    if (!file)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} cannot be read; check its permissions", path));
    auto read = parseCalibration(text.str());
    if (read) return std::optional(std::move(*read));
    return failure(ErrorCode::kUnreadable,
                   fmt::format("{}: {}; it is not used: run `shardscope calibrate` again", path,
                               read.error().message));
}

/// Of this host and any GPU.
Result<std::optional<Calibration>> newestGpu(const std::string& host, const std::string& folder) {
    std::optional<Calibration> newest;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
        if (!entry.path().filename().string().starts_with(plain(host) + '-') ||
            entry.path().extension() != ".json")
            continue;
        auto read = readFrom(entry.path().string());
        if (!read) return read;
        const bool ours = *read && (*read)->host == host && (*read)->kind == run::Device::kCuda;
        if (ours && (!newest || newest->unixS < (*read)->unixS)) newest = std::move(*read);
    }
    return newest;
}

}  // namespace

std::string calibrationFolder() {
    const char* state = std::getenv("XDG_STATE_HOME");
    if (state != nullptr && *state == '/') return std::string(state) + "/shardscope/calibrations";
    const char* home = std::getenv("HOME");
    if (home != nullptr && *home == '/')
        return std::string(home) + "/.local/state/shardscope/calibrations";
    return {};
}

std::string calibrationPath(const std::string& folder, const std::string& host, run::Device kind,
                            const std::string& device) {
    return folder + '/' + stemOf(host, kind, device) + ".json";
}

Result<std::optional<Calibration>> findCalibration(const std::string& host, run::Device kind,
                                                   const std::string& device,
                                                   const std::string& folder) {
    if (folder.empty()) return std::optional<Calibration>();
    if (kind == run::Device::kCuda && device.empty()) return newestGpu(host, folder);
    auto read = readFrom(calibrationPath(folder, host, kind, device));
    // Names that differ in what a file's name cannot hold.
    if (read && *read && (*read)->host != host) return std::optional<Calibration>();
    return read;
}

Result<std::string> keepCalibration(const Calibration& calibration, const std::string& folder) {
    if (folder.empty())
        return failure(ErrorCode::kFailure,
                       "there is no folder to keep the calibration in; set HOME or XDG_STATE_HOME");
    const std::string path =
        calibrationPath(folder, calibration.host, calibration.kind, calibration.device);
    std::error_code error;
    fs::create_directories(folder, error);
    // In one step: runs beside this one read it too.
    const int written = replaceOwnFile(path, toJson(calibration));
    if (written == 0) return path;
    return failure(ErrorCode::kFailure,
                   fmt::format("the calibration cannot be kept as {}: {}; check the folder, or "
                               "name another by XDG_STATE_HOME",
                               path, std::strerror(written)));
}

}  // namespace shardscope::planning
