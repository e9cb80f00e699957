#include "storage/interchange/nsys/nsys_file.h"

#include "storage/interchange/nsys/table_specs.h"

#include <algorithm>

namespace shardscope::interchange::nsys {
namespace {

constexpr std::string_view kOtherTables[] = {"NVTX_EVENTS",
                                             "StringIds",
                                             "ThreadNames",
                                             "META_DATA_EXPORT",
                                             "EXPORT_META_DATA",
                                             "TARGET_INFO_SESSION_START_TIME",
                                             "TARGET_INFO_GPU",
                                             "TARGET_INFO_CUDA_DEVICE",
                                             "TARGET_INFO_CUDA_CONTEXT_INFO",
                                             "TARGET_INFO_GPU_METRICS",
                                             "GPU_METRICS",
                                             "CUDA_GPU_MEMORY_USAGE_EVENTS"};
/// Named in a note when they have rows.
constexpr std::string_view kLeftOut[] = {
    "SCHED_EVENTS",   "COMPOSITE_EVENTS", "SAMPLING_CALLCHAINS", "CUDA_CALLCHAINS",
    "GENERIC_EVENTS", "DIAGNOSTIC_EVENT", "NET_NIC_METRIC",      "GPU_CONTEXT_SWITCH_EVENTS"};

char lower(char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}
bool sameName(std::string_view a, std::string_view b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [](char x, char y) { return lower(x) == lower(y); });
}
bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
/// Newer exports are said to have tables NAME_V2.
bool isVersionOf(std::string_view name, std::string_view known) {
    if (name.size() < known.size() + 3 || !sameName(name.substr(0, known.size()), known))
        return false;
    const std::string_view rest = name.substr(known.size());
    return rest.size() < 8 && sameName(rest.substr(0, 2), "_v") &&
           std::all_of(rest.begin() + 2, rest.end(), isDigit);
}

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUnreadable,
                   path + " is no Nsight Systems export that can be trusted: " + why);
}

}  // namespace

Result<NsysFile> NsysFile::open(const std::string& path) {
    auto database = storage::UntrustedDatabase::open(path);
    if (!database) return failure(database);
    NsysFile file(std::move(*database));
    if (auto found = file.findTables(); !found) return failure(found);
    if (auto read = file.readVersion(); !read) return failure(read);
    return file;
}

Result<void> NsysFile::findTables() {
    std::vector<std::string_view> known(std::begin(kOtherTables), std::end(kOtherTables));
    for (const TableSpec& spec : tableSpecs()) known.push_back(spec.table);
    known.insert(known.end(), std::begin(kLeftOut), std::end(kLeftOut));
    std::map<std::string_view, std::string> chosen;
    for (const auto& object : m_database.objects()) {
        if (object.kind == "trigger")
            return refuse(path(), "it has a trigger (" + object.name.substr(0, 64) +
                                      "), and exports have none");
        for (const std::string_view name : known) {
            const bool same = sameName(object.name, name);
            if (!same && !isVersionOf(object.name, name)) continue;
            if (object.kind == "index") continue;
            if (object.kind != "table")
                return refuse(path(),
                              std::string(name) + " is a " + object.kind + " in it, not a table");
            std::string& choice = chosen[name];
            const bool better = choice.size() < object.name.size() ||
                                (choice.size() == object.name.size() && choice < object.name);
            if (same || choice.empty() || (better && !sameName(choice, name))) choice = object.name;
        }
    }
    for (const auto& [name, actual] : chosen)
        if (auto added = add(name, actual); !added) return added;
    const bool any = std::any_of(m_tables.begin(), m_tables.end(), [](const auto& table) {
        return table.first == "NVTX_EVENTS" || table.first == "StringIds" ||
               table.first.starts_with("CUPTI_ACTIVITY_KIND_");
    });
    if (any) return {};
    return failure(ErrorCode::kUnreadable,
                   path() +
                       " is an SQLite database, but no Nsight Systems export: it has no table "
                       "StringIds, NVTX_EVENTS or CUPTI_ACTIVITY_KIND_... Make one with `nsys "
                       "export --type sqlite`");
}

Result<void> NsysFile::add(std::string_view known, const std::string& name) {
    auto columns = m_database.columns(name);
    if (!columns) return failure(columns);
    for (const auto& column : *columns)
        if (column.generated || sameName(column.name, "rowid"))
            return refuse(path(), "column " + column.name.substr(0, 64) + " of table " + name +
                                      (column.generated ? " is computed" : " hides its rows' ids"));
    m_tables.emplace(known, Table{name, std::move(*columns)});
    return {};
}

Result<void> NsysFile::readVersion() {
    for (const std::string_view table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
        auto rows = scan(table, {"name", "value"});
        if (!rows) return failure(rows);
        while (*rows) {
            auto row = (*rows)->next();
            if (!row) return failure(row);
            if (!*row) break;
            const std::string_view name = (*rows)->row().text(0);
            const std::string value((*rows)->row().text(1).substr(0, 32));
            const bool plain = std::all_of(value.begin(), value.end(),
                                           [](char c) { return isDigit(c) || c == '.'; });
            if (plain && name == "EXPORT_SCHEMA_VERSION") m_schema = value;
            if (plain && name == "EXPORT_PRODUCT_VERSION") m_product = value;
        }
    }
    return {};
}

const NsysFile::Table* NsysFile::find(std::string_view table) const {
    const auto at = m_tables.find(table);
    return at == m_tables.end() ? nullptr : &at->second;
}

std::string NsysFile::columnOf(const Table& table, std::string_view column) {
    for (const auto& each : table.columns)
        if (!column.empty() && sameName(each.name, column)) return each.name;
    return {};
}

bool NsysFile::has(std::string_view table) const {
    return find(table) != nullptr;
}

bool NsysFile::has(std::string_view table, std::string_view column) const {
    const Table* found = find(table);
    return found != nullptr && !columnOf(*found, column).empty();
}

Result<std::optional<storage::TableScan>> NsysFile::scan(std::string_view table,
                                                         const std::vector<std::string>& columns) {
    const Table* found = find(table);
    if (found == nullptr) return std::optional<storage::TableScan>();
    std::vector<std::string> actual;
    for (const std::string& column : columns) actual.push_back(columnOf(*found, column));
    auto rows = m_database.scan(found->name, actual);
    if (!rows) return failure(rows);
    return std::optional<storage::TableScan>(std::move(*rows));
}

bool NsysFile::hasTextKey() const {
    const Table* found = find("StringIds");
    return found != nullptr &&
           std::any_of(found->columns.begin(), found->columns.end(), [](const auto& column) {
               return column.rowId && sameName(column.name, "id");
           });
}

Result<storage::Statement> NsysFile::textLookUp() {
    const Table* found = find("StringIds");
    return m_database.lookUp(found->name, columnOf(*found, "value"));
}

std::vector<std::string> NsysFile::leftOut() const {
    std::vector<std::string> names;
    for (const std::string_view name : kLeftOut)
        if (has(name)) names.emplace_back(name);
    return names;
}

}  // namespace shardscope::interchange::nsys
