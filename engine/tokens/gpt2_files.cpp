// GPT-2's encoder.json (vocab.json) and vocab.bpe (merges.txt).
#include "engine/tokens/tokenizer_file.h"
#include "engine/tokens/vocabulary_builder.h"

#include <fmt/format.h>

namespace shardscope::tokens {
namespace {

/// One pair a line; a first line "#version: 0.2".
Result<void> takeMerges(std::string_view text, VocabularyBuilder& builder) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
        const std::size_t space = line.find(' ');
        if (space == line.npos || space == 0 || space + 1 == line.size() ||
            line.find(' ', space + 1) != line.npos) {
            return builder.error(
                fmt::format("line {} of its merges is not two tokens and a space", number));
        }
        auto merged = builder.merge(line.substr(0, space), line.substr(space + 1));
        if (!merged) return merged;
    }
    return {};
}

}  // namespace

Result<Tokenizer> parseGpt2(std::string_view vocabulary, std::string_view merges,
                            const std::string& origin) {
    VocabularyBuilder builder(origin);
    const auto document = nlohmann::json::parse(vocabulary, nullptr, false);
    if (document.is_discarded()) return builder.error("its vocabulary is no JSON");
    // These files have no list of added tokens; GPT-2 knows one by its text.
    if (document.is_object() && document.contains(kEndOfText) &&
        document[kEndOfText].is_number_unsigned() && document[kEndOfText] < kMostTokens) {
        auto added = builder.add({kEndOfText, document[kEndOfText].get<std::uint32_t>(), true});
        if (!added) return failure(added);
    }
    if (auto taken = builder.tokens(document); !taken) return failure(taken);
    if (auto taken = takeMerges(merges, builder); !taken) return failure(taken);
    return Tokenizer::make(builder.take(), origin);
}

}  // namespace shardscope::tokens
