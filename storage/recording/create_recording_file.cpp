#include "storage/recording/part_files.h"
#include "storage/recording/recording_file.h"
#include "storage/schema/migrations.h"
#include "storage/sqlite/transaction.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace shardscope::storage {
namespace {

Result<void> checkTarget(const std::string& path, bool overwrite) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (path.empty()) return failure(ErrorCode::kUsage, "no output file: name one with --output");
    if (fs::is_directory(path, ignored))
        return failure(ErrorCode::kUsage, path + " is a folder: name a file inside it");
    if (!overwrite && fs::exists(path, ignored))
        return failure(ErrorCode::kUsage,
                       path + " already exists: choose another name, or replace it with --force");
    const fs::path folder = fs::absolute(path, ignored).parent_path();
    if (!fs::is_directory(folder, ignored))
        return failure(ErrorCode::kUsage, "cannot write " + path + ": the folder " +
                                              folder.string() + " does not exist, make it first");
    if (access(folder.c_str(), W_OK) != 0)
        return failure(ErrorCode::kUsage, "cannot write " + path + ": the folder " +
                                              folder.string() + " is not writable (" +
                                              std::strerror(errno) + "), choose another --output");
    return {};
}

Result<void> insertRun(Connection& connection, const RunFacts& run) {
    auto insert = connection.prepare(
        "INSERT INTO run(id, config_json, command_line, product, libraries_json,"
        " environment_json, model, strategy, world_size, parameters, started_unix_ns, status)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
    if (!insert) return failure(insert);
    insert->bind(1, run.id)
        .bind(2, run.configJson)
        .bind(3, run.commandLine)
        .bind(4, run.product)
        .bind(5, run.librariesJson)
        .bind(6, run.environmentJson)
        .bind(7, run.model)
        .bind(8, run.strategy)
        .bind(9, std::int64_t{run.worldSize})
        .bind(10, run.parameters)
        .bind(11, run.startedUnixNs)
        .bind(12, static_cast<std::int64_t>(RunStatus::kRecording));
    return insert->run();
}

Result<void> writeSchema(Connection& connection, const RunFacts& run) {
    auto transaction = Transaction::begin(connection);
    if (!transaction) return failure(transaction);
    std::string sql = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                      "; PRAGMA user_version=" + std::to_string(kFormatVersion) + ";";
    for (const Migration& migration : migrations()) sql += migration.sql;
    sql += "INSERT INTO meta VALUES('format','shardscope recording, storage/schema/FORMAT.md');";
    if (auto done = connection.execute(sql); !done) return done;
    if (auto done = insertRun(connection, run); !done) return done;
    return transaction->commit();
}

/// Moves the finished file to its name; a file that appeared meanwhile is not overwritten unless
/// asked for.
Result<void> moveIntoPlace(const std::string& from, const std::string& to, bool overwrite) {
    if (overwrite) {
        // A journal of the file being replaced must never be applied to the new one.
        for (const char* suffix : {"-wal", "-shm", "-journal"}) unlink((to + suffix).c_str());
        if (std::rename(from.c_str(), to.c_str()) == 0) return {};
    } else if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
        return {};
    } else if (errno == EINVAL && link(from.c_str(), to.c_str()) == 0) {
        unlink(from.c_str());
        return {};
    }
    return failure(ErrorCode::kUsage, "cannot write " + to + ": " + std::strerror(errno) +
                                          ", choose another --output");
}

}  // namespace

Result<Connection> createRecordingFile(const std::string& path, const RunFacts& run,
                                       bool overwrite) {
    if (auto target = checkTarget(path, overwrite); !target) return failure(target);
    removeDeadParts(path);
    const std::string fresh = partName(path, "new");
    unlink(fresh.c_str());
    {
        auto connection = Connection::open(fresh, Connection::Mode::kCreate);
        if (!connection) return failure(connection);
        if (auto written = writeSchema(*connection, run); !written) {
            unlink(fresh.c_str());
            return failure(written, "creating " + path);
        }
    }
    if (auto moved = moveIntoPlace(fresh, path, overwrite); !moved) {
        unlink(fresh.c_str());
        return failure(moved);
    }
    auto connection = Connection::open(path, Connection::Mode::kCreate);
    if (!connection) return connection;
    // secure_delete is on in Debian's build and would write every freed page twice.
    auto set = connection->execute(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=OFF;"
        "PRAGMA wal_autocheckpoint=4000");
    if (!set) return failure(set);
    return connection;
}

}  // namespace shardscope::storage
