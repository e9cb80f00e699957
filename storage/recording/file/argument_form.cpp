#include "storage/recording/file/argument_form.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace shardscope::storage {
namespace {

constexpr std::int64_t kMostDigits = 18;

/// Calls `literal` with what stands between marks and `mark` with each of them; stops at false.
template <class Literal, class Mark>
bool walk(std::string_view form, Literal literal, Mark mark) {
    bool inString = false;
    std::size_t from = 0;
    for (std::size_t i = 0; i < form.size(); ++i) {
        const char c = form[i];
        if (inString) {
            if (c == '\\') ++i;
            if (c == '"') inString = false;
            continue;
        }
        if (c == '"') inString = true;
        if (c != '#' && c != '%' && c != '@' && c != '^') continue;
        literal(form.substr(from, i - from));
        from = i + 1;
        if (!mark(c)) return false;
    }
    literal(form.substr(from));
    return true;
}

/// `digits` with a point before the last `fraction` of them.
bool appendDecimal(std::string& json, std::int64_t digits, std::int64_t fraction) {
    if (fraction < 1 || fraction > kMostDigits ||
        digits == std::numeric_limits<std::int64_t>::min())
        return false;
    std::string text = std::to_string(std::abs(digits));
    const auto places = static_cast<std::size_t>(fraction);
    if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
    text.insert(text.size() - places, 1, '.');
    if (digits < 0) json += '-';
    json += text;
    return true;
}

bool appendList(std::string& json, std::string_view list, const TextOf& textOf) {
    const auto ids = idsIn(list);
    if (!ids) return false;
    json += '[';
    for (std::size_t i = 0; i < ids->size(); ++i) {
        const auto text = textOf((*ids)[i]);
        if (!text) return false;
        if (i > 0) json += ',';
        json += *text;
    }
    json += ']';
    return true;
}

}  // namespace

std::optional<std::vector<StringId>> idsIn(std::string_view list) {
    std::vector<StringId> ids;
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at != end) {
        StringId id;
        const auto [after, error] = std::from_chars(at, end, id.value);
        if (error != std::errc{} || (after != end && (*after != ' ' || after + 1 == end)))
            return std::nullopt;
        ids.push_back(id);
        at = after == end ? end : after + 1;
    }
    return ids;
}

std::uint32_t countValues(std::string_view form) {
    std::uint32_t count = 0;
    walk(
        form, [](std::string_view) {}, [&](char c) { return count += c == '%' ? 2 : 1, true; });
    return count;
}

std::vector<TextValue> textValues(std::string_view form) {
    std::uint32_t count = 0;
    std::vector<TextValue> texts;
    walk(
        form, [](std::string_view) {},
        [&](char c) {
            if (c == '@' || c == '^') texts.push_back({count, c == '^'});
            count += c == '%' ? 2 : 1;
            return true;
        });
    return texts;
}

bool appendArguments(std::string& json, std::string_view form, std::span<const std::int64_t> values,
                     const TextOf& textOf) {
    if (countValues(form) != values.size()) return false;
    std::size_t at = 0;
    const auto next = [&] { return values[at++]; };
    return walk(
        form, [&](std::string_view literal) { json += literal; },
        [&](char mark) {
            const std::int64_t value = next();
            if (mark == '#') return json += std::to_string(value), true;
            if (mark == '%') return appendDecimal(json, value, next());
            if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) return false;
            const auto text = textOf({static_cast<std::uint32_t>(value)});
            if (text && mark == '^') return appendList(json, *text, textOf);
            if (text) json += *text;
            return text.has_value();
        });
}

}  // namespace shardscope::storage
