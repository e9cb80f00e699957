// What tokenizer files say, as a Tokenizer: Hugging Face's tokenizer.json of byte-level BPE
// (https://huggingface.co/docs/tokenizers), which is written here too, and GPT-2's encoder.json
// (vocab.json) with vocab.bpe (merges.txt).
#include "engine/tokens/tokenizer.h"
#include "engine/tokens/vocabulary.h"
#include "storage/model/result.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::tokens {
namespace {

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

using Json = nlohmann::json;

/// A member, null where it is not there.
const Json& member(const Json& object, const char* name) {
    static const Json kNull;
    if (!object.is_object()) return kNull;
    const auto found = object.find(name);
    return found == object.end() ? kNull : *found;
}

bool isTrue(const Json& value) {
    return value.is_boolean() && value.get<bool>();
}

std::string typeOf(const Json& object) {
    const Json& type = member(object, "type");
    return type.is_string() ? type.get<std::string>() : "unnamed";
}

Result<void> checkSplitting(const Json& document, const VocabularyBuilder& builder) {
    const Json& normalizer = member(document, "normalizer");
    if (!normalizer.is_null()) {
        return builder.error(
            fmt::format("it changes text before it encodes (normalizer {}), which "
                        "Shardscope does not; use a tokenizer without",
                        typeOf(normalizer)));
    }
    const Json& splitter = member(document, "pre_tokenizer");
    const Json& usesPattern = member(splitter, "use_regex");
    if (typeOf(splitter) != "ByteLevel" || (usesPattern.is_boolean() && !usesPattern.get<bool>())) {
        return builder.error(
            fmt::format("it cuts text by a {} pre-tokenizer; Shardscope knows "
                        "ByteLevel with GPT-2's pattern, as in GPT-2's file",
                        typeOf(splitter)));
    }
    if (isTrue(member(splitter, "add_prefix_space"))) {
        return builder.error(
            "it puts a space before the text (add_prefix_space), so tokens would not give the "
            "text back; train it with add_prefix_space=False");
    }
    return {};
}

Result<void> checkModel(const Json& model, const VocabularyBuilder& builder) {
    if (!model.is_object()) return builder.error("it has no model; give a tokenizer.json");
    // Older files leave the type out; only BPE has merges.
    const std::string type = member(model, "type").is_string() ? typeOf(model) : "BPE";
    if (type != "BPE" || !member(model, "merges").is_array()) {
        return builder.error(fmt::format("its model is {}, not byte-level BPE", type));
    }
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        const Json& mark = member(model, name);
        if (mark.is_string() && !mark.get_ref<const std::string&>().empty())
            return builder.error(
                fmt::format("it marks parts of words ({}), so it is no "
                            "byte-level BPE",
                            name));
    }
    for (const char* name : {"byte_fallback", "ignore_merges"}) {
        if (isTrue(member(model, name)))
            return builder.error(
                fmt::format("its model has {}, which Shardscope does not do", name));
    }
    const Json& dropout = member(model, "dropout");
    if (dropout.is_number() && dropout.get<double>() > 0)
        return builder.error("its model leaves out merges by chance (dropout); set that to null");
    return {};
}

Result<void> takeAdded(const Json& list, VocabularyBuilder& builder) {
    if (list.is_null()) return {};
    if (!list.is_array()) return builder.error("its added_tokens are no list");
    for (const Json& entry : list) {
        const Json& text = member(entry, "content");
        const Json& id = member(entry, "id");
        if (!text.is_string() || !id.is_number_unsigned() || id >= kMostTokens)
            return builder.error("an added token has no text or no id; it is damaged");
        for (const char* name : {"single_word", "lstrip", "rstrip"}) {
            if (isTrue(member(entry, name)))
                return builder.error(
                    fmt::format("its added token '{}' is {}, which Shardscope "
                                "does not do",
                                text.get<std::string>(), name));
        }
        auto added = builder.add(
            {text.get<std::string>(), id.get<std::uint32_t>(), isTrue(member(entry, "special"))});
        if (!added) return added;
    }
    return {};
}

/// "left right" in older files, ["left", "right"] in newer.
Result<void> takeMerge(const Json& entry, VocabularyBuilder& builder) {
    if (entry.is_string()) {
        const std::string_view text = entry.get_ref<const std::string&>();
        const std::size_t space = text.find(' ');
        if (space != text.npos) return builder.merge(text.substr(0, space), text.substr(space + 1));
    }
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
        return builder.merge(entry[0].get_ref<const std::string&>(),
                             entry[1].get_ref<const std::string&>());
    }
    return builder.error(fmt::format("merge {} is not two tokens; it is damaged",
                                     builder.vocabulary().merges.size() + 1));
}

Json byteLevel() {
    return {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true},
            {"use_regex", true}};
}

Json modelJson(const Vocabulary& vocabulary) {
    Json ids = Json::object();
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        if (!vocabulary.tokens[id].empty()) ids[toAlphabet(vocabulary.tokens[id])] = id;
    }
    // Added tokens are written as they are, and where the library looks for their ids first.
    for (const AddedToken& token : vocabulary.added) {
        ids.erase(toAlphabet(token.text));
        ids[token.text] = token.id;
    }
    Json merges = Json::array();
    for (const Merge& merge : vocabulary.merges) {
        merges.push_back(fmt::format("{} {}", toAlphabet(vocabulary.tokens[merge.left]),
                                     toAlphabet(vocabulary.tokens[merge.right])));
    }
    return {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", std::move(ids)},
            {"merges", std::move(merges)}};
}

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

Result<Tokenizer> parseTokenizerJson(std::string_view text, const std::string& origin) {
    VocabularyBuilder builder(origin);
    const auto document = Json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object())
        return builder.error("it is no JSON object; give a tokenizer.json");
    const Json& model = member(document, "model");
    if (auto checked = checkModel(model, builder); !checked) return failure(checked);
    if (auto checked = checkSplitting(document, builder); !checked) return failure(checked);
    auto taken = takeAdded(member(document, "added_tokens"), builder);
    if (taken) taken = builder.tokens(member(model, "vocab"));
    if (!taken) return failure(taken);
    for (const Json& entry : member(model, "merges")) {
        if (auto merged = takeMerge(entry, builder); !merged) return failure(merged);
    }
    return Tokenizer::make(builder.take(), origin);
}

std::string tokenizerJson(const Vocabulary& vocabulary) {
    Json added = Json::array();
    for (const AddedToken& token : vocabulary.added) {
        added.push_back({{"id", token.id},
                         {"content", token.text},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", token.special}});
    }
    const Json document = {{"version", "1.0"},
                           {"truncation", nullptr},
                           {"padding", nullptr},
                           {"added_tokens", std::move(added)},
                           {"normalizer", nullptr},
                           {"pre_tokenizer", byteLevel()},
                           {"post_processor", nullptr},
                           {"decoder", byteLevel()},
                           {"model", modelJson(vocabulary)}};
    return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

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
