// Names in a folder of checkpoints, and files that are durable. Internal to engine/checkpoint.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardscope::checkpoint {

inline constexpr const char* kManifestName = "manifest.json";
inline constexpr const char* kSchema = "shardscope.checkpoint/1";
/// In a partial folder: host and process of its writer.
inline constexpr const char* kMarkName = "writer.json";

[[nodiscard]] std::string checkpointPath(const std::string& folder, std::int32_t nextStep);
[[nodiscard]] std::string partialPath(const std::string& folder, std::int32_t nextStep);
/// What a whole one is called while it is removed.
[[nodiscard]] std::string goingPath(const std::string& checkpoint);
[[nodiscard]] std::string rankFileName(int rank);

/// Whole ones in `folder`, oldest first.
[[nodiscard]] std::vector<std::string> wholeCheckpoints(const std::string& folder);
/// Whatever is called like an unfinished one, of this version or an earlier one.
[[nodiscard]] std::vector<std::string> partialCheckpoints(const std::string& folder);

/// A folder, not a link to one, with a manifest of ours, of any version and also a damaged one.
[[nodiscard]] bool isCheckpoint(const std::string& path);
/// Removes a checkpoint or a partial folder of ours: what marks it goes last, so that what a kill
/// leaves is removed by the next run. What cannot be removed stays.
void removeOurs(const std::string& path);
/// Removes what dead runs left in `folder`; a sentence about folders named like it that no run has
/// marked. Empty: there are none.
[[nodiscard]] std::string removeDeadAndNameOthers(const std::string& folder);

// Files and folders whose contents are on the disk before they are announced.

/// A file being written. Removed again unless it is closed.
class DurableFile {
public:
    static Result<DurableFile> create(const std::string& path);
    DurableFile(DurableFile&& other) noexcept;
    DurableFile& operator=(DurableFile&&) = delete;
    ~DurableFile();

    Result<void> write(std::span<const std::byte> bytes);
    /// fsync and close.
    Result<void> close();

private:
    DurableFile(std::string path, int descriptor)
        : m_path(std::move(path)), m_descriptor(descriptor) {}
    [[nodiscard]] tl::unexpected<Error> failed(const char* what) const;

    std::string m_path;
    int m_descriptor;
};

/// Makes names created or renamed inside `folder` durable.
Result<void> syncFolder(const std::string& folder);

}  // namespace shardscope::checkpoint
