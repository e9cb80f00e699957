// What spans of one table are called: by their text in StringIds, or by what they are.
//
// A text that was asked for lately costs one look-up, whatever has to be found out about it.
#pragma once

#include "storage/interchange/nsys/import_state.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::interchange::nsys {

struct SpanName {
    StringId id;
    bool collective = false;   ///< a kernel of NCCL or its kin
    std::string_view version;  ///< of a call; valid until the next name
};

class SpanNames {
public:
    SpanNames(ImportState& state, const TableSpec& spec) : m_state(state), m_spec(spec) {}

    /// Of a row with the id of its name in `column` and its fields from `firstField` on.
    Result<SpanName> of(QueryRow& row, int column, int firstField, RankId rank);

private:
    static constexpr std::size_t kMostKnown = 65'536;

    struct Known {
        StringId id;
        bool collective = false;
        std::string version;
        [[nodiscard]] SpanName name() const { return {id, collective, version}; }
    };
    Result<SpanName> byText(std::int64_t id, RankId rank);
    [[nodiscard]] std::string byKind(QueryRow& row, int firstField) const;
    [[nodiscard]] const Word* word(QueryRow& row, int firstField, std::string_view column) const;

    ImportState& m_state;
    const TableSpec& m_spec;
    std::map<RankId, std::unordered_map<std::int64_t, Known>> m_known;
    std::size_t m_count = 0;
};

}  // namespace shardscope::interchange::nsys
