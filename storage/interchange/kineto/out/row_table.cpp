#include "storage/interchange/kineto/out/row_table.h"

#include "storage/interchange/event_text.h"

namespace shardscope::interchange::kineto_out {
namespace {

/// From one row to the next of what would overlap on it (Kineto's step for "(sync)" rows).
constexpr std::int64_t kRowStep = 1'000'000;

std::string member(const char* key, std::string_view value) {
    std::string text;
    text += '"';
    text.append(key).append("\":");
    appendString(text, value);
    return text;
}

}  // namespace

void RowTable::metadata(const TraceRow& row, const char* name, const std::string& arguments) {
    TraceEvent event;
    event.phase = 'M';
    event.name = name;
    event.row = &row;
    event.arguments = arguments;
    m_sink->add(event);
}

void RowTable::nameProcess(const std::string& pid, const std::string& name,
                           const std::string& label, std::int64_t order) {
    const TraceRow row{pid, "0"};
    metadata(row, "process_name", member("name", name));
    metadata(row, "process_labels", member("labels", label));
    metadata(row, "process_sort_index", "\"sort_index\":" + std::to_string(order));
}

std::int64_t RowTable::freeFrom(const std::string& pid, std::int64_t tid) {
    while (!m_used.insert({pid, tid}).second) tid += kRowStep;
    return tid;
}

Rows RowTable::of(const std::string& pid, std::int64_t tid, const std::string& name) {
    return {pid, freeFrom(pid, tid), name, {}};
}

const TraceRow& RowTable::row(Rows& rows, std::size_t index) {
    while (rows.rows.size() <= index) {
        const bool first = rows.rows.empty();
        // Those before are taken: to try them all again would take long where rows are many.
        if (!first) rows.last = freeFrom(rows.pid, rows.last + kRowStep);
        const std::int64_t tid = rows.last;
        rows.rows.push_back({rows.pid, std::to_string(tid)});
        metadata(rows.rows.back(), "thread_name",
                 member("name", first ? rows.name : rows.name + " (overlapping)"));
    }
    return rows.rows[index];
}

}  // namespace shardscope::interchange::kineto_out
