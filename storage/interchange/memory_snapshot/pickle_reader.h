// Reads a pickle of plain data without executing any of it.
//
// Numbers, texts, lists, tuples and dicts of protocols 2 to 5. Opcodes that would import, call or
// build anything are refused by name. What is read is bounded by a budget of bytes; containers may
// be shared, or even hold themselves, so walks over them must not recurse without end.
#pragma once

#include "storage/interchange/byte_source.h"
#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {

enum class PickleKind : std::uint8_t {
    kMark,
    kNone,
    kBoolean,
    kInteger,
    kReal,
    kText,
    kList,
    kDict
};

/// 16 bytes. Tuples are lists; bytes are text.
struct PickleValue {
    PickleKind kind = PickleKind::kNone;
    std::uint32_t index = 0;  ///< of a text, list or dict
    union {
        std::int64_t integer = 0;  ///< booleans too; 64 bits without sign wrap around
        double real;
    };
};

/// Owns everything a value refers to.
class PickleDocument {
public:
    PickleValue root;

    [[nodiscard]] std::string_view text(PickleValue value) const;
    /// Items of a list; nothing of anything else.
    [[nodiscard]] const std::vector<PickleValue>& items(PickleValue value) const;
    /// The value of a key in a dict, the last one set; kNone where there is none.
    [[nodiscard]] PickleValue member(PickleValue dict, std::string_view key) const;
    /// Keys and values of a dict by turns; nothing of anything else.
    [[nodiscard]] const std::vector<PickleValue>& members(PickleValue dict) const;
    [[nodiscard]] bool has(PickleValue dict, std::string_view key) const;
    [[nodiscard]] std::optional<std::int64_t> integer(PickleValue dict, std::string_view key) const;
    [[nodiscard]] std::string_view text(PickleValue dict, std::string_view key) const {
        return text(member(dict, key));
    }

private:
    friend class PickleMachine;
    std::vector<std::string> m_texts;
    std::deque<std::vector<PickleValue>> m_lists;
    std::deque<std::vector<PickleValue>> m_dicts;  ///< key, value, key, value
};

inline constexpr std::size_t kPickleBudget = std::size_t{2} << 30;

/// kUnreadable with a sentence that names byte and opcode.
Result<PickleDocument> readPickle(ByteSource& source, std::size_t budget = kPickleBudget);

}  // namespace shardscope::interchange
