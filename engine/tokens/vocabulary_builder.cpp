#include "engine/tokens/vocabulary_builder.h"

#include "engine/tokens/byte_alphabet.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope::tokens {

tl::unexpected<Error> VocabularyBuilder::error(const std::string& what) const {
    return failure(ErrorCode::kUnreadable, fmt::format("{}: {}", m_origin, what));
}

Result<void> VocabularyBuilder::place(std::uint64_t id, const std::string& text,
                                      std::string bytes) {
    if (id >= kMostTokens) {
        return error(
            fmt::format("token '{}' has the id {}, past the largest that can be, {}; it "
                        "is damaged",
                        text, id, kMostTokens - 1));
    }
    auto& tokens = m_vocabulary.tokens;
    if (id >= tokens.size()) tokens.resize(id + 1);
    if (!tokens[id].empty() && tokens[id] != bytes) {
        return error(
            fmt::format("the id {} is given to two tokens, '{}' one of them; it is "
                        "damaged",
                        id, text));
    }
    tokens[id] = std::move(bytes);
    return {};
}

Result<void> VocabularyBuilder::add(AddedToken token) {
    if (token.text.empty()) return error("an added token is empty; it is damaged");
    auto placed = place(token.id, token.text, token.text);
    if (!placed) return placed;
    m_vocabulary.added.push_back(std::move(token));
    return {};
}

Result<void> VocabularyBuilder::tokens(const nlohmann::json& object) {
    if (!object.is_object()) return error("its vocabulary is no object of tokens and ids");
    for (const auto& [text, value] : object.items()) {
        if (!value.is_number_unsigned()) {
            return error(fmt::format("token '{}' has no id that is a whole number", text));
        }
        const auto id = value.get<std::uint64_t>();
        const bool added =
            std::any_of(m_vocabulary.added.begin(), m_vocabulary.added.end(),
                        [&](const AddedToken& a) { return a.id == id && a.text == text; });
        if (added) continue;
        auto bytes = fromAlphabet(text);
        if (!bytes || bytes->empty()) {
            return error(
                fmt::format("token '{}' is not written in GPT-2's alphabet of bytes, so "
                            "this is no byte-level BPE",
                            text));
        }
        auto placed = place(id, text, std::move(*bytes));
        if (!placed) return placed;
        m_ids.emplace(text, static_cast<std::uint32_t>(id));
    }
    return {};
}

Result<void> VocabularyBuilder::merge(std::string_view left, std::string_view right) {
    const std::string texts[] = {std::string(left), std::string(right),
                                 std::string(left) + std::string(right)};
    std::uint32_t ids[3] = {};
    for (int i = 0; i < 3; ++i) {
        const auto found = m_ids.find(texts[i]);
        if (found == m_ids.end()) {
            return error(
                fmt::format("merge {} joins '{}' and '{}', but '{}' is not in the "
                            "vocabulary; its files do not belong together",
                            m_vocabulary.merges.size() + 1, left, right, texts[i]));
        }
        ids[i] = found->second;
    }
    m_vocabulary.merges.push_back({ids[0], ids[1], ids[2]});
    return {};
}

}  // namespace shardscope::tokens
