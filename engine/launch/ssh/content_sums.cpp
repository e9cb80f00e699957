#include "engine/launch/ssh/content_sums.h"

#include "engine/launch/ssh/child_process.h"
#include "storage/model/new_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>

namespace shardscope::launch {
namespace {

constexpr std::size_t kSumLetters = 64;

/// A file as it was when its sum was computed: "size seconds.nanoseconds path".
Result<std::string> stampOf(const std::string& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0)
        return failure(ErrorCode::kUnreadable,
                       fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    return fmt::format("{} {}.{:09} {}", facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                       path);
}

using Sums = std::map<std::string, std::string>;  ///< by stamp

Sums remembered(const std::string& memory) {
    Sums sums;
    std::ifstream file(memory);
    for (std::string line; std::getline(file, line);)
        if (line.size() > kSumLetters + 1)
            sums[line.substr(kSumLetters + 1)] = line.substr(0, kSumLetters);
    return sums;
}

/// Without those of files that have changed or gone. That it cannot be written costs time only.
void remember(const Sums& sums, const std::string& memory) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(memory).parent_path(), ignored);
    std::string lines;
    for (const auto& [stamp, sum] : sums) {
        const std::size_t path = stamp.find(' ', stamp.find(' ') + 1) + 1;
        if (const auto now = stampOf(stamp.substr(path)); now && *now == stamp)
            lines += sum + ' ' + stamp + '\n';
    }
    [[maybe_unused]] const int kept = replaceOwnFile(memory, lines);
}

/// Command lines are of limited length.
constexpr std::size_t kMostAtOnce = 256;

Result<void> computeSome(std::span<const std::string> stamps, std::span<const std::string> paths,
                         Sums& sums) {
    std::vector<std::string> words = {"sha256sum", "--"};
    words.insert(words.end(), paths.begin(), paths.end());
    const auto output = outputOf(words);
    if (!output) return failure(output, "the sums of what is sent to hosts");
    std::istringstream lines(*output);
    std::string line;
    for (std::size_t i = 0; i < stamps.size() && std::getline(lines, line); ++i)
        if (line.size() > kSumLetters) sums[stamps[i]] = line.substr(0, kSumLetters);
    return {};
}

Result<void> compute(const std::vector<std::string>& stamps, const std::vector<std::string>& paths,
                     Sums& sums) {
    for (std::size_t at = 0; at < paths.size(); at += kMostAtOnce) {
        const std::size_t count = std::min(kMostAtOnce, paths.size() - at);
        const auto done = computeSome(std::span(stamps).subspan(at, count),
                                      std::span(paths).subspan(at, count), sums);
        if (!done) return done;
    }
    return {};
}

}  // namespace

Result<std::vector<std::string>> contentSums(const std::vector<std::string>& paths,
                                             const std::string& memory) {
    Sums sums = remembered(memory);
    std::vector<std::string> stamps;
    std::vector<std::string> newStamps;
    std::vector<std::string> newPaths;
    for (const std::string& path : paths) {
        // sha256sum writes such names in another way, here and on the hosts.
        if (path.find_first_of("\\\n\r") != std::string::npos)
            return failure(
                ErrorCode::kUnreadable,
                fmt::format("{}: no checksum can be computed of a file whose name holds a "
                            "backslash or a line break; rename it",
                            path));
        const auto stamp = stampOf(path);
        if (!stamp) return failure(stamp);
        stamps.push_back(*stamp);
        if (sums.contains(*stamp)) continue;
        newStamps.push_back(*stamp);
        newPaths.push_back(path);
    }
    if (!newPaths.empty()) {
        if (auto computed = compute(newStamps, newPaths, sums); !computed) return failure(computed);
        if (!memory.empty()) remember(sums, memory);
    }
    std::vector<std::string> found;
    for (const std::string& stamp : stamps) found.push_back(sums[stamp]);
    return found;
}

std::string contentSumsMemory() {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache != nullptr && *cache != '\0') return std::string(cache) + "/shardscope/content-sums";
    return home != nullptr ? std::string(home) + "/.cache/shardscope/content-sums" : "";
}

Result<std::string> contentSum(const std::string& text) {
    const auto output = outputOf({"sha256sum"}, text);
    if (!output) return failure(output);
    return output->substr(0, kSumLetters);
}

}  // namespace shardscope::launch
