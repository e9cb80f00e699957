#include "storage/model/step_names.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>

namespace shardscope {
namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kPaddleStep = "ProfileStep#";
/// Longer names are no marks.
constexpr std::size_t kMostName = 64;

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
bool isDecoration(char c) {
    return c == ' ' || c == '#' || c == '*' || c == '=' || c == '-' || c == '[' || c == ']' ||
           c == ':' || c == '_' || c == '(' || c == ')';
}

std::string_view stripped(std::string_view name) {
    while (!name.empty() && isDecoration(name.front())) name.remove_prefix(1);
    while (!name.empty() && isDecoration(name.back())) name.remove_suffix(1);
    return name;
}

/// Without "/100" or " of 100".
std::string_view withoutTotal(std::string_view name) {
    std::size_t digits = 0;
    while (digits < name.size() && isDigit(name[name.size() - 1 - digits])) ++digits;
    const std::string_view front = name.substr(0, name.size() - digits);
    for (const std::string_view between : {"/", " / ", " of "})
        if (digits > 0 && front.ends_with(between) && front.size() > between.size() &&
            isDigit(front[front.size() - between.size() - 1]))
            return front.substr(0, front.size() - between.size());
    return name;
}

std::optional<StepIndex> numberOf(std::string_view digits) {
    if (digits.empty()) return std::nullopt;
    std::int32_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [after, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || after != end || !isDigit(digits.front())) return std::nullopt;
    return StepIndex{number};
}

std::optional<StepNaming> namingOf(std::string_view words) {
    struct Word {
        std::string_view text;
        StepNaming naming;
    };
    constexpr Word kWords[] = {{"step", StepNaming::kStep},
                               {"iteration", StepNaming::kIteration},
                               {"iter", StepNaming::kIteration},
                               {"batch", StepNaming::kBatch}};
    constexpr std::string_view kFronts[] = {"", "train", "training", "global", "optimizer"};
    const std::size_t last = words.find_last_of(" _-");
    const std::string_view front =
        last == std::string_view::npos ? std::string_view{} : words.substr(0, last);
    const std::string_view noun = last == std::string_view::npos ? words : words.substr(last + 1);
    if (std::find(std::begin(kFronts), std::end(kFronts), front) == std::end(kFronts))
        return std::nullopt;
    for (const Word& word : kWords)
        if (word.text == noun) return word.naming;
    return std::nullopt;
}

}  // namespace

std::optional<NamedStep> stepIn(std::string_view name) {
    if (name.size() > kMostName || name.empty()) return std::nullopt;
    if (name.starts_with(kPaddleStep)) {
        // Paddle adds how long it took: "ProfileStep#1[377.209 us]".
        const std::string_view rest = name.substr(kPaddleStep.size());
        const auto step = numberOf(rest.substr(0, rest.find('[')));
        if (!step) return std::nullopt;
        return NamedStep{StepNaming::kProfilerStep, *step};
    }
    if (name.starts_with(kProfilerStep)) {
        if (name.size() == kProfilerStep.size()) return std::nullopt;
        const auto step = numberOf(name.substr(kProfilerStep.size()));
        if (!step) return std::nullopt;
        return NamedStep{StepNaming::kProfilerStep, *step};
    }
    name = stripped(name);
    // Most names differ in their last character.
    if (name.empty() || !isDigit(name.back())) return std::nullopt;
    name = withoutTotal(name);
    const auto digits = static_cast<std::size_t>(
        std::find_if_not(name.rbegin(), name.rend(), isDigit) - name.rbegin());
    std::string words(stripped(name.substr(0, name.size() - digits)));
    // "step5" is more of an identifier than a mark.
    if (digits == name.size() || words.size() + digits == name.size()) return std::nullopt;
    for (char& c : words) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    const auto naming = namingOf(words);
    const auto step = numberOf(name.substr(name.size() - digits));
    if (!naming || !step) return std::nullopt;
    return NamedStep{*naming, *step};
}

}  // namespace shardscope
