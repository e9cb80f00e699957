#include "engine/checkpoint/checkpoint_files.h"

#include "storage/model/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace shardscope::checkpoint {
namespace {

namespace fs = std::filesystem;

/// As manifests of all versions begin.
constexpr std::string_view kAnySchema = R"("shardscope.checkpoint/)";
constexpr std::string_view kPrefix = "step-";
/// In front, so that step-* names nothing that is not whole.
constexpr std::string_view kPartial = "partial-";
constexpr std::string_view kGoing = "partial-old-";
/// Of those that earlier versions left behind.
constexpr std::string_view kOldPartial = ".partial";

std::vector<std::string> foldersNamed(const std::string& folder, bool partial) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        const bool isStep = name.starts_with(kPrefix);
        const bool isPartial =
            isStep ? name.ends_with(kOldPartial)
                   : name.starts_with(kPartial) && name.find(kPrefix) != std::string::npos;
        if ((!isStep && !isPartial) || isPartial != partial) continue;
        const bool whole = fs::exists(entry.path() / kManifestName, error);
        if (partial || whole) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());  // steps are padded with zeros
    return paths;
}

/// Linux writes at most this much at once.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

std::string reason(int error) {
    if (error == ENOSPC || error == EDQUOT)
        return fmt::format("{}; free some room or name another folder", std::strerror(error));
    return std::strerror(error);
}

}  // namespace

std::string checkpointPath(const std::string& folder, std::int32_t nextStep) {
    return fmt::format("{}/{}{:010}", folder, kPrefix, nextStep);
}

std::string partialPath(const std::string& folder, std::int32_t nextStep) {
    return fmt::format("{}/{}{}{:010}", folder, kPartial, kPrefix, nextStep);
}

std::string goingPath(const std::string& checkpoint) {
    const fs::path path(checkpoint);
    return (path.parent_path() / fmt::format("{}{}", kGoing, path.filename().string())).string();
}

std::string rankFileName(int rank) {
    return fmt::format("rank-{:05}.safetensors", rank);
}

std::vector<std::string> wholeCheckpoints(const std::string& folder) {
    return foldersNamed(folder, false);
}

std::vector<std::string> partialCheckpoints(const std::string& folder) {
    return foldersNamed(folder, true);
}

bool isCheckpoint(const std::string& path) {
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(path, error))) return false;
    const int file = openRegularFile(path + "/" + kManifestName);
    if (file < 0) return false;
    std::array<char, 256> start{};
    const ssize_t count = ::read(file, start.data(), start.size());
    ::close(file);
    // One that is cut off is ours as well.
    return count > 0 &&
           std::string_view(start.data(), static_cast<std::size_t>(count)).find(kAnySchema) !=
               std::string_view::npos;
}

void removeOurs(const std::string& path) {
    std::error_code error;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(path, error)) files.push_back(entry.path());
    for (const fs::path& file : files)
        if (file.filename() != kManifestName && file.filename() != kMarkName)
            fs::remove_all(file, error);
    for (const char* mark : {kManifestName, kMarkName}) fs::remove(fs::path(path) / mark, error);
    fs::remove(path, error);
}

Result<DurableFile> DurableFile::create(const std::string& path) {
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0)
        return failure(ErrorCode::kFailure,
                       fmt::format("{} cannot be created: {}", path, reason(errno)));
    return DurableFile(path, descriptor);
}

DurableFile::DurableFile(DurableFile&& other) noexcept
    : m_path(std::move(other.m_path)), m_descriptor(std::exchange(other.m_descriptor, -1)) {}

DurableFile::~DurableFile() {
    if (m_descriptor < 0) return;
    struct stat status {};
    const bool ours = ::fstat(m_descriptor, &status) == 0 && S_ISREG(status.st_mode);
    ::close(m_descriptor);
    if (ours) ::unlink(m_path.c_str());  // a device was there before
}

tl::unexpected<Error> DurableFile::failed(const char* what) const {
    return failure(ErrorCode::kFailure, fmt::format("{} {}: {}", m_path, what, reason(errno)));
}

Result<void> DurableFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count =
            ::write(m_descriptor, bytes.data(), std::min(bytes.size(), kMostAtOnce));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return failed("cannot be written");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

Result<void> DurableFile::close() {
    if (::fsync(m_descriptor) != 0) return failed("cannot be brought to the disk");
    const int descriptor = std::exchange(m_descriptor, -1);
    if (::close(descriptor) != 0) return failed("cannot be closed");
    return {};
}

Result<void> syncFolder(const std::string& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (synced) return {};
    return failure(ErrorCode::kFailure, fmt::format("folder {} cannot be brought to the disk: {}",
                                                    folder, reason(error)));
}

}  // namespace shardscope::checkpoint
