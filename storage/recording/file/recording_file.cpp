#include "storage/recording/file/recording_file.h"

#include "storage/recording/file/output_file.h"
#include "storage/recording/file/part_files.h"
#include "storage/recording/file/row_sql.h"
#include "storage/schema/migrations.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/sqlite_error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace shardscope::storage {
namespace {

/// A table or view that hides the virtual table of queries; views in place of tables SQLite
/// refuses.
Result<void> checkSchema(Connection& connection) {
    auto hiding =
        connection.integer("SELECT count(*) FROM sqlite_master WHERE name='events' COLLATE NOCASE");
    if (!hiding) return failure(hiding);
    if (*hiding == 0) return {};
    return failure(ErrorCode::kUnreadable,
                   connection.path() +
                       " has a table named events, which no recording has: it was changed by "
                       "another program; " +
                       repairCommand(connection.path()) + " keeps what is Shardscope's of it");
}

/// Opening is lazy in SQLite; reading a row makes it recover the WAL or fail.
Result<Connection> openAs(const std::string& path, Connection::Mode mode) {
    auto connection = Connection::open(path, mode);
    if (!connection) return connection;
    connection->distrustSchema();
    if (auto plain = checkSchema(*connection); !plain) return failure(plain);
    if (auto rows = connection->integer("SELECT count(*) FROM run"); !rows) return failure(rows);
    if (auto set = connection->execute("PRAGMA query_only=ON"); !set) return failure(set);
    return connection;
}

/// A writer that was killed in the very last steps of finalising leaves a journal, which takes back
/// what it had half changed. SQLite applies it at the first chance to write, which a reader is not.
bool takeBackHalfChanges(const std::string& path) {
    std::error_code error;
    if (std::filesystem::file_size(path + "-journal", error) == 0 || error) return false;
    auto writing = Connection::open(path, Connection::Mode::kCreate);
    return writing && writing->integer("SELECT count(*) FROM run").has_value();
}

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

std::string thisProcess() {
    std::array<char, 256> name{};
    const bool known = gethostname(name.data(), name.size() - 1) == 0;
    return "process " + std::to_string(getpid()) + (known ? " on " + std::string(name.data()) : "");
}

/// Without an end, and being recorded.
Result<void> insertRun(Connection& connection, const RunFacts& run) {
    RunFacts begun = run;
    begun.status = RunStatus::kRecording;
    auto insert = connection.prepare(insertSql(tableOf<RunFacts>(), "INSERT"));
    if (!insert) return failure(insert);
    if (auto done = bindRow(*insert, begun).run(); !done) return done;
    return connection.execute("UPDATE run SET ended_ns=NULL");
}

Result<void> writeSchema(Connection& connection, const RunFacts& run) {
    auto transaction = Transaction::begin(connection);
    if (!transaction) return failure(transaction);
    std::string sql = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                      "; PRAGMA user_version=" + std::to_string(kFormatVersion) + ";";
    for (const Migration& migration : migrations()) sql += migration.sql;
    sql += "INSERT INTO meta VALUES('format','shardscope recording, storage/schema/FORMAT.md');";
    if (auto done = connection.execute(sql); !done) return done;
    auto writer = connection.prepare("INSERT INTO meta VALUES(?,?)");
    if (!writer) return failure(writer);
    if (auto done = writer->bind(1, kWriterKey).bind(2, thisProcess()).run(); !done) return done;
    if (auto done = insertRun(connection, run); !done) return done;
    return transaction->commit();
}

/// Moves the finished file to its name; a file that appeared meanwhile is not overwritten unless
/// asked for.
Result<void> moveIntoPlace(const std::string& from, const std::string& to, bool overwrite) {
    // A journal of a file that is replaced, or was removed, must never be applied to the new one.
    if (overwrite || access(to.c_str(), F_OK) != 0)
        for (const char* suffix : {"-wal", "-shm", "-journal"}) unlink((to + suffix).c_str());
    if (overwrite) {
        if (std::rename(from.c_str(), to.c_str()) == 0) return {};
    } else if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
        return {};
    } else if (errno == EINVAL && link(from.c_str(), to.c_str()) == 0) {
        unlink(from.c_str());
        return {};
    }
    return failure(ErrorCode::kUsage,
                   "cannot write " + to + ": " + std::strerror(errno) + ", choose another name");
}

}  // namespace

Result<Connection> openReadingConnection(const std::string& path) {
    if (auto checked = checkRecordingFile(path); !checked) return failure(checked);
    auto shared = openAs(path, Connection::Mode::kReadOnly);
    if (!shared && takeBackHalfChanges(path)) shared = openAs(path, Connection::Mode::kReadOnly);
    if (shared) return shared;
    // A WAL in a folder that cannot be written: no shared memory can be made beside it.
    if (auto alone = openAs(path, Connection::Mode::kReadOnlyPrivate)) return alone;
    if (auto main = openAs(path, Connection::Mode::kImmutable)) return main;
    return shared;
}

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

Result<RecordingFile> createRecordingFile(const std::string& path, const RunFacts& run,
                                          bool overwrite, const std::vector<std::string>& inputs) {
    const OutputRequest request{path, overwrite, kRecording, inputs};
    if (auto fine = settleOutput(request); !fine) return failure(fine);
    removeDeadParts(path);
    const std::string fresh = partName(path, "new");
    unlink(fresh.c_str());
    {
        auto connection = Connection::open(fresh, Connection::Mode::kCreate);
        if (!connection) return failure(connection);
        if (auto written = writeSchema(*connection, run); !written) {
            unlink(fresh.c_str());
            return failure(written.error().code, withoutPart(written.error().message, fresh, path));
        }
    }
    // Before it has its name, so that no moment exists in which it seems to have no writer.
    auto lock = WriterLock::take(fresh);
    if (!lock) return failure(lock);
    const PlacingLock placing(path);
    // Another recorder may have placed its file meanwhile.
    auto moved = settleOutput(request);
    if (moved) moved = moveIntoPlace(fresh, path, overwrite);
    if (!moved) {
        unlink(fresh.c_str());
        return failure(moved);
    }
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    if (!connection) return failure(connection);
    // secure_delete is on in Debian's build and would write every freed page twice.
    auto set = connection->execute(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=OFF;"
        "PRAGMA wal_autocheckpoint=4000");
    if (!set) return failure(set);
    return RecordingFile{std::move(*lock), std::move(*connection), path};
}

}  // namespace shardscope::storage
