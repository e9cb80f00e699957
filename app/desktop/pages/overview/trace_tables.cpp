#include "app/desktop/pages/overview/trace_tables.h"

#include "app/desktop/loading/part_loader.h"
#include "profiler/questions/question.h"

#include <algorithm>
#include <string_view>

namespace shardscope::desktop {
namespace {

constexpr std::size_t kMostRows = 12;

struct Asking {
    const char* question;
    std::vector<const char*> tables;   ///< by key; none: all
    std::vector<const char*> columns;  ///< of those tables that have a name, by key; none: all
};

const std::vector<Asking>& askings() {
    static const std::vector<Asking> kAsked{
        {"breakdown", {}, {}},
        {"work",
         {"kernels", "operators", "collectives", "products", "parts"},
         {"name", "count", "total_ns", "self_ns", "share_pct", "mean_ns", "longest_ns"}},
        {"launches", {"idle"}, {}},
        {"memory", {"owners"}, {}}};
    return kAsked;
}

bool isWanted(const Asking& asking, const questions::Table& table) {
    return !table.rows.empty() &&
           (asking.tables.empty() ||
            std::any_of(asking.tables.begin(), asking.tables.end(),
                        [&](std::string_view key) { return key == table.key; }));
}

/// Tables that are not of names have columns of their own.
std::vector<const char*> columnsOf(const Asking& asking, const questions::Table& table) {
    const bool named = std::string_view(table.columns.front().key) == "name";
    return named ? asking.columns : std::vector<const char*>();
}

}  // namespace

Result<std::vector<AnswerTable>> readTraceTables(storage::RecordingReader& reader,
                                                 const SelectedPart& part) {
    std::vector<AnswerTable> shown;
    if (!part.refusal.isEmpty()) return shown;
    const questions::Selection selection = askedSelection(part.selection);
    for (const Asking& asking : askings()) {
        questions::Asked asked{reader, *part.summary, selection};
        const questions::Question* question = questions::findQuestion(asking.question);
        if (question == nullptr) continue;
        const auto answer = questions::answerTo(*question, asked);
        if (!answer) return failure(answer);
        for (const questions::Table& table : answer->tables)
            if (isWanted(asking, table))
                shown.push_back(answerTable(table, kMostRows, columnsOf(asking, table)));
    }
    return shown;
}

}  // namespace shardscope::desktop
