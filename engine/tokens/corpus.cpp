#include "engine/tokens/corpus.h"

#include "engine/tokens/encoder.h"
#include "engine/tokens/mapped_file.h"
#include "engine/tokens/text_files.h"
#include "engine/tokens/token_file.h"
#include "engine/tokens/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

namespace shardscope::tokens {
namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 30;
/// Above, looking at every token before the first step would take long (0.1 s a 256 M).
constexpr std::int64_t kCheckedTokens = std::int64_t{1} << 28;

double heldBackOf(const run::RunConfig& config) {
    return config.evaluateEvery > 0 ? config.heldBack : 0;
}

Result<void> readText(const std::string& path, std::vector<std::uint8_t>& all) {
    const auto file = MappedFile::open(path);
    if (!file) return failure(file, "the training data");
    all.insert(all.end(), file->bytes().begin(), file->bytes().end());
    return {};
}

Result<TokenStream> bytesOf(const std::string& path, const std::vector<std::string>& files) {
    const auto all = std::make_shared<std::vector<std::uint8_t>>();
    for (const std::string& file : files) {
        if (auto read = readText(file, *all); !read) return failure(read);
        if (all->size() > kLargestText) break;
    }
    TokenStream stream;
    stream.append(all, all->data(), all->size(), 1, path);
    return stream;
}

/// Tokens of 16 bits where they fit.
template <class Token>
Result<TokenStream> encodedAs(const run::RunConfig& config, const std::vector<std::string>& files,
                              const Tokenizer& tokenizer) {
    const auto all = std::make_shared<std::vector<Token>>();
    ParallelEncoder encoder(tokenizer, AddedTokens::kRecognised,
                            static_cast<unsigned>(config.threads));
    std::size_t bytes = 0;
    for (const std::string& name : files) {
        const auto file = MappedFile::open(name);
        if (!file) return failure(file, "the training data");
        const auto keep = [&](std::span<const std::uint32_t> ids) -> Result<void> {
            for (const std::uint32_t id : ids) all->push_back(static_cast<Token>(id));
            return {};
        };
        if (auto done = encoder.encode(file->bytes(), keep); !done) return failure(done);
        bytes += file->bytes().size();
        if (bytes > kLargestText) break;
    }
    TokenStream stream;
    stream.append(all, all->data(), all->size(), sizeof(Token),
                  fmt::format("{} as tokens", config.data));
    return stream;
}

Result<Tokenizer> tokenizerOf(const run::RunConfig& config) {
    auto tokenizer = readTokenizer(config.tokenizer);
    if (!tokenizer) return tokenizer;
    if (static_cast<std::int64_t>(tokenizer->size()) > config.model.vocabulary) {
        return failure(ErrorCode::kUsage,
                       fmt::format("the tokenizer {} has {} tokens, the model a vocabulary of {}; "
                                   "give --vocabulary {}",
                                   config.tokenizer, tokenizer->size(), config.model.vocabulary,
                                   tokenizer->size()));
    }
    return tokenizer;
}

/// The end of the training data becomes the validation data.
void holdBack(Corpus& corpus, double share) {
    const std::int64_t count = corpus.training.size();
    const auto held = static_cast<std::int64_t>(static_cast<double>(count) * share);
    corpus.validation = corpus.training.slice(count - held, held);
    corpus.training = corpus.training.slice(0, count - held);
}

Result<void> checkSizes(const Corpus& corpus, const run::RunConfig& config, bool bytes) {
    const std::int64_t context = config.model.context;
    const std::int64_t training = corpus.training.size(), validation = corpus.validation.size();
    const bool evaluates = heldBackOf(config) > 0;
    if (training > context + 1 && (!evaluates || validation > context + 1)) return {};
    return failure(
        ErrorCode::kUnreadable,
        fmt::format("training data {} has {} {}, too few for a context of {} with {:.0f} % held "
                    "back ({} to train on, {} held back); give more {} or lower --context",
                    config.data, training + validation, bytes ? "bytes" : "tokens", context,
                    heldBackOf(config) * 100, training, validation, bytes ? "text" : "data"));
}

Result<Corpus> mapTokens(const run::RunConfig& config) {
    const auto files = findTokenFiles(config.data);
    if (!files) return failure(files);
    auto training = openTokenFiles(files->training);
    if (!training) return failure(training);
    Corpus corpus{std::move(*training), {}, false};
    if (files->validation.empty()) {
        holdBack(corpus, heldBackOf(config));
    } else if (heldBackOf(config) > 0) {
        auto validation = openTokenFiles(files->validation);
        if (!validation) return failure(validation);
        corpus.validation = std::move(*validation);
    }
    if (auto checked = checkSizes(corpus, config, false); !checked) return failure(checked);
    return corpus;
}

Result<Corpus> readTexts(const run::RunConfig& config) {
    const auto files = findTextFiles(config.data);
    if (!files) return failure(files);
    const bool bytes = config.tokenizer == kBytes;
    Result<TokenStream> stream = failure(ErrorCode::kFailure, "");
    if (bytes) {
        stream = bytesOf(config.data, *files);
    } else {
        const auto tokenizer = tokenizerOf(config);
        if (!tokenizer) return failure(tokenizer);
        const bool narrow = tokenizer->size() <= std::numeric_limits<std::uint16_t>::max() + 1U;
        stream = narrow ? encodedAs<std::uint16_t>(config, *files, *tokenizer)
                        : encodedAs<std::uint32_t>(config, *files, *tokenizer);
    }
    if (!stream) return failure(stream);
    Corpus corpus{std::move(*stream), {}, false};
    holdBack(corpus, heldBackOf(config));
    if (auto checked = checkSizes(corpus, config, bytes); !checked) return failure(checked);
    return corpus;
}

}  // namespace

Result<Corpus> loadCorpus(const run::RunConfig& config) {
    auto corpus = isTokenData(config.data) ? mapTokens(config) : readTexts(config);
    if (!corpus) return corpus;
    for (const TokenStream* part : {&corpus->training, &corpus->validation}) {
        const std::int64_t now = std::min(part->size(), kCheckedTokens);
        corpus->unchecked = corpus->unchecked || now < part->size();
        auto checked = part->checkRange(0, now, config.model.vocabulary);
        if (!checked) return failure(checked);
    }
    return corpus;
}

Result<void> checkCorpus(const run::RunConfig& config) {
    if (config.tokenizer != kBytes) {
        const auto tokenizer = tokenizerOf(config);
        if (!tokenizer) return failure(tokenizer);
    }
    if (config.data == kSynthetic || !isTokenData(config.data)) return {};
    const auto corpus = mapTokens(config);
    if (!corpus) return failure(corpus);
    return {};
}

}  // namespace shardscope::tokens
