#include "storage/interchange/argument_splitter.h"

#include <simdjson.h>

namespace shardscope::interchange {
namespace {

/// More members than this and the columns would be nearly empty.
constexpr std::size_t kMostMembers = 256;
/// Any number of so many digits fits 64 bits.
constexpr std::size_t kMostDigits = 18;
/// Arrays whose lists are remembered.
constexpr std::size_t kMostListBytes = std::size_t{32} << 20;
/// simdjson writes whole registers.
constexpr std::size_t kPadding = 128;

/// A number as it would be written again from `digits` and `fraction`.
struct Number {
    std::int64_t digits = 0;
    std::int64_t fraction = 0;  ///< 0: an integer
    bool canonical = false;
};

Number numberOf(std::string_view text) {
    Number number;
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.size() > kMostDigits + 1) return number;
    std::size_t point = text.size();
    std::size_t digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = static_cast<unsigned>(text[i] - '0');
        if (digit <= 9) {
            if (++digits > kMostDigits) return number;
            number.digits = number.digits * 10 + static_cast<std::int64_t>(digit);
        } else if (text[i] == '.' && point == text.size()) {
            point = i;
        } else {
            return number;
        }
    }
    const bool decimal = point < text.size();
    const bool leadingZero = point > 1 && text.front() == '0';
    if (point == 0 || point + 1 == text.size() || leadingZero) return number;
    // Minus zero has no digits to carry its sign.
    if (negative && number.digits == 0) return number;
    if (negative) number.digits = -number.digits;
    if (decimal) number.fraction = static_cast<std::int64_t>(text.size() - point - 1);
    number.canonical = true;
    return number;
}

}  // namespace

void ArgumentSplitter::add(const Member& member, bool nonFinite,
                           std::vector<std::int64_t>& values) {
    m_form.append("\"").append(member.key).append("\":");
    if (const Number number = numberOf(member.value); number.canonical) {
        values.push_back(number.digits);
        if (number.fraction > 0) values.push_back(number.fraction);
        m_form += number.fraction > 0 ? '%' : '#';
        return;
    }
    if (const auto list = nonFinite ? std::nullopt : listOf(member.value)) {
        values.push_back(list->value);
        m_form += '^';
        return;
    }
    const StringId text =
        nonFinite ? m_intern(quoteNonFinite(member.value)) : m_intern(member.value);
    values.push_back(text.value);
    m_form += '@';
}

std::optional<StringId> ArgumentSplitter::listOf(std::string_view array) {
    if (!array.starts_with("[{")) return std::nullopt;
    const auto known = m_lists.find(std::string(array));
    if (known != m_lists.end()) return known->second;
    std::string list;
    TextFlags flags;
    const char* const end = array.data() + array.size();
    for (const char* at = array.data() + 1; *at == '{';) {
        const char* after = skipValue(at, end, flags);
        if (after == nullptr || after == end) return std::nullopt;
        const StringId id = m_intern({at, static_cast<std::size_t>(after - at)});
        list.append(list.empty() ? "" : " ").append(std::to_string(id.value));
        at = after;
        if (*at == ']' && at + 1 == end) {
            if (m_listBytes > kMostListBytes) m_lists.clear(), m_listBytes = 0;
            m_listBytes += array.size();
            return m_lists.emplace(array, m_intern(list)).first->second;
        }
        if (*at != ',' || ++at == end) return std::nullopt;
    }
    return std::nullopt;
}

StringId ArgumentSplitter::formId() {
    Recent& recent = m_recent[m_form.size() % m_recent.size()];
    if (recent.text != m_form) {
        recent.id = m_intern(m_form);
        recent.text = m_form;
    }
    return recent.id;
}

columns::ArgumentForm ArgumentSplitter::whole(std::string_view json,
                                              std::vector<std::int64_t>& values) {
    values.push_back(m_intern(json).value);
    m_form.assign(1, '@');
    return {formId(), 1};
}

columns::ArgumentForm ArgumentSplitter::split(std::span<const Member> members, bool nonFinite,
                                              std::vector<std::int64_t>& values) {
    if (members.size() > kMostMembers) {
        std::string json;
        for (const Member& member : members)
            json.append(json.empty() ? "{\"" : ",\"")
                .append(member.key)
                .append("\":")
                .append(member.value);
        json += '}';
        return whole(nonFinite ? quoteNonFinite(json) : json, values);
    }
    const std::size_t before = values.size();
    m_form.assign(1, '{');
    for (const Member& member : members) {
        if (m_form.size() > 1) m_form += ',';
        add(member, nonFinite, values);
    }
    m_form += '}';
    return {formId(), static_cast<std::uint32_t>(values.size() - before)};
}

columns::ArgumentForm ArgumentSplitter::split(std::string_view json,
                                              std::vector<std::int64_t>& values) {
    if (json.empty()) return {};
    if (m_dense.size() < json.size() + kPadding) m_dense.resize(json.size() + kPadding);
    std::size_t length = 0;
    if (simdjson::minify(json.data(), json.size(), m_dense.data(), length) != simdjson::SUCCESS)
        return whole(json, values);
    const char* end = m_dense.data() + length;
    TextFlags flags;
    if (readMembers(m_dense.data(), end, m_members, flags) != end) return whole(json, values);
    return split(m_members, flags.nonFinite, values);
}

StringId ArgumentTable::add(const columns::ArgumentForm& form,
                            std::span<const std::int64_t> values) {
    if (m_rows.rows.size() == columns::kMaxChunkEvents ||
        m_rows.values.size() + values.size() > columns::kMaxArgumentValues)
        static_cast<void>(flush());
    if (m_rows.rows.empty() || form.text != m_lastForm) {
        const auto [at, added] =
            m_index.emplace(form.text, static_cast<std::uint32_t>(m_rows.forms.size()));
        if (added) m_rows.forms.push_back(form);
        m_lastForm = form.text;
        m_lastIndex = at->second;
    }
    const StringId id{m_first + static_cast<std::uint32_t>(m_rows.rows.size())};
    m_rows.rows.push_back(m_lastIndex);
    m_rows.values.insert(m_rows.values.end(), values.begin(), values.end());
    return id;
}

Result<void> ArgumentTable::flush() {
    if (m_rows.rows.empty()) return m_status;
    if (m_status) m_status = m_store({m_first}, m_rows);
    m_first += static_cast<std::uint32_t>(m_rows.rows.size());
    m_rows.forms.clear();
    m_rows.rows.clear();
    m_rows.values.clear();
    m_index.clear();
    return m_status;
}

}  // namespace shardscope::interchange
