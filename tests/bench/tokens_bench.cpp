// How fast text becomes tokens: encoding by pieces seen before and not, training, splitting.
//
//   tokens_bench [--benchmark_filter=...]
// The text is Shardscope's own sources, or what SHARDSCOPE_BENCH_TEXT names; the tokenizer is
// trained on it (8192 tokens), or the one that SHARDSCOPE_BENCH_TOKENIZER names.
#include "engine/tokens/bpe_trainer.h"
#include "engine/tokens/encoder.h"
#include "engine/tokens/mapped_file.h"
#include "engine/tokens/text_files.h"
#include "engine/tokens/tokenizer.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

namespace shardscope::tokens {
namespace {

[[noreturn]] void fail(const Error& error) {
    std::fprintf(stderr, "tokens_bench: %s\n", error.message.c_str());
    std::exit(1);
}

const std::string& text() {
    static const std::string kText = [] {
        const char* given = std::getenv("SHARDSCOPE_BENCH_TEXT");
        const auto files = findTextFiles(given != nullptr ? given : SHARDSCOPE_SOURCE_DIR);
        if (!files) fail(files.error());
        std::string all;
        for (const std::string& path : *files) {
            const auto file = MappedFile::open(path);
            if (!file) fail(file.error());
            all += file->bytes();
        }
        return all;
    }();
    return kText;
}

const Tokenizer& tokenizer() {
    static const Tokenizer kTokenizer = [] {
        if (const char* given = std::getenv("SHARDSCOPE_BENCH_TOKENIZER")) {
            auto read = readTokenizer(given);
            if (!read) fail(read.error());
            return std::move(*read);
        }
        PieceCounts pieces;
        pieces.add(text());
        auto vocabulary = trainBpe(pieces, {});
        if (!vocabulary) fail(vocabulary.error());
        auto made = Tokenizer::make(std::move(*vocabulary), "the trained one");
        if (!made) fail(made.error());
        return std::move(*made);
    }();
    return kTokenizer;
}

void perByte(benchmark::State& state) {
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text().size()));
}

void split(benchmark::State& state) {
    Splitter splitter;
    for (auto _ : state) {
        std::size_t pieces = 0;
        splitter.begin(text());
        while (!splitter.next().empty()) ++pieces;
        benchmark::DoNotOptimize(pieces);
    }
    perByte(state);
}
BENCHMARK(split)->Unit(benchmark::kMillisecond);

void encode(benchmark::State& state) {
    Encoder encoder(tokenizer());
    std::vector<std::uint32_t> ids;
    for (auto _ : state) {
        ids.clear();
        encoder.encode(text(), ids);
        benchmark::DoNotOptimize(ids.data());
    }
    state.counters["bytes_a_token"] =
        static_cast<double>(text().size()) / static_cast<double>(ids.size());
    perByte(state);
}
BENCHMARK(encode)->Unit(benchmark::kMillisecond);

void train(benchmark::State& state) {
    PieceCounts pieces;
    pieces.add(text());
    for (auto _ : state) benchmark::DoNotOptimize(trainBpe(pieces, {}));
    perByte(state);
}
BENCHMARK(train)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardscope::tokens

BENCHMARK_MAIN();
