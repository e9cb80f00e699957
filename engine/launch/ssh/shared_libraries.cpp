#include "engine/launch/ssh/shared_libraries.h"

#include "engine/launch/ssh/child_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

namespace shardscope::launch {
namespace {

constexpr std::array<std::string_view, 16> kGlibc = {
    "linux-vdso.", "ld-linux",         "libc.so.",     "libm.so.",
    "libmvec.so.", "libpthread.so.",   "libdl.so.",    "librt.so.",
    "libutil.so.", "libresolv.so.",    "libnsl.so.",   "libanl.so.",
    "libnss_",     "libthread_db.so.", "libcrypt.so.", "libBrokenLocale.so."};

/// "	libz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x...)" to the path; empty for other lines.
std::string pathIn(const std::string& line) {
    const auto arrow = line.find(" => /");
    const auto end = line.rfind(" (0x");
    if (arrow == std::string::npos || end == std::string::npos || end < arrow) return {};
    return std::filesystem::path(line.substr(arrow + 4, end - arrow - 4)).lexically_normal();
}

void addOnce(std::vector<std::string>& paths, const std::string& path) {
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

}  // namespace

bool isGlibc(std::string_view fileName) {
    return std::any_of(kGlibc.begin(), kGlibc.end(),
                       [&](std::string_view each) { return fileName.starts_with(each); });
}

SharedLibraries parseLdd(std::string_view output) {
    SharedLibraries libraries;
    std::vector<std::string> paths;
    std::istringstream lines{std::string(output)};
    for (std::string line; std::getline(lines, line);) {
        const std::filesystem::path path = pathIn(line);
        if (path.empty() || isGlibc(path.filename().string())) continue;
        addOnce(paths, path.string());
        if (path.filename() == "libtorch_cpu.so")
            libraries.libTorchRoot = path.parent_path().parent_path().parent_path().string();
    }
    const std::string below = libraries.libTorchRoot + "/";
    for (const std::string& path : paths) {
        const bool ofTorch = below.size() > 1 && path.starts_with(below);
        (ofTorch ? libraries.libTorch : libraries.own).push_back(path);
    }
    return libraries;
}

Result<SharedLibraries> sharedLibraries(const std::vector<std::string>& programs) {
    std::string all;
    for (const std::string& program : programs) {
        if (::access(program.c_str(), X_OK) != 0) continue;
        const auto output = outputOf({"ldd", program});
        if (!output) return failure(output, "what libraries are to be sent to hosts");
        if (const auto lacks = output->find("not found"); lacks != std::string::npos)
            return failure(ErrorCode::kLaunch, fmt::format("{} lacks a library on this host; see "
                                                           "ldd {}",
                                                           program, program));
        all += *output;
    }
    return parseLdd(all);
}

}  // namespace shardscope::launch
