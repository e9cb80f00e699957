#include "app/cli/tokenize/tokenize_work.h"

#include "engine/tokens/bpe_trainer.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/mapped_file.h"
#include "engine/tokens/text_files.h"
#include "engine/tokens/token_stream.h"
#include "engine/tokens/tokenizer.h"
#include "storage/interchange/output_kind.h"
#include "storage/model/new_file.h"
#include "storage/model/plain_text.h"
#include "storage/recording/file/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <utility>

namespace shardscope::cli {
namespace {

namespace fs = std::filesystem;
using namespace shardscope::tokens;

/// Share of training a tokenizer that goes into reading the text.
constexpr double kCountingShare = 0.5;
constexpr double kHeldBackOfAFolder = 0.1;
constexpr std::size_t kDecodedAtOnce = 1 << 18;

class Stopwatch {
public:
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    }

private:
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

struct Texts {
    std::vector<std::string> files;
    std::int64_t bytes = 0;
};

/// The text files that `inputs`, files and folders, name. Errors as tokens::findTextFiles().
Result<Texts> findTexts(const std::vector<std::string>& inputs) {
    Texts texts;
    for (const std::string& input : inputs) {
        const auto files = tokens::findTextFiles(input);
        if (!files) return failure(files);
        texts.files.insert(texts.files.end(), files->begin(), files->end());
    }
    for (const std::string& file : texts.files) {
        std::error_code ignored;
        texts.bytes += static_cast<std::int64_t>(fs::file_size(file, ignored));
    }
    return texts;
}

tl::unexpected<Error> stopped() {
    return failure(ErrorCode::kCancelled, "stopped");
}

Result<void> countPieces(const Texts& texts, const TokenizeOptions& options, PieceCounts& pieces) {
    constexpr std::size_t kBlock = 4 << 20;
    std::int64_t done = 0;
    for (const std::string& name : texts.files) {
        const auto file = MappedFile::open(name);
        if (!file) return failure(file);
        for (std::string_view text = file->bytes(); !text.empty();) {
            const std::string_view block =
                text.substr(0, pieceBoundary(text, std::min(kBlock, text.size())));
            pieces.add(block);
            text.remove_prefix(block.size());
            done += static_cast<std::int64_t>(block.size());
            const double share = static_cast<double>(done) / static_cast<double>(texts.bytes);
            if (!options.progress(kCountingShare * share)) return stopped();
        }
    }
    return {};
}

/// Tokens that the text counted in `pieces` has.
std::int64_t countTokens(const Tokenizer& tokenizer, const PieceCounts& pieces) {
    Encoder encoder(tokenizer, AddedTokens::kAsText);
    std::vector<std::uint32_t> ids;
    std::int64_t total = 0;
    for (const auto& [piece, count] : pieces.counts()) {
        ids.clear();
        encoder.encode(piece, ids);
        total += count * static_cast<std::int64_t>(ids.size());
    }
    return total;
}

/// The path to write, which is none of the files `read`.
storage::OutputRequest outputOf(const fs::path& path, const TokenizeOptions& options,
                                std::vector<std::string> read, const storage::Replaceable& kind) {
    read.push_back(options.tokenizer);
    return {path.string(), options.overwrite, kind, std::move(read)};
}

/// The files to write, and what goes where.
struct Outputs {
    storage::OutputRequest training, validation, tokenizer;  ///< no path: not written
    double heldBack = 0;
};

Result<Outputs> chooseOutputs(const TokenizeOptions& options, const Texts& texts) {
    const fs::path output(options.output);
    const auto request = [&](const fs::path& path) {
        return outputOf(path, options, texts.files, interchange::kTokenFile);
    };
    Outputs chosen;
    if (output.extension() == ".bin") {
        if (options.heldBack.value_or(0) > 0) {
            return failure(ErrorCode::kUsage,
                           fmt::format("{} is one file, with no room for what is held back; name "
                                       "a folder with --output, or give --held-back 0",
                                       options.output));
        }
        chosen.training = request(output);
    } else {
        chosen = {
            request(output / "train.bin"), request(output / "val.bin"),
            outputOf(output / "tokenizer.json", options, texts.files, interchange::kTokenizerFile),
            options.heldBack.value_or(kHeldBackOfAFolder)};
        std::error_code error;
        fs::create_directories(output, error);
        if (error) {
            return failure(ErrorCode::kUsage,
                           fmt::format("cannot make the folder {}: {}; choose another --output",
                                       options.output, error.message()));
        }
    }
    // The very tokenizer that is used need not be written again.
    std::error_code ignored;
    if (fs::equivalent(chosen.tokenizer.path, options.tokenizer, ignored))
        chosen.tokenizer.path.clear();
    for (const storage::OutputRequest* each :
         {&chosen.training, &chosen.validation, &chosen.tokenizer})
        if (!each->path.empty())
            if (auto fine = storage::settleOutput(*each); !fine) return failure(fine);
    return chosen;
}

Result<std::size_t> widthFor(const Tokenizer& tokenizer, const TokenizeOptions& options) {
    if (tokenizer.size() <= std::numeric_limits<std::uint16_t>::max() + 1U) return 2U;
    if (options.format == TokenFormat::kLlmc) return 4U;
    return failure(ErrorCode::kUsage,
                   fmt::format("nanoGPT's files hold tokens of 16 bits, the tokenizer has {} "
                               "tokens; give --format llmc",
                               tokenizer.size()));
}

Result<void> encodeAll(const Texts& texts, const Tokenizer& tokenizer,
                       const TokenizeOptions& options, TokenFileWriter& writer) {
    ParallelEncoder encoder(tokenizer, options.added, options.threads);
    std::int64_t before = 0;
    for (const std::string& name : texts.files) {
        const auto file = MappedFile::open(name);
        if (!file) return failure(file);
        const std::size_t tokensBefore = writer.count();
        const auto sink = [&](std::span<const std::uint32_t> ids) -> Result<void> {
            // How far into a file is not known; as many bytes as its tokens usually stand for is
            // near enough for a line of progress.
            const double guess = 3.5 * static_cast<double>(writer.count() - tokensBefore);
            const double inFile = std::min(guess, static_cast<double>(file->bytes().size()));
            const double share =
                (static_cast<double>(before) + inFile) / static_cast<double>(texts.bytes);
            if (!options.progress(share)) return stopped();
            return writer.write(ids);
        };
        if (auto done = encoder.encode(file->bytes(), sink); !done) return done;
        before += static_cast<std::int64_t>(file->bytes().size());
    }
    return {};
}

/// The last `count` tokens of `training` as another file.
Result<void> partOff(std::size_t count, TokenFileWriter& training,
                     const storage::OutputRequest& request, TokenFormat format, std::size_t width) {
    auto file = storage::OutputFile::reserve(request);
    if (!file) return failure(file);
    auto validation = TokenFileWriter::create(file->part(), format, width);
    if (!validation) return file->failed(validation.error());
    auto done = training.moveTail(count, *validation);
    if (done) done = validation->finish();
    if (!done) return file->failed(done.error());
    return file->commit();
}

/// Parts the tail off, and gives all files but that of training their names.
Result<void> finishOutputs(const Outputs& outputs, const Tokenizer& tokenizer,
                           TokenFileWriter& training, TokenFormat format, std::size_t width,
                           TokenizeAccount& account) {
    const auto held =
        static_cast<std::size_t>(static_cast<double>(training.count()) * outputs.heldBack);
    account.tokens = static_cast<std::int64_t>(training.count());
    account.heldBackTokens = static_cast<std::int64_t>(held);
    if (held > 0) {
        auto parted = partOff(held, training, outputs.validation, format, width);
        if (!parted) return parted;
        account.outputs.push_back(outputs.validation.path);
    }
    if (!outputs.tokenizer.path.empty()) {
        auto written =
            storage::writeOutput(outputs.tokenizer, tokenizerJson(tokenizer.vocabulary()));
        if (!written) return written;
        account.outputs.push_back(outputs.tokenizer.path);
    }
    account.outputs.insert(account.outputs.begin(), outputs.training.path);
    return training.finish();
}

Result<void> decodeFile(const std::string& path, const Tokenizer& tokenizer,
                        const TokenizeOptions& options, std::ostream& out,
                        TokenizeAccount& account) {
    const auto stream = openTokenFiles({path});
    if (!stream) return failure(stream);
    std::vector<std::int64_t> tokens;
    const bool onTerminal = &out == &std::cout && ::isatty(STDOUT_FILENO) == 1;
    for (std::int64_t at = 0; at < stream->size() && out;) {
        if (!options.progress(static_cast<double>(at) / static_cast<double>(stream->size())))
            return stopped();
        tokens.resize(std::min(kDecodedAtOnce, static_cast<std::size_t>(stream->size() - at)));
        stream->read(at, tokens);
        const std::vector<std::uint32_t> ids(tokens.begin(), tokens.end());
        auto text = tokenizer.decode(ids, static_cast<std::size_t>(at));
        if (!text) return failure(text, path);
        account.textBytes += static_cast<std::int64_t>(text->size());
        if (onTerminal) text = printable(std::move(*text));
        out.write(text->data(), static_cast<std::streamsize>(text->size()));
        at += static_cast<std::int64_t>(tokens.size());
    }
    account.tokens += stream->size();
    return {};
}

/// Text that comes piece by piece.
class WholeFile {
public:
    explicit WholeFile(storage::OutputFile output) : m_output(std::move(output)) {
        // Through no link that is there already.
        const int made = openNewFile(m_output.part());
        if (made >= 0) {
            ::close(made);
            m_out.open(m_output.part(), std::ios::binary | std::ios::in);
        } else {
            m_out.setstate(std::ios::failbit);
        }
    }

