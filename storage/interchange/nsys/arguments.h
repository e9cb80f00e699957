// The arguments of a span as a JSON object, written member by member.
#pragma once

#include "storage/interchange/json_text.h"

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardscope::interchange::nsys {

/// Of waits and events: the device that the export's row names, where their context is another's.
inline constexpr std::string_view kDeviceOfRow = "device_of_row";

class ArgumentWriter {
public:
    void clear() { m_text.assign(1, '{'); }
    void integer(std::string_view key, std::int64_t value) {
        member(key);
        number(value);
    }
    void triple(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z) {
        member(key);
        m_text += '[';
        number(x);
        m_text += ',';
        number(y);
        m_text += ',';
        number(z);
        m_text += ']';
    }
    void real(std::string_view key, double value) {
        member(key);
        char digits[32];
        m_text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    /// A constant that needs no escapes.
    void word(std::string_view key, std::string_view value) {
        member(key);
        m_text.append("\"").append(value).append("\"");
    }
    void json(std::string_view key, std::string_view value) {
        member(key);
        m_text += value;
    }
    /// Empty when there are none; valid until clear().
    [[nodiscard]] std::string_view done() {
        if (m_text.size() <= 1) return {};
        m_text += '}';
        return m_text;
    }

private:
    void member(std::string_view key) {
        if (m_text.size() > 1) m_text += ',';
        m_text.append("\"").append(key).append("\":");
    }
    void number(std::int64_t value) {
        char digits[24];
        m_text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    std::string m_text = "{";
};

// Names that PyTorch's emit_nvtx gives its ranges: "aten::view, op_id = 17, sizes = [[2, 3]]"
// (getNvtxStr in torch/csrc/profiler/util.cpp). Every one differs, though operators repeat: apart
// they can be counted by operator, and stored as columns. Pure.

/// The operator's name; what follows it goes to `arguments`. A text that would not come back
/// letter by letter stays whole, and gives no arguments.
[[nodiscard]] std::string_view splitEmitted(std::string_view text, ArgumentWriter& arguments);

/// The text again, from the name and a span's arguments.
[[nodiscard]] std::string joinEmitted(std::string_view name, std::span<const Member> arguments);

}  // namespace shardscope::interchange::nsys
