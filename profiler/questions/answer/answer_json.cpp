#include "profiler/questions/answer/answer_rows.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace shardscope::questions {
namespace {

using Json = nlohmann::ordered_json;

Json json(const Cell& cell) {
    if (const auto* number = cell.integer()) return *number;
    if (const auto* text = cell.text()) return *text;
    const auto* number = cell.real();
    return number != nullptr && std::isfinite(*number) ? Json(*number) : Json();
}

Json rowOf(const Table& table, const std::vector<Cell>& cells) {
    Json row = Json::object();
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        row[table.columns[i].key] = json(cells[i]);
    return row;
}

void add(const Answer& answer, Json& to) {
    to["question"] = answer.question;
    for (const auto& [key, value] : answer.settings) to[key] = value;
    for (const Figure& figure : answer.figures) to[figure.what.key] = json(figure.value);
    for (const Table& table : answer.tables) {
        to[table.key] = rowsJson(table);
    }
    if (!answer.doubt.empty()) to["doubt"] = answer.doubt;
    to["sentences"] = answer.sentences;
    to["unknown"] = answer.unknown;
    to["could_not_tell"] = answer.unknown;  // its name in shardscope.analyze/1 until now
}

}  // namespace

Json rowsJson(const Table& table) {
    Json rows = Json::array();
    for (const auto& cells : table.rows) rows.push_back(rowOf(table, cells));
    return rows;
}

std::string toJson(const std::vector<Answer>& answers) {
    Json document = {{"schema", "shardscope.analyze/1"}};
    if (answers.size() == 1) {
        add(answers.front(), document);
    } else {
        Json& list = document["answers"] = Json::array();
        for (const Answer& answer : answers) add(answer, list.emplace_back(Json::object()));
    }
    return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace shardscope::questions
