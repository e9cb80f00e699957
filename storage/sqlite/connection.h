// One SQLite database connection. Lives on one thread; closes itself.
#pragma once

#include "storage/model/result.h"
#include "storage/sqlite/statement.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace shardscope::storage {

class Connection {
public:
    enum class Mode {
        kCreate,           ///< read and write; made when absent
        kReadOnly,         ///< beside a living writer, or after it
        kReadOnlyPrivate,  ///< no lock and no shared memory: a WAL in a folder we cannot write
        kImmutable,        ///< the main file alone, which has no writer
    };

    static Result<Connection> open(const std::string& path, Mode mode);

    /// One that is opened by the caller, and closed after this.
    [[nodiscard]] static Connection borrow(sqlite3* database, std::string path);

    /// Runs any number of statements that give no rows.
    Result<void> execute(const std::string& sql);
    Result<Statement> prepare(std::string_view sql);
    /// First column of the first row, which must exist.
    Result<std::int64_t> integer(std::string_view sql);

    /// Whether the file itself has it; no view and nothing temporary.
    Result<bool> hasTable(std::string_view table);
    /// In order; none where there is no such table. A temporary one hides the file's.
    Result<std::vector<std::string>> columnsOf(std::string_view table);

    [[nodiscard]] std::int64_t lastInsertedId() const;
    /// What the last call says of its SQL, where that was at fault and not the file: of statements
    /// that others wrote.
    [[nodiscard]] std::optional<std::string> sqlFault() const;
    /// Whether the last call failed because of the values it was given.
    [[nodiscard]] bool refusedValues() const;
    [[nodiscard]] bool inTransaction() const;
    [[nodiscard]] const std::string& path() const { return *m_path; }

    /// Nothing of the file's own schema can run from now on: no view or trigger of it, no function
    /// or virtual table in its defaults and expressions; no value is longer than half a gigabyte.
    /// What this connection makes temporarily can.
    void distrustSchema();
    static constexpr int kMostValueBytes = 64 << 20;
    /// The schema's own table may be written again, which distrustSchema() forbids.
    void allowSchemaRepair();

    /// From now on only reading statements are accepted: no ATTACH, no writes, no PRAGMA that
    /// changes something.
    void refuseWrites();

    /// Asked every few thousand operations, on the connection's thread: what runs ends as an error
    /// once it says so.
    void stopWhen(std::function<bool()> wanted);

    /// Closing it neither checkpoints nor removes the log: another file may have its name.
    void leaveLog();

    /// For storage/sqlite only.
    [[nodiscard]] sqlite3* handle() const { return m_database.get(); }

private:
    struct Closer {
        bool owned = true;
        void operator()(sqlite3* database) const;
    };
    Connection(sqlite3* database, std::string path, bool owned = true)
        : m_database(database, Closer{owned}),
          m_path(std::make_shared<const std::string>(std::move(path))) {}

    std::unique_ptr<std::function<bool()>> m_stop;  ///< before what asks it, which ends first
    std::unique_ptr<sqlite3, Closer> m_database;
    std::shared_ptr<const std::string> m_path;
};

// A transaction that rolls back unless committed. Lives within one scope of one thread.

class Transaction {
public:
    static Result<Transaction> begin(Connection& connection);
    Transaction(Transaction&& other) noexcept : m_connection(other.m_connection) {
        other.m_connection = nullptr;
    }
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();

    Result<void> commit();

private:
    explicit Transaction(Connection& connection) : m_connection(&connection) {}
    Connection* m_connection;  ///< null once committed
};

}  // namespace shardscope::storage
