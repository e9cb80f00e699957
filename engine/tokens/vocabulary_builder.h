// Puts a Vocabulary together from what tokenizer files say, in whatever order they say it.
#pragma once

#include "engine/tokens/vocabulary.h"
#include "storage/model/result.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::tokens {

/// All errors are kUnreadable and begin with `origin`.
class VocabularyBuilder {
public:
    explicit VocabularyBuilder(std::string origin) : m_origin(std::move(origin)) {}

    /// `object`: texts of the byte alphabet to ids. Those of added tokens are left to add().
    Result<void> tokens(const nlohmann::json& object);
    Result<void> add(AddedToken token);
    /// Two texts of the byte alphabet whose joined bytes are a token. After tokens().
    Result<void> merge(std::string_view left, std::string_view right);

    [[nodiscard]] const Vocabulary& vocabulary() const { return m_vocabulary; }
    [[nodiscard]] Vocabulary take() { return std::move(m_vocabulary); }
    [[nodiscard]] tl::unexpected<Error> error(const std::string& what) const;

private:
    Result<void> place(std::uint64_t id, const std::string& text, std::string bytes);

    std::string m_origin;
    Vocabulary m_vocabulary;
    std::unordered_map<std::string, std::uint32_t> m_ids;  ///< by text of the byte alphabet
};

}  // namespace shardscope::tokens
