#include "engine/launch/tasks/task_handshake.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr char kBetween = '\t';
constexpr std::string_view kVersion = "shardscope-task 2";
constexpr std::size_t kFields = 10;
constexpr std::size_t kLongestField = 255;

/// Of a line that has fields, and may be shown to people.
std::string field(std::string_view text) {
    std::string printed = printableLine(std::string(text.substr(0, kLongestField)));
    if (printed.size() <= kLongestField) return printed;
    // What is spelled is longer; a field that was cut is not cut again.
    std::size_t end = kLongestField;
    while (end > 0 && (static_cast<unsigned char>(printed[end]) & 0xC0) == 0x80) --end;
    printed.resize(end);
    return printed;
}

std::optional<std::int32_t> number(std::string_view text) {
    std::int32_t value = 0;
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || last != end || value < 0) return std::nullopt;
    return value;
}

/// Exactly so many.
std::optional<std::array<std::string_view, kFields>> fieldsOf(std::string_view line) {
    if (std::count(line.begin(), line.end(), kBetween) != kFields - 1) return std::nullopt;
    std::array<std::string_view, kFields> fields;
    for (std::string_view& each : fields) {
        each = line.substr(0, line.find(kBetween));
        line.remove_prefix(std::min(each.size() + 1, line.size()));
    }
    return fields;
}

}  // namespace

JoiningHandshake::JoiningHandshake(const TaskSecret& secret, const TaskHello& hello)
    : network::JoiningHandshake(secret.key, [&] {
          TaskHello said = hello;
          said.run = secret.run;
          said.nonce = network::drawNonce();
          return helloLine(said);
      }()) {}

std::optional<std::string> AdmittingHandshake::challenge(std::string_view hello) {
    auto task = parseHello(hello);
    if (!task) return std::nullopt;
    m_task = std::move(*task);
    return network::AdmittingHandshake::challenge(hello);
}

std::string helloLine(const TaskHello& hello) {
    return fmt::format("{1}{0}{2}{0}{3}{0}{4}{0}{5}{0}{6}{0}{7}{0}{8}{0}{9}{0}{10}", kBetween,
                       kVersion, hello.agent ? "agent" : "task", hello.nonce, hello.run, hello.rank,
                       hello.size, field(hello.node), field(hello.host), field(hello.processors),
                       field(hello.product));
}

std::optional<TaskHello> parseHello(std::string_view line) {
    const auto fields = fieldsOf(line);
    if (!fields) return std::nullopt;
    const auto& [version, role, nonce, run, rank, size, node, host, processors, product] = *fields;
    const auto rankNumber = number(rank), sizeNumber = number(size);
    if (version != kVersion || (role != "agent" && role != "task") || !rankNumber || !sizeNumber ||
        nonce.empty() || node.empty() || host.empty())
        return std::nullopt;
    TaskHello hello;
    hello.agent = role == "agent";
    hello.nonce = field(nonce);
    hello.run = field(run);
    hello.rank = *rankNumber;
    hello.size = *sizeNumber;
    hello.node = field(node);
    hello.host = field(host);
    hello.processors = field(processors);
    hello.product = field(product);
    return hello;
}

}  // namespace shardscope::launch
