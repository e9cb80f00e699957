#include "engine/launch/tasks/task_handshake.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace shardscope::launch {
namespace {

// What a MAC or key is for; no two are alike.
constexpr std::string_view kProof = "task proves", kWelcome = "first welcomes",
                           kRefusal = "first refuses", kToFirst = "key to first",
                           kToTask = "key to task";
constexpr std::string_view kUnproved = "unproved";

/// Of one connection.
struct Exchange {
    const TaskSecret& secret;
    std::string_view hello, nonce;

    [[nodiscard]] network::Mac mac(std::string_view purpose, std::string_view more = {}) const {
        return network::macOf(secret.key, {purpose, hello, nonce, more});
    }
    [[nodiscard]] std::string hex(std::string_view purpose, std::string_view more = {}) const {
        return network::toHex(mac(purpose, more));
    }
};

constexpr char kBetween = '\t';
constexpr std::string_view kVersion = "shardscope-task 2";
constexpr std::size_t kFields = 10;
constexpr std::size_t kLongestField = 255;

/// Of a line that has fields, and may be shown to people.
std::string field(std::string_view text) {
    return printableLine(std::string(text.substr(0, kLongestField)));
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
    : m_secret(secret) {
    TaskHello said = hello;
    said.run = secret.run;
    said.nonce = network::drawNonce();
    m_hello = helloLine(said);
}

std::optional<std::string> JoiningHandshake::prove(std::string_view challenge) {
    const auto nonce = after(challenge, "challenge");
    if (!nonce || nonce->size() != network::kNonceLetters || !network::keyFromHex(*nonce))
        return std::nullopt;
    m_nonce = *nonce;
    return fmt::format("proof {}", Exchange{m_secret, m_hello, m_nonce}.hex(kProof));
}

JoiningHandshake::Answer JoiningHandshake::hear(std::string_view line) const {
    if (m_nonce.empty()) return {};
    const Exchange exchange{m_secret, m_hello, m_nonce};
    if (line == kUnproved) return {Verdict::kUnproved, {}};
    if (const auto mac = after(line, "welcome"))
        return {network::equalSecrets(*mac, exchange.hex(kWelcome)) ? Verdict::kWelcome
                                                                    : Verdict::kStranger,
                {}};
    const auto refused = after(line, "refused");
    if (!refused) return {};
    const std::string_view mac = refused->substr(0, refused->find(' '));
    const std::string_view sentence = refused->substr(std::min(mac.size() + 1, refused->size()));
    if (!network::equalSecrets(mac, exchange.hex(kRefusal, sentence))) return {};
    return {Verdict::kRefused, std::string(sentence)};
}

std::pair<network::Key, network::Key> JoiningHandshake::keys() const {
    const Exchange exchange{m_secret, m_hello, m_nonce};
    return {exchange.mac(kToFirst), exchange.mac(kToTask)};
}

network::SealPair JoiningHandshake::seals() const {
    const auto [toFirst, toTask] = keys();
    return {network::Seal(toFirst), network::Seal(toTask)};
}

std::optional<std::string> AdmittingHandshake::challenge(std::string_view hello) {
    auto task = parseHello(hello);
    if (!task) return std::nullopt;
    m_task = std::move(*task);
    m_hello = hello;
    m_nonce = network::drawNonce();
    return fmt::format("challenge {}", m_nonce);
}

bool AdmittingHandshake::proves(std::string_view line) const {
    const auto mac = after(line, "proof");
    return mac && !m_nonce.empty() &&
           network::equalSecrets(*mac, Exchange{m_secret, m_hello, m_nonce}.hex(kProof));
}

std::string AdmittingHandshake::welcome() const {
    return fmt::format("welcome {}", Exchange{m_secret, m_hello, m_nonce}.hex(kWelcome));
}

std::string AdmittingHandshake::refusal(std::string_view sentence) const {
    return fmt::format("refused {} {}",
                       Exchange{m_secret, m_hello, m_nonce}.hex(kRefusal, sentence), sentence);
}

network::SealPair AdmittingHandshake::seals() const {
    const Exchange exchange{m_secret, m_hello, m_nonce};
    return {network::Seal(exchange.mac(kToTask)), network::Seal(exchange.mac(kToFirst))};
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

std::optional<std::string_view> after(std::string_view line, std::string_view word) {
    if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ')
        return std::nullopt;
    return line.substr(word.size() + 1);
}

}  // namespace shardscope::launch
