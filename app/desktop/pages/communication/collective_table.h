// The collectives of what is selected as a table, one row for all ranks of each; who comes last,
// and why collectives are exposed, as tables. Pure.
#pragma once

#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/communication/communication_query.h"

#include <QString>
#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::desktop {

/// Rows that are shown at most; what is left out is said.
inline constexpr std::size_t kMostCollectives = 2'000;
inline constexpr std::size_t kMostLastComers = 12;

struct CollectiveTable {
    std::vector<TableColumn> columns;
    TableRows rows;
    std::vector<std::size_t> transfers;  ///< of each row: its place in communication.transfers
    std::size_t all = 0;                 ///< that fit `chosen` and `filter`
};

[[nodiscard]] std::vector<TableColumn> collectiveColumns();
/// The longest transfers first. `filter`: words of which a row has each, as the table shows them.
[[nodiscard]] CollectiveTable collectiveTable(const CommunicationFrame& frame,
                                              std::optional<analysis::ExposureKind> chosen,
                                              const QString& filter);
/// "2,000 of 90,453 collectives, the longest transfers".
[[nodiscard]] QString collectiveCaption(const CollectiveTable& table);

/// "all 64 ranks", "ranks 0, 8, 16, …"; of a group without known members "group 3". `world`: ranks
/// of the recording.
[[nodiscard]] QString groupText(const std::vector<RankId>& members, std::uint32_t group,
                                std::size_t world);
/// Each of them: "ranks 0–3, 8, 16".
[[nodiscard]] QString allMembersText(const std::vector<RankId>& members);

[[nodiscard]] std::vector<TableColumn> skewColumns();
/// Those for whom the others waited longest.
[[nodiscard]] TableRows skewRows(const analysis::ArrivalSkew& skew);

[[nodiscard]] std::vector<TableColumn> reasonColumns();
[[nodiscard]] TableRows reasonRows(const std::vector<analysis::ReasonSum>& reasons);

/// Where a collective is, with a little of what lies around it.
[[nodiscard]] TimeRange rangeAround(const analysis::Transfer& transfer, TimeRange bounds);

}  // namespace shardscope::desktop
