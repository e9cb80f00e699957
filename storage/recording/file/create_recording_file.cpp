#include "storage/recording/file/output_target.h"
#include "storage/recording/file/part_files.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/file/row_sql.h"
#include "storage/schema/migrations.h"
#include "storage/sqlite/transaction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace shardscope::storage {
namespace {

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

Result<RecordingFile> createRecordingFile(const std::string& path, const RunFacts& run,
                                          bool overwrite, const std::vector<std::string>& inputs) {
    const auto target = settleOutput({path, overwrite, kRecording, inputs});
    if (!target) return failure(target);
    removeDeadParts(*target);
    const std::string fresh = partName(*target, "new");
    unlink(fresh.c_str());
    {
        auto connection = Connection::open(fresh, Connection::Mode::kCreate);
        if (!connection) return failure(connection);
        if (auto written = writeSchema(*connection, run); !written) {
            unlink(fresh.c_str());
            return failure(written.error().code, withoutPart(written.error().message, fresh, path));
        }
    }
    // Before it has its name, so that no moment exists in which it looks as if nobody wrote it.
    auto lock = WriterLock::take(fresh);
    if (!lock) return failure(lock);
    if (auto moved = moveIntoPlace(fresh, *target, overwrite); !moved) {
        unlink(fresh.c_str());
        return failure(moved);
    }
    auto connection = Connection::open(*target, Connection::Mode::kCreate);
    if (!connection) return failure(connection);
    // secure_delete is on in Debian's build and would write every freed page twice.
    auto set = connection->execute(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=OFF;"
        "PRAGMA wal_autocheckpoint=4000");
    if (!set) return failure(set);
    return RecordingFile{std::move(*lock), std::move(*connection), *target};
}

}  // namespace shardscope::storage
