#include "engine/worker/text_sample.h"

#include "engine/tokens/corpus.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/tokenizer_file.h"
#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace shardscope::worker {
namespace {

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
    return spelledControls(words->text(*written));
}

}  // namespace shardscope::worker
