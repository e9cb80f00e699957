// `shardscope tokenize`: tokenizers and token files.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "app/cli/options.h"
#include "app/cli/tokenize/tokenize_work.h"
#include "engine/launch/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/shell_word.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>

namespace shardscope::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TokenizeCommand {
    TokenizeOptions work;
    std::string format = "nanogpt";
    bool train = false, decode = false, plainText = false, json = false, quiet = false;
};

double bytesPerToken(const TokenizeAccount& account) {
    return account.tokens == 0
               ? 0
               : static_cast<double>(account.textBytes) / static_cast<double>(account.tokens);
}

double bytesPerSecond(const TokenizeAccount& account) {
    return account.seconds > 0 ? static_cast<double>(account.textBytes) / account.seconds : 0;
}

Json accountJson(const TokenizeAccount& account, const char* action) {
    return {{"schema", "shardscope.tokenize/1"},
            {"action", action},
            {"tokenizer", account.tokenizer},
            {"vocabulary", account.vocabulary},
            {"files", account.files},
            {"text_bytes", account.textBytes},
            {"tokens", account.tokens},
            {"held_back_tokens", account.heldBackTokens},
            {"bytes_per_token", bytesPerToken(account)},
            {"seconds", account.seconds},
            {"bytes_per_s", bytesPerSecond(account)},
            {"outputs", account.outputs}};
}

std::string accountText(const TokenizeAccount& account, const TokenizeCommand& command) {
    std::string text = asLine(fmt::format(
        "{}: {} tokens of {} bytes of text in {} {}, {:.2f} bytes per token; {:.2f} s, {:.1f} MB/s",
        account.outputs.front(), countText(account.tokens), countText(account.textBytes),
        countText(account.files), account.files == 1 ? "file" : "files", bytesPerToken(account),
        account.seconds, bytesPerSecond(account) / 1e6));
    if (command.train && account.vocabulary < command.work.vocabulary) {
        text += fmt::format("  {} tokens, not {}: no more pairs occur {} times; give more text\n",
                            account.vocabulary, command.work.vocabulary, command.work.leastCount);
    }
    if (command.train) {
        text += fmt::format("  use it: --tokenizer {} --vocabulary {}\n",
                            typedWord(account.tokenizer), account.vocabulary);
    } else if (!command.decode) {
        text += fmt::format(
            "  {} of them held back\n  train on it: shardscope record --data {} "
            "--vocabulary {}\n",
            countText(account.heldBackTokens), typedWord(command.work.output), account.vocabulary);
    }
    return text;
}

/// What the flags ask for together, where that cannot be.
std::string complaint(const TokenizeCommand& command) {
    const TokenizeOptions& work = command.work;
    if (command.train && !work.tokenizer.empty())
        return "--train makes a tokenizer, so --tokenizer has no use; leave one of them out";
    if (!command.train && work.tokenizer.empty())
        return "name the tokenizer with --tokenizer, or make one with --train";
    if (!command.decode && work.output.empty()) return "name what to write with --output";
    return {};
}

int run(TokenizeCommand command) {
    if (const std::string wrong = complaint(command); !wrong.empty()) {
        tellError(wrong);
        return static_cast<int>(ErrorCode::kUsage);
    }
    TokenizeOptions& work = command.work;
    work.format =
        command.format == "llmc" ? tokens::TokenFormat::kLlmc : tokens::TokenFormat::kNanoGpt;
    if (command.plainText) work.added = tokens::AddedTokens::kAsText;
    const char* action = command.train ? "train" : command.decode ? "decode" : "encode";
    const auto job = command.train ? trainTokenizer : command.decode ? decodeTokens : encodeTexts;
    const InterruptGuard guard;
    Result<TokenizeAccount> account = failure(ErrorCode::kFailure, "");
    {
        ProgressLine line("tokenizing", !command.quiet && !command.json);
        work.progress = [&](double share) {
            line.show(share);
            return !InterruptGuard::interrupted();
        };
        account = job(work);
    }
    if (!account && account.error().code == ErrorCode::kCancelled) {
        tellError("tokenize interrupted, no file was written");
        return static_cast<int>(ErrorCode::kInterrupted);
    }
    if (!account) {
        tellError(account.error().message);
        return exitStatus(account.error());
    }
    // Text decoded to standard output stands alone.
    const bool alone = account->outputs.empty();
    if (alone) account->outputs = {"standard output"};
    if (command.quiet && !command.json) return 0;
    const std::string text =
        command.json
            ? accountJson(*account, action).dump(2, ' ', false, Json::error_handler_t::replace) +
                  '\n'
            : accountText(*account, command);
    if (!alone) return printLast(text);
    tell(text);
    return 0;
}

}  // namespace

Command addTokenize(CLI::App& root) {
    auto command = std::make_shared<TokenizeCommand>();
    TokenizeOptions& work = command->work;
    work.threads = static_cast<unsigned>(launch::usableCores());
    CLI::App* app = addVerb(root, "tokenize", "train a tokenizer, or turn text into tokens");
    setFooter(*app,
              "Byte-level BPE with GPT-2's pattern. Tokenizers are Hugging Face's "
              "tokenizer.json, which\nis also what --train writes, or GPT-2's encoder.json "
              "and vocab.bpe. Token files are\nnanoGPT's (16-bit tokens) or llm.c's (with a "
              "header). An --output that is not a .bin is a\nfolder: train.bin, val.bin with "
              "what is held back, and the tokenizer.json.\n\nExamples:\n  shardscope "
              "tokenize --train --vocabulary 8192 -o tokenizer.json texts/\n  shardscope "
              "tokenize --tokenizer tokenizer.json -o tokens/ texts/\n  shardscope record "
              "--data tokens/ --vocabulary 8192\n  shardscope tokenize --tokenizer gpt2/ "
              "--format llmc --held-back 0 -o book.bin book.txt\n  shardscope tokenize "
              "--tokenizer tokenizer.json --decode tokens/val.bin | head");
    addOption(*app, "inputs", work.inputs, "text files and folders; with --decode, token files")
        .required();
    addOutput(*app, work.output,
              "file or folder to write; with --decode, standard output when left out");
    const Option train = addFlag(*app, "--train", command->train, "make a tokenizer of the texts");
    addFlag(*app, "--decode", command->decode, "turn token files into text").excludes(train);
    addOption(*app, "--tokenizer", work.tokenizer,
              "tokenizer.json, or a folder with GPT-2's files");
    addOption(*app, "--vocabulary", work.vocabulary, "with --train: tokens to make").showsDefault();
    addOption(*app, "--least-count", work.leastCount,
              "with --train: least occurrences of a pair that becomes a token")
        .positive()
        .showsDefault();
    addOption(*app, "--format", command->format, "token files: nanogpt or llmc")
        .oneOf({"nanogpt", "llmc"})
        .showsDefault();
    addOption(*app, "--held-back", work.heldBack,
              "end of the tokens kept for validation; 0.1 in a folder")
        .withinReal(0, 0.99);
    addOption(*app, "--threads", work.threads, "encoding threads").within(1, 1024).showsDefault();
    addFlag(*app, "--plain-text", command->plainText,
            "take <|endoftext|> and its like in texts for text");
    addForce(*app, work.overwrite, "existing token files and tokenizers");
    addJson(*app, command->json, "shardscope.tokenize/1");
    addQuiet(*app, command->quiet);
    return {app, [command] { return run(*command); }};
}

}  // namespace shardscope::cli
