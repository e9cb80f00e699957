#include "storage/sqlite/sqlite_error.h"

#include "storage/model/shell_word.h"
#include "storage/sqlite/sqlite_api.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace shardscope::storage {
namespace {

/// SQLite does not always keep the reason of a write that a limit refused.
std::string sizeLimit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
    return ", and the largest file size this process may write (`ulimit -f`), " +
           std::to_string(limit.rlim_cur) + " bytes";
}

/// Each file takes one, however small.
bool lacksInodes(const std::string& path) {
    struct statvfs disk {};
    const std::size_t end = path.rfind('/');
    const std::string folder = end == std::string::npos ? "." : path.substr(0, end + 1);
    return ::statvfs(folder.c_str(), &disk) == 0 && disk.f_files > 0 && disk.f_favail == 0;
}

}  // namespace

tl::unexpected<Error> databaseError(sqlite3* database, const std::string& path) {
    const int code = database == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database);
    const std::string detail = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
    switch (code & 0xFF) {
        case SQLITE_FULL:
            return failure(ErrorCode::kFailure, "disk full while writing " + path +
                                                    ": free some space; " + kStaysReadable);
        case SQLITE_IOERR:
            if (sqlite3_system_errno(database) == EFBIG)
                return failure(ErrorCode::kFailure,
                               path +
                                   " reached the largest file size this process may write: "
                                   "raise `ulimit -f`; " +
                                   kStaysReadable);
            return failure(ErrorCode::kFailure, "reading or writing " + path + " failed (" +
                                                    detail + "): check the disk" + sizeLimit() +
                                                    "; " + kStaysReadable);
        case SQLITE_NOTADB:
            return failure(
                ErrorCode::kUnreadable,
                path + " is not a recording: open a file written by `shardscope record`");
        case SQLITE_CORRUPT:
            return failure(ErrorCode::kUnreadable, path + " is damaged or truncated (" + detail +
                                                       "): restore it from a copy");
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return failure(ErrorCode::kFailure, path +
                                                    " is locked by another program: close it "
                                                    "there and try again");
        case SQLITE_CANTOPEN:
            if (lacksInodes(path))
                return failure(ErrorCode::kFailure,
                               "no more files fit on the disk of " + path +
                                   ": its table of files (inodes, see `df -i`) is full; remove "
                                   "some files there");
            [[fallthrough]];
        case SQLITE_PERM:
        case SQLITE_READONLY:
            return failure(ErrorCode::kUnreadable,
                           path + " cannot be opened (" + detail + "): check its permissions");
        case SQLITE_AUTH:
            return failure(ErrorCode::kUsage,
                           "a recording is only read: use one SELECT statement, without ATTACH or "
                           "PRAGMA settings");
        case SQLITE_TOOBIG:
            return failure(ErrorCode::kUnreadable,
                           path + " holds a value that is larger than any recording's (" + detail +
                               "): it is damaged; keep what is sound of it with " +
                               repairCommand(path));
        case SQLITE_ERROR:
            return failure(ErrorCode::kUnreadable,
                           path + " lacks something that every recording has (" + detail +
                               "): it is damaged, or was changed by another program; keep what is "
                               "sound of it with " +
                               repairCommand(path));
        default:
            return failure(ErrorCode::kFailure, path + ": " + detail);
    }
}

std::string repairCommand(const std::string& path) {
    constexpr std::string_view kEnding = ".sscope";
    std::string output = path;
    if (output.ends_with(kEnding)) output.resize(output.size() - kEnding.size());
    output.append("-repaired").append(kEnding);
    return "`shardscope repair " + typedWord(path) + " --output " + typedWord(output) + "`";
}

}  // namespace shardscope::storage