    [[nodiscard]] std::ostream& out() { return m_out; }
    Result<void> finish() {
        m_out.close();
        if (m_out) return m_output.commit();
        return m_output.failed(
            {ErrorCode::kFailure, fmt::format("cannot write {}: {}; make room, or choose another "
                                              "--output",
                                              m_output.part(), std::strerror(errno))});
    }

private:
    storage::OutputFile m_output;
    std::ofstream m_out;
};

}  // namespace

Result<TokenizeAccount> trainTokenizer(const TokenizeOptions& options) {
    const Stopwatch watch;
    const auto texts = findTexts(options.inputs);
    if (!texts) return failure(texts);
    const auto output =
        outputOf(options.output, options, texts->files, interchange::kTokenizerFile);
    if (auto fine = storage::settleOutput(output); !fine) return failure(fine);
    PieceCounts pieces;
    if (auto counted = countPieces(*texts, options, pieces); !counted) return failure(counted);
    const auto progress = [&](std::size_t tokens) {
        return options.progress(kCountingShare + (1 - kCountingShare) *
                                                     static_cast<double>(tokens) /
                                                     static_cast<double>(options.vocabulary));
    };
    auto vocabulary = trainBpe(pieces, {options.vocabulary, options.leastCount, progress});
    if (!vocabulary) return failure(vocabulary);
    const auto written = storage::writeOutput(output, tokenizerJson(*vocabulary));
    if (!written) return failure(written);
    const auto tokenizer = Tokenizer::make(std::move(*vocabulary), options.output);
    if (!tokenizer) return failure(tokenizer);
    TokenizeAccount account;
    account.tokenizer = options.output;
    account.vocabulary = tokenizer->size();
    account.files = static_cast<std::int64_t>(texts->files.size());
    account.textBytes = texts->bytes;
    account.seconds = watch.seconds();
    account.tokens = countTokens(*tokenizer, pieces);
    account.outputs = {options.output};
    return account;
}

Result<TokenizeAccount> encodeTexts(const TokenizeOptions& options) {
    const Stopwatch watch;
    const auto tokenizer = readTokenizer(options.tokenizer);
    if (!tokenizer) return failure(tokenizer);
    const auto width = widthFor(*tokenizer, options);
    if (!width) return failure(width);
    const auto texts = findTexts(options.inputs);
    if (!texts) return failure(texts);
    const auto outputs = chooseOutputs(options, *texts);
    if (!outputs) return failure(outputs);
    auto file = storage::OutputFile::reserve(outputs->training);
    if (!file) return failure(file);
    auto writer = TokenFileWriter::create(file->part(), options.format, *width);
    if (!writer) return file->failed(writer.error());
    TokenizeAccount account;
    auto done = encodeAll(*texts, *tokenizer, options, *writer);
    if (done) done = finishOutputs(*outputs, *tokenizer, *writer, options.format, *width, account);
    if (!done) return file->failed(done.error());
    if (done = file->commit(); !done) return failure(done);
    account.tokenizer = options.tokenizer;
    account.vocabulary = tokenizer->size();
    account.files = static_cast<std::int64_t>(texts->files.size());
    account.textBytes = texts->bytes;
    account.seconds = watch.seconds();
    return account;
}

Result<TokenizeAccount> decodeTokens(const TokenizeOptions& options) {
    const Stopwatch watch;
    const auto tokenizer = readTokenizer(options.tokenizer);
    if (!tokenizer) return failure(tokenizer);
    std::optional<WholeFile> file;
    if (!options.output.empty()) {
        auto reserved = storage::OutputFile::reserve(
            outputOf(options.output, options, options.inputs, interchange::kTextFile));
        if (!reserved) return failure(reserved);
        file.emplace(std::move(*reserved));
    }
    std::ostream& out = file ? file->out() : std::cout;
    TokenizeAccount account;
    if (file) account.outputs = {options.output};
    for (const std::string& input : options.inputs) {
        auto decoded = decodeFile(input, *tokenizer, options, out, account);
        if (!decoded) return failure(decoded);
    }
    out.flush();
    if (file) {
        if (auto finished = file->finish(); !finished) return failure(finished);
    } else if (!out) {
        return failure(ErrorCode::kFailure, "cannot write to standard output");
    }
    account.tokenizer = options.tokenizer;
    account.vocabulary = tokenizer->size();
    account.files = static_cast<std::int64_t>(options.inputs.size());
    account.seconds = watch.seconds();
    return account;
}

}  // namespace shardscope::cli
