#include "storage/interchange/nsys/arguments.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace shardscope::interchange::nsys {
namespace {

constexpr std::array<std::string_view, 4> kKeys = {"seq", "op_id", "sizes", "input_op_ids"};
constexpr std::string_view kComma = ", ";
constexpr std::string_view kEquals = " = ";

bool isNumberKey(std::string_view key) {
    return key == "seq" || key == "op_id";
}

/// Where the next ", key = " begins and which key that is.
struct Found {
    std::size_t at = std::string_view::npos;
    std::string_view key;
};
Found findKey(std::string_view text, std::size_t from) {
    for (std::size_t at = text.find(kComma, from); at != std::string_view::npos;
         at = text.find(kComma, at + 1)) {
        const std::string_view rest = text.substr(at + kComma.size());
        for (const std::string_view key : kKeys)
            if (rest.starts_with(key) && rest.substr(key.size()).starts_with(kEquals))
                return {at, key};
    }
    return {};
}

/// An integer as it would be written again.
std::optional<std::int64_t> integerOf(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return std::to_string(value) == text ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string_view splitEmitted(std::string_view text, ArgumentWriter& arguments) {
    const Found first = findKey(text, 0);
    if (first.at == std::string_view::npos) return text;
    std::vector<Member> members;
    for (Found next = first; next.at != std::string_view::npos;) {
        const std::size_t value = next.at + kComma.size() + next.key.size() + kEquals.size();
        const Found after = findKey(text, value);
        const std::string_view is = text.substr(value, std::min(after.at, text.size()) - value);
        const bool twice = std::any_of(members.begin(), members.end(),
                                       [&](const Member& m) { return m.key == next.key; });
        if (twice || (isNumberKey(next.key) && !integerOf(is))) return text;
        members.push_back({next.key, is});
        next = after;
    }
    for (const Member& member : members) {
        if (isNumberKey(member.key))
            arguments.integer(member.key, *integerOf(member.value));
        else
            arguments.json(member.key, jsonString(member.value));
    }
    return text.substr(0, first.at);
}

std::string joinEmitted(std::string_view name, std::span<const Member> arguments) {
    std::string text(name);
    for (const Member& member : arguments)
        if (std::find(kKeys.begin(), kKeys.end(), member.key) != kKeys.end())
            text.append(kComma).append(member.key).append(kEquals).append(textOf(member.value));
    return text;
}

}  // namespace shardscope::interchange::nsys
