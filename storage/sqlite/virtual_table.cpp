#include "storage/sqlite/virtual_table.h"

#include "storage/sqlite/sqlite_api.h"
#include "storage/sqlite/sqlite_error.h"

#include <optional>
#include <sstream>

namespace shardscope::storage {
namespace {

/// SQLite's structs must come first in ours.
struct Table {
    sqlite3_vtab base;
    RowSource* source;
};
struct Cursor {
    sqlite3_vtab_cursor base;
    std::unique_ptr<RowCursor> rows;
    bool atEnd;
};

Table* tableOf(sqlite3_vtab* base) {
    return reinterpret_cast<Table*>(base);
}
Cursor* cursorOf(sqlite3_vtab_cursor* base) {
    return reinterpret_cast<Cursor*>(base);
}

int fail(sqlite3_vtab* table, const Error& error) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", error.message.c_str());
    switch (error.code) {
        case ErrorCode::kUnreadable:
            return SQLITE_CORRUPT_VTAB;
        case ErrorCode::kUsage:
            return SQLITE_ERROR;
        default:
            return SQLITE_IOERR;
    }
}

int connectTable(sqlite3* database, void* source, int, const char* const*, sqlite3_vtab** table,
                 char** message) {
    auto* rows = static_cast<RowSource*>(source);
    const std::string sql = "CREATE TABLE x(" + rows->declaration() + ")";
    if (const int code = sqlite3_declare_vtab(database, sql.c_str()); code != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(database));
        return code;
    }
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    *table = &(new Table{{}, rows})->base;
    return SQLITE_OK;
}

int disconnectTable(sqlite3_vtab* table) {
    delete tableOf(table);
    return SQLITE_OK;
}

std::optional<Comparison> comparisonOf(int op) {
    switch (op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            return Comparison::kEqual;
        case SQLITE_INDEX_CONSTRAINT_LT:
            return Comparison::kLess;
        case SQLITE_INDEX_CONSTRAINT_LE:
            return Comparison::kLessOrEqual;
        case SQLITE_INDEX_CONSTRAINT_GT:
            return Comparison::kGreater;
        case SQLITE_INDEX_CONSTRAINT_GE:
            return Comparison::kGreaterOrEqual;
        default:
            return std::nullopt;
    }
}

/// Writes the plan as "column comparison column comparison ..." for filter().
int bestIndex(sqlite3_vtab* table, sqlite3_index_info* info) {
    std::string plan;
    int arguments = 0;
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto& constraint = info->aConstraint[i];
        const auto comparison = comparisonOf(constraint.op);
        if (constraint.usable == 0 || !comparison || constraint.iColumn < 0 ||
            !tableOf(table)->source->usesConstraintsOn(constraint.iColumn))
            continue;
        info->aConstraintUsage[i].argvIndex = ++arguments;
        plan += std::to_string(constraint.iColumn) + ' ' +
                std::to_string(static_cast<int>(*comparison)) + ' ';
    }
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    info->needToFreeIdxStr = 1;
    constexpr double kAllRows = 1e7;
    info->estimatedCost = kAllRows / (1 + 9 * arguments);
    info->estimatedRows = static_cast<sqlite3_int64>(info->estimatedCost);
    return SQLITE_OK;
}

int openCursor(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
    *cursor = &(new Cursor{{}, nullptr, true})->base;
    return SQLITE_OK;
}

int closeCursor(sqlite3_vtab_cursor* cursor) {
    delete cursorOf(cursor);
    return SQLITE_OK;
}

int nextRow(sqlite3_vtab_cursor* base) {
    Cursor* cursor = cursorOf(base);
    auto more = cursor->rows->next();
    if (!more) return fail(base->pVtab, more.error());
    cursor->atEnd = !*more;
    return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int, const char* plan, int argc, sqlite3_value** argv) {
    std::istringstream steps(plan == nullptr ? "" : plan);
    std::vector<ColumnConstraint> constraints;
    for (int i = 0; i < argc; ++i) {
        ColumnConstraint constraint;
        int comparison = 0;
        steps >> constraint.column >> comparison;
        constraint.comparison = static_cast<Comparison>(comparison);
        // Other types compare by SQL's rules, which SQLite applies to every row itself.
        if (sqlite3_value_type(argv[i]) == SQLITE_INTEGER) {
            constraint.value = std::int64_t{sqlite3_value_int64(argv[i])};
        } else if (sqlite3_value_type(argv[i]) == SQLITE_TEXT) {
            constraint.value =
                std::string(reinterpret_cast<const char*>(sqlite3_value_text(argv[i])));
        } else {
            continue;
        }
        constraints.push_back(std::move(constraint));
    }
    auto rows = tableOf(base->pVtab)->source->scan(std::move(constraints));
    if (!rows) return fail(base->pVtab, rows.error());
    cursorOf(base)->rows = std::move(*rows);
    return nextRow(base);
}

int atEnd(sqlite3_vtab_cursor* cursor) {
    return cursorOf(cursor)->atEnd ? 1 : 0;
}

int columnValue(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
    const SqlValue value = cursorOf(cursor)->rows->value(column);
    if (const auto* integer = std::get_if<std::int64_t>(&value))
        sqlite3_result_int64(context, *integer);
    else if (const auto* real = std::get_if<double>(&value))
        sqlite3_result_double(context, *real);
    else if (const auto* text = std::get_if<std::string_view>(&value))
        sqlite3_result_text64(context, text->data() == nullptr ? "" : text->data(), text->size(),
                              SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_null(context);
    return SQLITE_OK;
}

int rowId(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
    *id = cursorOf(cursor)->rows->rowId();
    return SQLITE_OK;
}

/// Without xCreate the table exists by its name alone, in every connection that has the module.
constexpr sqlite3_module makeModule() {
    sqlite3_module module{};
    module.xConnect = connectTable;
    module.xBestIndex = bestIndex;
    module.xDisconnect = disconnectTable;
    module.xOpen = openCursor;
    module.xClose = closeCursor;
    module.xFilter = filter;
    module.xNext = nextRow;
    module.xEof = atEnd;
    module.xColumn = columnValue;
    module.xRowid = rowId;
    return module;
}
constexpr sqlite3_module kModule = makeModule();

void deleteSource(void* source) {
    delete static_cast<RowSource*>(source);
}

}  // namespace

Result<void> addVirtualTable(Connection& connection, const std::string& name,
                             std::unique_ptr<RowSource> source) {
    // SQLite calls deleteSource also when this fails.
    if (sqlite3_create_module_v2(connection.handle(), name.c_str(), &kModule, source.release(),
                                 deleteSource) != SQLITE_OK)
        return databaseError(connection.handle(), connection.path());
    return {};
}

}  // namespace shardscope::storage
