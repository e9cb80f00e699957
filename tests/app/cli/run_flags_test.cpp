// A command line, read back as `shardscope record` reads it, gives the run that it was made of.
#include "app/cli/record/run_flags.h"

#include "app/cli/record/record_options.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/run/config/run_option.h"
#include "tests/support/temporary_folder.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shardscope::cli {
namespace {

using run::OptionValue;
using run::RunConfig;
using run::RunOption;

/// Some other value that the field takes, or the same.
OptionValue otherValue(const RunOption& field, const OptionValue& usual, std::mt19937& random) {
    if (std::holds_alternative<bool>(usual)) return random() % 2 == 0;
    if (std::holds_alternative<std::int64_t>(usual))
        return static_cast<std::int64_t>(random() % 1000);
    if (std::holds_alternative<double>(usual)) return static_cast<double>(random() % 1000) / 7;
    for (const char* word : {"zero1", "hsdp", "rmsnorm", "rope", "swiglu", "cuda", "bf16", "linear",
                             "topk", "gloo", "light", "idle", "optimizer", "/some/path"}) {
        RunConfig config;
        if (random() % 2 == 0 && field.set(config, std::string(word))) return std::string(word);
    }
    return usual;
}

RunConfig anyRun(std::mt19937& random) {
    RunConfig config;
    const auto& presets = run::modelPresets();
    config.model = presets[random() % presets.size()];
    for (const RunOption& field : run::runOptions()) {
        if (*field.flag == '\0' || random() % 3 != 0) continue;
        EXPECT_TRUE(field.set(config, otherValue(field, field.get(config), random))) << field.key;
    }
    return config;
}

/// Single quotes are all that these lines have, but for a line break.
std::vector<std::string> wordsOf(const std::string& line) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (line.compare(i, 5, "$'\\n'") == 0) {
            words.back() += '\n';
            i += 4;
        } else if (c == '\'') {
            quoted = !quoted;
        } else if (c == ' ' && !quoted) {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    return words;
}

/// As RecordOptions does, from `start` on.
RunConfig readBack(const std::string& line, RunConfig start) {
    std::vector<std::string> words = wordsOf(line);
    words.erase(words.begin(), words.begin() + 2);  // shardscope record
    std::reverse(words.begin(), words.end());       // as CLI11 takes them
    CLI::App app;
    std::string model;
    RunFlags flags;
    app.add_option("--model", model);
    flags.addTo(app, [](const RunOption&) { return true; });
    app.parse(words);
    EXPECT_TRUE(run::setModelPreset(start, model));
    EXPECT_TRUE(flags.apply(start));
    return start;
}

TEST(RunFlags, ReadBackEveryCommandLineFromWhereverTheRunStarts) {
    std::mt19937 random(6);
    for (int i = 0; i < 300; ++i) {
        const RunConfig wanted = anyRun(random);
        const RunConfig start = anyRun(random);
        const std::string fromStart = run::toCommandLine(wanted, start);
        EXPECT_EQ(readBack(fromStart, start), wanted) << fromStart;
        const std::string fresh = run::toCommandLine(wanted);
        EXPECT_EQ(readBack(fresh, RunConfig()), wanted) << fresh;
    }
}

TEST(RecordOptions, AResumedRunNamesWhatDiffersFromItsCheckpoint) {
    const test::TemporaryFolder folder;
    checkpoint::Manifest manifest;
    manifest.nextStep = 4;
    manifest.config.batch = 3;
    manifest.config.keepGathered = true;
    manifest.config.output = "old.sscope";
    auto partial = checkpoint::prepare(folder.path(), 4);
    ASSERT_TRUE(partial);
    ASSERT_TRUE(checkpoint::writeRank(folder.path(), 4, 0, {}));
    ASSERT_TRUE(checkpoint::commit(std::move(*partial), manifest, 1));
    RecordOptions options;
    CLI::App app;
    options.addTo(app);
    app.parse("--resume " + folder.path() + " --keep-gathered=false --output new.sscope");
    const auto config = options.config();
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->batch, 3);
    EXPECT_EQ(options.commandLine(*config),
              "shardscope record --model shakespeare --strategy zero3 --ranks 2 "
              "--keep-gathered=false --resume " +
                  config->resume + " --output new.sscope");
}

}  // namespace
}  // namespace shardscope::cli
