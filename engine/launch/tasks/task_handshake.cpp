#include "engine/launch/tasks/task_handshake.h"

#include <fmt/format.h>

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

}  // namespace shardscope::launch
