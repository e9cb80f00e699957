#include "storage/sqlite/statement.h"

#include "storage/sqlite/sqlite_api.h"
#include "storage/sqlite/sqlite_error.h"

namespace shardscope::storage {

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Statement& Statement::bind(int index, std::int64_t value) {
    sqlite3_bind_int64(m_statement.get(), index, value);
    return *this;
}

Statement& Statement::bind(int index, double value) {
    sqlite3_bind_double(m_statement.get(), index, value);
    return *this;
}

Statement& Statement::bind(int index, std::string_view value) {
    const char* text = value.data() == nullptr ? "" : value.data();
    sqlite3_bind_text64(m_statement.get(), index, text, value.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
}

Statement& Statement::bind(int index, std::span<const std::byte> value) {
    if (value.empty())
        sqlite3_bind_zeroblob(m_statement.get(), index, 0);
    else
        sqlite3_bind_blob64(m_statement.get(), index, value.data(), value.size(), SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind(int index, std::nullopt_t) {
    sqlite3_bind_null(m_statement.get(), index);
    return *this;
}

Statement& Statement::bindColumn(int index, const Statement& row, int column) {
    sqlite3_bind_value(m_statement.get(), index,
                       sqlite3_column_value(row.m_statement.get(), column));
    return *this;
}

Result<bool> Statement::step() {
    const int code = sqlite3_step(m_statement.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
        reset();
        return false;
    }
    auto error = databaseError(sqlite3_db_handle(m_statement.get()), *m_path);
    reset();
    return error;
}

Result<void> Statement::run() {
    auto row = step();
    if (!row) return failure(row);
    reset();
    return {};
}

void Statement::reset() {
    sqlite3_reset(m_statement.get());
    sqlite3_clear_bindings(m_statement.get());
}

int Statement::columnCount() const {
    return sqlite3_column_count(m_statement.get());
}

std::string Statement::columnName(int column) const {
    const char* name = sqlite3_column_name(m_statement.get(), column);
    return name == nullptr ? "" : name;
}

Statement::Type Statement::type(int column) const {
    switch (sqlite3_column_type(m_statement.get(), column)) {
        case SQLITE_INTEGER:
            return Type::kInteger;
        case SQLITE_FLOAT:
            return Type::kReal;
        case SQLITE_TEXT:
            return Type::kText;
        case SQLITE_BLOB:
            return Type::kBlob;
        default:
            return Type::kNull;
    }
}

bool Statement::isNull(int column) const {
    return sqlite3_column_type(m_statement.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(m_statement.get(), column);
}

double Statement::real(int column) const {
    return sqlite3_column_double(m_statement.get(), column);
}

std::string_view Statement::text(int column) const {
    const auto* text =
        reinterpret_cast<const char*>(sqlite3_column_text(m_statement.get(), column));
    if (text == nullptr) return {};
    return {text, static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column))};
}

std::span<const std::byte> Statement::blob(int column) const {
    const auto* data =
        static_cast<const std::byte*>(sqlite3_column_blob(m_statement.get(), column));
    if (data == nullptr) return {};
    return {data, static_cast<std::size_t>(sqlite3_column_bytes(m_statement.get(), column))};
}

}  // namespace shardscope::storage
