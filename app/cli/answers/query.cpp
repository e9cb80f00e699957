// `shardscope query`: SQL over a recording's tables and events.
#include "app/cli/answers/report_table.h"
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "storage/model/plain_text.h"
#include "storage/recording/read/recording_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <memory>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct QueryOptions {
    RecordingPlace place;
    std::string sql;
    bool json = false;
    bool csv = false;
};

/// Numbers as numbers. JSON has no infinity: it becomes null, like SQL's NULL.
Json cellJson(const std::optional<std::string>& cell, storage::TableResult::CellType type) {
    using Type = storage::TableResult::CellType;
    if (!cell) return nullptr;
    if (type == Type::kInteger) return std::stoll(*cell);
    if (type == Type::kReal) return std::strtod(cell->c_str(), nullptr);
    return *cell;
}

std::string jsonOf(const storage::TableResult& table) {
    Json rows = Json::array();
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        Json cells = Json::array();
        for (std::size_t column = 0; column < table.rows[i].size(); ++column)
            cells.push_back(cellJson(table.rows[i][column], table.types[i][column]));
        rows.push_back(std::move(cells));
    }
    const Json json = {
        {"schema", "shardscope.query/1"}, {"columns", table.columns}, {"rows", std::move(rows)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csvOf(const storage::TableResult& table) {
    std::string text;
    const auto append = [&](std::size_t column, const std::string& cell) {
        if (column > 0) text += ',';
        text += csvField(cell);
    };
    for (std::size_t i = 0; i < table.columns.size(); ++i) append(i, table.columns[i]);
    text += '\n';
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) append(i, row[i].value_or(""));
        text += '\n';
    }
    return text;
}

std::string alignedText(const storage::TableResult& table) {
    TextTable text(table.columns);
    for (const auto& row : table.rows) {
        std::vector<std::string> cells;
        for (const auto& cell : row) cells.push_back(cell.value_or("–"));
        text.add(std::move(cells));
    }
    return text.text();
}

int run(const QueryOptions& options) {
    auto reader = openAnyRecording(options.place);
    const auto table =
        reader ? (*reader)->query(options.sql) : Result<storage::TableResult>(failure(reader));
    if (!table) return tellFailure(options.place, table.error());
    if (options.json) return printLast(jsonOf(*table));
    return printLast(options.csv ? csvOf(*table) : alignedText(*table));
}

}  // namespace

Command addQuery(CLI::App& root) {
    auto options = std::make_shared<QueryOptions>();
    CLI::App* app = addVerb(root, "query", "run a read-only SQL statement on a recording");
    setFooter(
        *app,
        "Besides the tables of the file (storage/schema/FORMAT.md) there are the virtual table\n"
        "events and the views operators, phases, kernels, collectives, steps, memory_events,\n"
        "counters, flows and instants.\n\n"
        "Example:\n"
        "  shardscope query run.sscope \"SELECT name, count(*), sum(duration_ns) FROM operators\n"
        "    GROUP BY name ORDER BY 3 DESC LIMIT 10\"");
    addOption(*app, "recording", options->place.path, "recording to query, or ssh://HOST/PATH")
        .required();
    addOption(*app, "sql", options->sql, "one SELECT statement").required();
    const Option json = addJson(*app, options->json, "shardscope.query/1");
    addFlag(*app, "--csv", options->csv, "print comma-separated values").excludes(json);
    addSshCommand(*app, options->place.sshCommand);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
