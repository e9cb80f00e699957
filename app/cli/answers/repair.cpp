// `shardscope repair`: what can be saved of a damaged recording, into a new one.
#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "app/cli/open_recording.h"
#include "app/cli/options.h"
#include "storage/model/quantity_text.h"
#include "storage/recording/repair/salvage_recording.h"

#include <fmt/format.h>

#include <memory>

namespace shardscope::cli {
namespace {

struct RepairOptions {
    std::string input;
    std::string output;
    bool force = false;
};

std::string lostText(const storage::LostEvents& lost) {
    const std::string lane =
        lost.kind == EventKind::kMemory ? std::string() : fmt::format(" lane {}", lost.lane.value);
    return fmt::format(
        "lost        {} {} events of rank {}{} in {} chunks, between {:.6f} s and "
        "{:.6f} s\n",
        countText(lost.events), toWord(lost.kind), lost.rank.value, lane, lost.chunks,
        lost.range.begin.seconds(), lost.range.end.seconds());
}

std::string accountText(const storage::Salvage& salvage, const RepairOptions& options) {
    std::string text =
        asLine(fmt::format("repaired    {} from {}", options.output, options.input)) +
        fmt::format("kept        {} events in {} chunks\n", countText(salvage.events.total()),
                    countText(salvage.chunks));
    const auto rows = [](std::uint64_t count, const std::string& table) {
        return fmt::format("{} of {}", counted(count, "row"), table);
    };
    for (const storage::SalvagedTable& table : salvage.tables) {
        if (table.name != "chunks") text += asLine("kept        " + rows(table.copied, table.name));
        if (table.refused > 0)
            text += asLine(
                fmt::format("lost        {}: damaged values", rows(table.refused, table.name)));
        for (const std::string& gap : table.gaps)
            text +=
                asLine(fmt::format("lost        rows of {} with {}: unreadable", table.name, gap));
    }
    for (const storage::LostEvents& lost : salvage.lost) text += lostText(lost);
    if (salvage.unreceived > 0)
        text += asLine(fmt::format(
            "lost        {} events that ranks had counted: the file was not finalised, and they "
            "are not in it; where its log ({}-wal) lies elsewhere, put it beside the file and "
            "repair again",
            countText(salvage.unreceived), options.input));
    if (salvage.missed > 0)
        text +=
            fmt::format("lost        {} events that ranks had counted never came into the file\n",
                        countText(salvage.missed));
    for (const std::string& note : salvage.notes) text += asLine("note        " + note);
    if (!salvage.lossless()) return text;
    if (salvage.finalised) return text + "nothing was lost\n";
    return text +
           "nothing in it was lost; it was not finalised, so the last events may never "
           "have been in it\n";
}

int run(const RepairOptions& options) {
    if (const auto file = requireFile({options.input, {}}, "repair", " --output " + options.output);
        !file) {
        tellError(file.error().message);
        return exitStatus(file.error());
    }
    const InterruptGuard guard;
    const auto salvaged = storage::salvageRecording(options.input, options.output, options.force,
                                                    [] { return !InterruptGuard::interrupted(); });
    if (!salvaged && salvaged.error().code == ErrorCode::kCancelled) {
        tellError("repair interrupted, no file was written");
        return static_cast<int>(ErrorCode::kInterrupted);
    }
    if (!salvaged) {
        tellError(salvaged.error().message);
        return exitStatus(salvaged.error());
    }
    return printLast(accountText(*salvaged, options));
}

}  // namespace

Command addRepair(CLI::App& root) {
    auto options = std::make_shared<RepairOptions>();
    CLI::App* app = addVerb(root, "repair", "save what is left of a damaged recording");
    setFooter(
        *app,
        "The damaged file is only read. The new one holds everything that can be read and passes\n"
        "its checksum, and says so in a diagnostic; check it with `shardscope info --verify`.\n\n"
        "Example:\n  shardscope repair damaged.sscope --output saved.sscope");
    addOption(*app, "recording", options->input, "damaged or truncated recording").required();
    addOutput(*app, options->output, "recording to write").required();
    addForce(*app, options->force, kAnOldRecording);
    return {app, [options] { return run(*options); }};
}

}  // namespace shardscope::cli
