#include "engine/launch/tasks/processor_set.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace shardscope::launch {
namespace {

std::optional<int> number(std::string_view text) {
    int value = 0;
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || error != std::errc() || last != end) return std::nullopt;
    return value >= 0 && value < CPU_SETSIZE ? std::optional(value) : std::nullopt;
}

}  // namespace

ProcessorSet ownProcessors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    ProcessorSet own;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return own;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(static_cast<unsigned>(i), &set)) own.insert(i);
    return own;
}

void useProcessors(const ProcessorSet& processors) {
    if (processors.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int each : processors) CPU_SET(static_cast<unsigned>(each), &set);
    static_cast<void>(::sched_setaffinity(0, sizeof set, &set));
}

std::string toText(const ProcessorSet& processors) {
    std::string text;
    for (auto at = processors.begin(); at != processors.end();) {
        const int first = *at;
        int last = first;
        while (++at != processors.end() && *at == last + 1) ++last;
        text += text.empty() ? "" : ",";
        text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    }
    return text;
}

ProcessorSet processorsOf(std::string_view text) {
    ProcessorSet processors;
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view part = text.substr(begin, end - begin);
        const std::size_t dash = part.find('-');
        const auto first = number(part.substr(0, dash));
        const auto last = dash == part.npos ? first : number(part.substr(dash + 1));
        if (!first || !last) return {};
        for (int i = *first; i <= *last; ++i) processors.insert(i);
        begin = end + 1;
    }
    return processors;
}

}  // namespace shardscope::launch
