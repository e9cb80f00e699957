#include "engine/worker/text_sample.h"

#include "engine/tokens/corpus.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/tokenizer_file.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace shardscope::worker {
namespace {

/// Length of the UTF-8 character at the front, 0 when there is none.
std::size_t characterAt(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80            ? 1
                               : lead >> 5 == 0b110   ? 2
                               : lead >> 4 == 0b1110  ? 3
                               : lead >> 3 == 0b11110 ? 4
                                                      : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
    return length;
}

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = characterAt(text);
        const auto byte = static_cast<unsigned char>(text.front());
        const bool control = length == 1 && byte < 0x20 && byte != '\n' && byte != '\t';
        if (length == 0 || control) {
            out += fmt::format("\\x{:02X}", byte);
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return out;
}

/// Text to ids and back, by bytes or by a tokenizer.
class Words {
public:
    static Result<Words> open(const std::string& tokenizer) {
        Words words;
        if (tokenizer == tokens::kBytes) return words;
        auto read = tokens::readTokenizer(tokenizer);
        if (!read) return failure(read);
        words.m_tokenizer = std::move(*read);
        return words;
    }

    [[nodiscard]] std::vector<std::int64_t> ids(const std::string& text) const {
        if (!m_tokenizer) {
            std::vector<std::int64_t> bytes;
            for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
            return bytes;
        }
        std::vector<std::uint32_t> ids;
        tokens::Encoder(*m_tokenizer).encode(text, ids);
        return {ids.begin(), ids.end()};
    }

    /// The model may know more tokens than the tokenizer has.
    [[nodiscard]] std::string text(const std::vector<std::int64_t>& ids) const {
        std::string text;
        for (const std::int64_t id : ids) {
            if (!m_tokenizer) {
                text += id < 256 ? std::string(1, static_cast<char>(id)) : fmt::format("<{}>", id);
                continue;
            }
            const auto one = static_cast<std::uint32_t>(id);
            const auto piece = m_tokenizer->decode(std::span(&one, 1));
            text += piece ? *piece : fmt::format("<{}>", id);
        }
        return text;
    }

private:
    std::optional<tokens::Tokenizer> m_tokenizer;
};

}  // namespace

Result<std::string> sampleText(const run::RunConfig& config, gpt::Gpt& model, at::Device device,
                               parallel::Partitioning& partitioning,
                               comm::Communicator& communicator, std::int32_t step,
                               const std::function<bool()>& stopWanted) {
    const auto words = Words::open(config.tokenizer);
    if (!words) return failure(words);
    training::Sampling sampling;
    sampling.tokens = config.sampleTokens;
    sampling.temperature = config.temperature;
    sampling.seed = config.seed + static_cast<std::uint64_t>(step);
    sampling.stopWanted = stopWanted;
    const auto prompt = words->ids(config.prompt);
    auto written = training::sample(model, device, partitioning, communicator, prompt, sampling);
    if (!written) return failure(written);
    return printable(words->text(*written));
}

}  // namespace shardscope::worker
