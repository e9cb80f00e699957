#include "engine/network/keyed_handshake.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::network {
namespace {

// What a MAC or key is for; no two are alike.
constexpr std::string_view kProof = "task proves", kWelcome = "first welcomes",
                           kRefusal = "first refuses", kToFirst = "key to first",
                           kToTask = "key to task";

}  // namespace

std::optional<std::string_view> after(std::string_view line, std::string_view word) {
    if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ')
        return std::nullopt;
    return line.substr(word.size() + 1);
}

std::optional<std::string> JoiningHandshake::prove(std::string_view challenge) {
    const auto nonce = after(challenge, "challenge");
    if (!nonce || nonce->size() != kNonceLetters || !keyFromHex(*nonce)) return std::nullopt;
    m_exchange.nonce = *nonce;
    return fmt::format("proof {}", m_exchange.hex(kProof));
}

JoiningHandshake::Answer JoiningHandshake::hear(std::string_view line) const {
    if (m_exchange.nonce.empty()) return {};
    if (line == AdmittingHandshake::kUnproved) return {Verdict::kUnproved, {}};
    if (const auto mac = after(line, "welcome"))
        return {
            equalSecrets(*mac, m_exchange.hex(kWelcome)) ? Verdict::kWelcome : Verdict::kStranger,
            {}};
    const auto refused = after(line, "refused");
    if (!refused) return {};
    const std::string_view mac = refused->substr(0, refused->find(' '));
    const std::string_view sentence = refused->substr(std::min(mac.size() + 1, refused->size()));
    if (!equalSecrets(mac, m_exchange.hex(kRefusal, sentence))) return {};
    return {Verdict::kRefused, std::string(sentence)};
}

std::pair<Key, Key> JoiningHandshake::keys() const {
    return {m_exchange.mac(kToFirst), m_exchange.mac(kToTask)};
}

SealPair JoiningHandshake::seals() const {
    const auto [toFirst, toTask] = keys();
    return {Seal(toFirst), Seal(toTask)};
}

std::string AdmittingHandshake::challenge(std::string_view hello) {
    m_exchange.hello = hello;
    m_exchange.nonce = drawNonce();
    return fmt::format("challenge {}", m_exchange.nonce);
}

bool AdmittingHandshake::proves(std::string_view line) const {
    const auto mac = after(line, "proof");
    return mac && !m_exchange.nonce.empty() && equalSecrets(*mac, m_exchange.hex(kProof));
}

std::string AdmittingHandshake::welcome() const {
    return fmt::format("welcome {}", m_exchange.hex(kWelcome));
}

std::string AdmittingHandshake::refusal(std::string_view sentence) const {
    return fmt::format("refused {} {}", m_exchange.hex(kRefusal, sentence), sentence);
}

SealPair AdmittingHandshake::seals() const {
    return {Seal(m_exchange.mac(kToTask)), Seal(m_exchange.mac(kToFirst))};
}

}  // namespace shardscope::network
