#include "storage/recording/file/recording_file.h"
#include "storage/schema/migrations.h"
#include "storage/sqlite/repair_command.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace shardscope::storage {
namespace {

constexpr std::size_t kHeaderBytes = 100;
using Header = std::array<unsigned char, kHeaderBytes>;

/// SQLite's header is big-endian.
std::uint32_t word(const Header& header, std::size_t at) {
    return static_cast<std::uint32_t>(header[at]) << 24 |
           static_cast<std::uint32_t>(header[at + 1]) << 16 |
           static_cast<std::uint32_t>(header[at + 2]) << 8 | header[at + 3];
}

std::int64_t sizeOf(const std::string& path) {
    struct stat facts {};
    return stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

/// Bytes the main file must have by its own header; 0 when the header cannot tell.
std::int64_t claimedSize(const Header& header) {
    const std::uint32_t changes = word(header, 24);
    const std::uint32_t validFor = word(header, 92);
    if (changes != validFor) return 0;
    const std::int64_t page = header[16] * 256 + header[17];
    return (page == 1 ? 65536 : page) * static_cast<std::int64_t>(word(header, 28));
}

tl::unexpected<Error> unreadable(std::string sentence) {
    return failure(ErrorCode::kUnreadable, std::move(sentence));
}

Result<Header> readHeader(const std::string& path) {
    struct stat facts {};
    if (stat(path.c_str(), &facts) != 0) {
        if (errno == ENOENT) return unreadable(path + " does not exist: check the name");
        return unreadable(path + " cannot be read: " + std::strerror(errno));
    }
    if (S_ISDIR(facts.st_mode))
        return unreadable(path + " is a folder: name a recording inside it");
    // A pipe would be waited for.
    if (!S_ISREG(facts.st_mode))
        return unreadable(path +
                          " is no file but a pipe, socket or device: name a file written by "
                          "`shardscope record`");
    std::ifstream file(path, std::ios::binary);
    if (!file) return unreadable(path + " cannot be read: " + std::strerror(errno));
    if (facts.st_size == 0)
        return unreadable(path + " is empty: it is not a recording, record again");
    Header header{};
    file.read(reinterpret_cast<char*>(header.data()), static_cast<std::streamsize>(header.size()));
    const bool whole = file.gcount() == static_cast<std::streamsize>(header.size());
    if (!whole || std::memcmp(header.data(), "SQLite format 3", 16) != 0)
        return unreadable(path + " is not a recording: open a file written by `shardscope record`");
    return header;
}

}  // namespace

Result<std::int64_t> claimedFileSize(const std::string& path) {
    auto header = readHeader(path);
    if (!header) return failure(header);
    if (word(*header, 68) != static_cast<std::uint32_t>(kApplicationId))
        return unreadable(path +
                          " is an SQLite database but not a recording of Shardscope: open a "
                          "file written by `shardscope record`");
    const auto major = static_cast<std::int32_t>(word(*header, 60)) / 1000;
    if (major > kFormatMajor)
        return unreadable(path + " has recording format " + std::to_string(major) +
                          ", this program reads up to " + std::to_string(kFormatMajor) +
                          ": open it with a newer Shardscope");
    return claimedSize(*header);
}

Result<void> checkRecordingFile(const std::string& path) {
    const auto claims = claimedFileSize(path);
    if (!claims) return failure(claims);
    const std::int64_t claimed = *claims;
    const std::int64_t size = sizeOf(path);
    // With a WAL beside it the main file may rightly be shorter.
    if (size < claimed && sizeOf(path + "-wal") == 0)
        return unreadable(path + " is truncated: " + std::to_string(size) + " of " +
                          std::to_string(claimed) +
                          " bytes are there, copy it again or salvage "
                          "what is left with " +
                          repairCommand(path));
    return {};
}

}  // namespace shardscope::storage
