#include "storage/interchange/nsys/nsys_database.h"

namespace shardscope::interchange::nsys {
namespace {

constexpr std::string_view kAlways[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                        "CUPTI_ACTIVITY_KIND_MEMCPY",
                                        "CUPTI_ACTIVITY_KIND_MEMSET",
                                        "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "NVTX_EVENTS",
                                        "TARGET_INFO_GPU",
                                        "TARGET_INFO_CUDA_DEVICE",
                                        "TARGET_INFO_SESSION_START_TIME",
                                        "ThreadNames",
                                        "PROCESSES",
                                        "ANALYSIS_DETAILS",
                                        "META_DATA_EXPORT"};

struct OtherTable {
    std::string_view name;
    std::vector<std::string> columns;
};
const std::vector<OtherTable>& otherTables() {
    static const std::vector<OtherTable> kTables = {
        {"TARGET_INFO_GPU",
         {"vmId INTEGER NOT NULL", "id INTEGER NOT NULL", "name TEXT", "busLocation TEXT",
          "totalMemory INTEGER", "uuid TEXT", "cuDevice INTEGER", "chipName TEXT",
          "l2CacheSize INTEGER", "memoryBandwidth INTEGER", "clockRate INTEGER", "smCount INTEGER",
          "maxWarpsPerSm INTEGER", "computeMajor INTEGER", "computeMinor INTEGER",
          "smMajor INTEGER", "smMinor INTEGER", "maxBlocksPerSm INTEGER"}},
        {"TARGET_INFO_CUDA_DEVICE",
         {"gpuId INTEGER", "cudaId INTEGER NOT NULL", "pid INTEGER NOT NULL", "uuid TEXT",
          "numMultiprocessors INTEGER"}},
        {"TARGET_INFO_SESSION_START_TIME",
         {"utcEpochNs INTEGER", "utcTime TEXT", "localTime TEXT", "systemClockNs INTEGER"}},
        {"ThreadNames", {"nameId INTEGER NOT NULL", "priority INTEGER", "globalTid INTEGER"}},
        {"PROCESSES", {"globalPid INTEGER", "pid INTEGER", "name TEXT"}},
        {"ANALYSIS_DETAILS",
         {"globalVid INTEGER NOT NULL", "duration INTEGER NOT NULL", "startTime INTEGER NOT NULL",
          "stopTime INTEGER NOT NULL"}},
        {"META_DATA_EXPORT", {"name TEXT NOT NULL", "value TEXT"}},
    };
    return kTables;
}

void appendFields(std::vector<std::string>& columns, std::span<const Field> fields) {
    for (const Field& field : fields) {
        const char* type = field.form == Form::kReal   ? " REAL"
                           : field.form == Form::kText ? " TEXT"
                                                       : " INTEGER";
        const std::string rest = std::string(type) + (field.required ? " NOT NULL" : "");
        if (field.form != Form::kTriple) {
            columns.push_back(std::string(field.column) + rest);
            continue;
        }
        for (const char axis : {'X', 'Y', 'Z'})
            columns.push_back(std::string(field.column) + axis + rest);
    }
}

std::vector<std::string> spanColumns(const TableSpec& spec) {
    std::vector<std::string> columns = {
        spec.instant ? "timestamp INTEGER" : "start INTEGER NOT NULL",
        spec.instant ? "" : "\"end\" INTEGER NOT NULL",
        spec.ofProcess ? "globalPid INTEGER" : "globalTid INTEGER",
        spec.correlated ? "correlationId INTEGER" : ""};
    if (spec.ofProcess)
        for (const char* column : {"deviceId", "contextId", "streamId"})
            columns.push_back(std::string(column) + " INTEGER NOT NULL");
    if (!spec.nameColumn.empty())
        columns.push_back(std::string(spec.nameColumn) + " INTEGER NOT NULL");
    appendFields(columns, spec.fields);
    return columns;
}

std::vector<std::string> nvtxColumns() {
    std::vector<std::string> columns = {
        "start INTEGER NOT NULL", "\"end\" INTEGER",      "eventType INTEGER NOT NULL",
        "globalTid INTEGER",      "endGlobalTid INTEGER", "text TEXT",
        "textId INTEGER"};
    appendFields(columns, nvtxFields());
    return columns;
}

}  // namespace

std::vector<std::string> columnsOf(std::string_view table) {
    for (const TableSpec& spec : tableSpecs())
        if (spec.table == table) return spanColumns(spec);
    for (const OtherTable& other : otherTables())
        if (other.name == table) return other.columns;
    return table == "NVTX_EVENTS" ? nvtxColumns() : std::vector<std::string>();
}

Result<NsysDatabase> NsysDatabase::create(const std::string& path) {
    auto connection = storage::Connection::open(path, storage::Connection::Mode::kCreate);
    if (!connection) return failure(connection);
    NsysDatabase database(std::move(*connection));
    if (auto prepared = database.prepare(); !prepared) return failure(prepared);
    return database;
}

/// The file has no reader before it is whole, so it needs no journal.
Result<void> NsysDatabase::prepare() {
    if (auto set = m_connection.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
        !set)
        return set;
    if (auto made = m_connection.execute(
            "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)");
        !made)
        return made;
    auto insert = m_connection.prepare("INSERT INTO StringIds(id, value) VALUES(?1, ?2)");
    if (!insert) return failure(insert);
    m_insertText.emplace(std::move(*insert));
    for (const std::string_view table : kAlways) statementOf(table);
    addEnumTables();
    return m_state;
}

void NsysDatabase::addEnumTables() {
    for (const EnumTable& table : enumTables()) {
        const std::string name(table.table);
        note(m_connection.execute("CREATE TABLE " + name +
                                  " (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)"));
        auto insert =
            m_connection.prepare("INSERT INTO " + name + "(id, name, label) VALUES(?1, ?2, ?3)");
        if (!insert) return note(failure(insert));
        for (const Word& word : table.words)
            note(insert->bind(1, word.id).bind(2, word.name).bind(3, word.label).run());
    }
}

storage::Statement* NsysDatabase::statementOf(std::string_view table) {
    if (const auto at = m_inserts.find(table); at != m_inserts.end()) return &at->second;
    std::string columns, places;
    for (const std::string& column : columnsOf(table)) {
        // Cells of columns that this table does not have are not bound.
        places += column.empty() ? "" : places.empty() ? "?" : ", ?";
        columns += column.empty() ? "" : (columns.empty() ? "" : ", ") + column;
    }
    const std::string name(table);
    note(m_connection.execute("CREATE TABLE " + name + " (" + columns + ")"));
    if (!m_state) return nullptr;
    auto insert = m_connection.prepare("INSERT INTO " + name + " VALUES(" + places + ")");
    if (!insert) {
        note(failure(insert));
        return nullptr;
    }
    return &m_inserts.emplace(name, std::move(*insert)).first->second;
}

std::int64_t NsysDatabase::textId(std::string_view text) {
    const auto [at, added] =
        m_texts.try_emplace(std::string(text), static_cast<std::int64_t>(m_texts.size()) + 1);
    if (added && m_state) note(m_insertText->bind(1, at->second).bind(2, text).run());
    return at->second;
}

void NsysDatabase::insert(std::string_view table, const std::vector<Cell>& cells) {
    if (!m_state) return;
    storage::Statement* statement = statementOf(table);
    if (statement == nullptr) return;
    int index = 0;
    for (const Cell& cell : cells) {
        ++index;
        if (const auto* integer = std::get_if<std::int64_t>(&cell))
            statement->bind(index, *integer);
        else if (const auto* real = std::get_if<double>(&cell))
            statement->bind(index, *real);
        else if (const auto* text = std::get_if<std::string_view>(&cell))
            statement->bind(index, *text);
        else
            statement->bind(index, std::nullopt);
    }
    note(statement->run());
}

Result<void> NsysDatabase::finish() {
    m_inserts.clear();
    m_insertText.reset();
    if (m_state) note(m_connection.execute("COMMIT"));
    return m_state;
}

}  // namespace shardscope::interchange::nsys
