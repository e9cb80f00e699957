#include "engine/launch/tasks/task_words.h"

#include "engine/launch/ssh/content_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr char kBetween = '\t';

/// In a time that does not tell where they differ.
bool equal(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    return difference == 0;
}

/// Of a line that has fields.
std::string field(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return text.substr(0, 255);
}

std::optional<std::int32_t> number(std::string_view text) {
    std::int32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || last != end || value < 0) return std::nullopt;
    return value;
}

}  // namespace

Result<TaskSecret> TaskSecret::of(const std::string& identity, const std::string& token) {
    TaskSecret secret;
    const std::string proven = fmt::format("{}\n{}", identity, token);
    for (const auto& [name, sum, of] : {std::tuple("task", &secret.task, &proven),
                                        {"first", &secret.first, &proven},
                                        {"run", &secret.run, &identity},
                                        {"place", &secret.place, &identity}}) {
        auto made = contentSum(fmt::format("shardscope {} {}", name, *of));
        if (!made) return failure(made, "the secret of this run's tasks");
        *sum = std::move(*made);
    }
    return secret;
}

std::string helloLine(const TaskSecret& secret, const TaskHello& hello) {
    return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}{0}{8}{0}{9}\n", kBetween,
                       secret.task, hello.agent ? "agent" : "task", hello.rank, hello.size,
                       field(hello.node), field(hello.host), field(hello.processors),
                       field(hello.product), secret.run);
}

std::optional<TaskHello> parseHello(const TaskSecret& secret, std::string_view line) {
    if (!equal(line.substr(0, line.find(kBetween)), secret.task)) return std::nullopt;
    auto said = parseStrange(line);
    if (!said) return std::nullopt;
    return std::move(said->hello);
}

std::optional<StrangeTask> parseStrange(std::string_view line) {
    std::array<std::string_view, 9> fields;
    for (std::string_view& each : fields) {
        const std::size_t end = std::min(line.find(kBetween), line.size());
        each = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    const auto rank = number(fields[2]);
    const auto size = number(fields[3]);
    if (!rank || !size || fields[4].empty() || fields[5].empty()) return std::nullopt;
    StrangeTask task;
    TaskHello& hello = task.hello;
    hello.agent = fields[1] == "agent";
    hello.rank = *rank;
    hello.size = *size;
    // What strangers say may be shown to people.
    hello.node = field(std::string(fields[4]));
    hello.host = field(std::string(fields[5]));
    hello.processors = field(std::string(fields[6]));
    hello.product = field(std::string(fields[7]));
    task.run = fields[8];
    return task;
}

std::optional<std::string_view> after(std::string_view line, std::string_view word) {
    if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ')
        return std::nullopt;
    return line.substr(word.size() + 1);
}

}  // namespace shardscope::launch
