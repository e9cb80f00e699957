// Spans of a recording as rows of an Nsight Systems export: the way back of read_spans.cpp and
// read_nvtx.cpp, for arguments of our own recordings and of PyTorch's profiler too.
#pragma once

#include "storage/interchange/json_text.h"
#include "storage/interchange/nsys/lane_targets.h"
#include "storage/interchange/nsys/nsys_database.h"

#include <array>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace shardscope::interchange::nsys {

/// Members of a span's arguments by key.
class Arguments {
public:
    /// `json` must outlive this; what is no object has no members.
    void parse(std::string_view json);
    /// The value as it stands in the text; empty when absent.
    [[nodiscard]] std::string_view find(std::string_view key) const;
    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
    [[nodiscard]] bool empty() const { return m_members.empty(); }
    [[nodiscard]] std::span<const Member> members() const { return m_members; }

private:
    std::vector<Member> m_members;
    mutable std::size_t m_next = 0;  ///< keys are mostly asked for in their order
};

class SpanCells {
public:
    explicit SpanCells(NsysDatabase& database) : m_database(&database) {}

    /// A row of `target`'s table, or of one that the span's own name and arguments tell.
    void add(LaneTarget target, const SpanEvent& span, std::string_view name,
             std::string_view arguments);
    /// An NVTX mark.
    void add(const LaneTarget& target, const InstantEvent& instant, std::string_view name,
             std::string_view arguments);
    [[nodiscard]] std::uint64_t rows() const { return m_rows; }

private:
    void begin(std::string_view arguments);
    void addRow(const LaneTarget& target, const SpanEvent& span, std::string_view name);
    void addNvtx(const LaneTarget& target, TimeRange range, std::int64_t type,
                 std::string_view name, std::string_view arguments);
    /// kPushPop, kStartEnd or kMark, by m_arguments.
    [[nodiscard]] std::int64_t nvtxType(const LaneTarget& target, const SpanEvent& span) const;
    /// Rows that name the domain and category of m_arguments, before their first use.
    void nameDomain(const LaneTarget& target, Timestamp time);
    void addNaming(const LaneTarget& target, Timestamp time, std::int64_t type, std::int64_t domain,
                   Cell category, std::string_view name);
    [[nodiscard]] Activity activityOf(const LaneTarget& target, std::string_view name) const;
    void addField(const Field& field, std::string_view name);
    [[nodiscard]] Cell integerCell(const Field& field, std::string_view name) const;
    [[nodiscard]] Cell textCell(std::string_view value);
    [[nodiscard]] std::string_view rowName(Activity activity, std::string_view name);

    NsysDatabase* m_database;
    Arguments m_arguments;
    std::vector<Cell> m_cells;
    std::deque<std::string> m_scratch;              ///< texts of the row's cells
    std::set<std::array<std::int64_t, 3>> m_named;  ///< process, domain, category or -1
    std::uint64_t m_rows = 0;
};

}  // namespace shardscope::interchange::nsys
