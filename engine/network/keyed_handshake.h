// How two sides of a new connection prove to each other that they know a key, without showing it.
//
//   joining side    HELLO                         what it is, and a nonce
//   admitting side  "challenge NONCE"
//   joining side    "proof MAC"
//   admitting side  "welcome MAC"                 it knows the key too
//               or  "refused MAC SENTENCE"        what joins does not fit
//               or  "unproved"                    what joins has another key; proves nothing itself
//
// The three passes are those of ISO/IEC 9798-4: each MAC is over what it is for, the hello as it
// was sent, and the admitting side's nonce, so that none can be used on another connection, for
// another hello or by the other side. The joining side proves first: only what listens in the
// admitting side's place gets anything to guess at. From then on all that is said has a tag by keys
// of this connection (Seal): a relay can change nothing in it.
//
// Pure state machines of lines without their ends; one thread.
#pragma once

#include "engine/network/keyed_hash.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace shardscope::network {

/// What follows `word` and a blank in a line that begins with them.
[[nodiscard]] std::optional<std::string_view> after(std::string_view line, std::string_view word);

/// What the MACs of one connection are made of.
struct Exchange {
    Key key;
    std::string hello{}, nonce{};  ///< of the joining and of the admitting side

    [[nodiscard]] Mac mac(std::string_view purpose, std::string_view more = {}) const {
        return macOf(key, {purpose, hello, nonce, more});
    }
    [[nodiscard]] std::string hex(std::string_view purpose, std::string_view more = {}) const {
        return toHex(mac(purpose, more));
    }
};

class JoiningHandshake {
public:
    /// `hello` has a nonce in it that was drawn for this connection.
    JoiningHandshake(const Key& key, std::string hello) : m_exchange{key, std::move(hello)} {}

    /// What to say first.
    [[nodiscard]] const std::string& hello() const { return m_exchange.hello; }
    /// The answer to the admitting side's first line; nothing: it is none.
    [[nodiscard]] std::optional<std::string> prove(std::string_view challenge);

    enum class Verdict : std::uint8_t { kStranger, kUnproved, kRefused, kWelcome };
    struct Answer {
        Verdict verdict = Verdict::kStranger;
        std::string sentence;  ///< of kRefused
    };
    /// What the second line says. Only kRefused and kWelcome were proved.
    [[nodiscard]] Answer hear(std::string_view line) const;

    /// After kWelcome.
    [[nodiscard]] SealPair seals() const;
    /// The same, for a process that goes on with the connection.
    [[nodiscard]] std::pair<Key, Key> keys() const;

private:
    Exchange m_exchange;
};

class AdmittingHandshake {
public:
    explicit AdmittingHandshake(const Key& key) : m_exchange{key} {}

    /// The answer to a first line, whatever it says.
    [[nodiscard]] std::string challenge(std::string_view hello);
    [[nodiscard]] bool proves(std::string_view line) const;

    // After proves().
    [[nodiscard]] std::string welcome() const;
    [[nodiscard]] std::string refusal(std::string_view sentence) const;
    [[nodiscard]] SealPair seals() const;

    static constexpr const char* kUnproved = "unproved";

private:
    Exchange m_exchange;
};

}  // namespace shardscope::network
