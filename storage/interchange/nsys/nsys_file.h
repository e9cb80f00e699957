// An Nsight Systems export as a database: which of the known tables and columns it has.
//
// Only tables that are named here are ever looked at. What the profiled machine was (environment,
// command lines, user) lies in others, and texts of StringIds are read one by one as events name
// them. One thread.
#pragma once

#include "storage/sqlite/untrusted_database.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange::nsys {

class NsysFile {
public:
    /// kUnreadable with a sentence when this is no export, or one made to do harm.
    static Result<NsysFile> open(const std::string& path);

    [[nodiscard]] bool has(std::string_view table) const;
    [[nodiscard]] bool has(std::string_view table, std::string_view column) const;
    /// Rows of a table; nothing when it is not there. Columns that are not there read as NULL.
    Result<std::optional<storage::TableScan>> scan(std::string_view table,
                                                   const std::vector<std::string>& columns);
    /// Whether texts can be looked up by id without reading the whole table.
    [[nodiscard]] bool hasTextKey() const;
    Result<storage::Statement> textLookUp();

    [[nodiscard]] const std::string& path() const { return m_database.path(); }
    /// "3.25.0"; empty: not said
    [[nodiscard]] const std::string& schema() const { return m_schema; }
    [[nodiscard]] const std::string& product() const { return m_product; }
    /// Known tables of the file that hold what a recording has no place for.
    [[nodiscard]] std::vector<std::string> leftOut() const;

private:
    struct Table {
        std::string name;  ///< as it stands in the file
        std::vector<storage::UntrustedDatabase::Column> columns;
    };
    explicit NsysFile(storage::UntrustedDatabase database) : m_database(std::move(database)) {}

    Result<void> findTables();
    Result<void> add(std::string_view known, const std::string& name);
    Result<void> readVersion();
    [[nodiscard]] const Table* find(std::string_view table) const;
    [[nodiscard]] static std::string columnOf(const Table& table, std::string_view column);

    storage::UntrustedDatabase m_database;
    std::map<std::string, Table, std::less<>> m_tables;
    std::string m_schema, m_product;
};

}  // namespace shardscope::interchange::nsys
