#include "app/desktop/pages/memory/moment_query.h"

#include "app/desktop/models/format.h"
#include "app/desktop/pages/memory/memory_model.h"
#include "app/desktop/pages/memory/memory_query.h"
#include "profiler/questions/memory_moment.h"
#include "storage/recording/read/cancellable_reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

/// Frames that are shown of a stack; real ones are up to a hundred deep.
constexpr std::size_t kMostFrames = 128;

void nameOwners(storage::RecordingReader& reader, MomentFrame& frame) {
    std::unordered_map<std::uint32_t, int> places;
    for (const MemoryEvent& block : frame.blocks) {
        const auto [at, isNew] =
            places.emplace(block.owner.value, static_cast<int>(frame.owners.size()));
        if (isNew) frame.owners.push_back(fromUtf8(reader.text(frame.query.rank, block.owner)));
        frame.names.push_back(at->second);
        frame.alive += block.size;
        frame.hasPlaces = frame.hasPlaces || analysis::hasPlace(block);
    }
    frame.byOwner = groupByOwner(frame.blocks, [&](StringId id) {
        return frame.owners[static_cast<std::size_t>(places.at(id.value))];
    });
}

/// Blocks whose category says nothing are distinguished by their owners' shades.
AddressData drawable(const analysis::AddressSpace& space, const MomentFrame& frame) {
    AddressData data;
    data.shades = frame.owners;
    data.shaded = meaningOf(MemoryCategory::kOther);
    for (const analysis::AddressStretch& stretch : space.stretches) {
        AddressPart part{stretch.begin, stretch.end, stretch.reserved, {}, {}};
        for (const std::size_t place : stretch.blocks) {
            const MemoryEvent& block = frame.blocks[place];
            const auto size =
                static_cast<std::uint64_t>(std::max<std::int64_t>(0, block.size.count));
            const std::uint64_t begin = std::max(block.address, part.begin);
            const std::uint64_t end = std::min(part.end, block.address + size);
            const bool shaded = block.category == MemoryCategory::kOther;
            part.blocks.push_back({begin, std::max(begin, end), static_cast<int>(place),
                                   meaningOf(block.category), shaded ? frame.names[place] : -1});
        }
        for (const analysis::AddressGap& gap : stretch.free)
            part.free.emplace_back(gap.begin, gap.end);
        data.parts.push_back(std::move(part));
    }
    return data;
}

}  // namespace

Result<MomentFramePtr> loadMoment(storage::RecordingReader& reader, const OpenRecording& recording,
                                  MomentQuery query, const storage::Generation& generation) {
    storage::CancellableReader asked(reader, generation);
    auto moment = questions::readMoment(asked, recording.summary, query.rank, query.time);
    if (!moment) return failure(moment);
    auto frame = std::make_shared<MomentFrame>();
    frame->query = query;
    frame->blocks = std::move(moment->blocks);
    frame->startsKnown = std::move(moment->startsKnown);
    frame->reserved = moment->reserved;
    frame->unknown = fromUtf8(moment->unknown);
    nameOwners(reader, *frame);
    frame->addresses = drawable(moment->space, *frame);
    const auto around = asked.rankEvents(query.rank, {query.time, query.time + Duration{1}});
    if (!around) return failure(around);
    frame->doing = momentText(recording.summary, query.rank, query.time, around->phases);
    return MomentFramePtr(std::move(frame));
}

Result<BlockEnds> loadBlockEnds(storage::RecordingReader& reader, const OpenRecording& recording,
                                const MomentFrame& frame, const storage::Generation& generation) {
    storage::CancellableReader asked(reader, generation);
    return questions::readBlockEnds(asked, recording.summary, frame.query.rank, frame.blocks,
                                    frame.query.time);
}

Result<StackRows> loadStack(storage::RecordingReader& reader, RankId rank,
                            const MemoryEvent& block) {
    StackRows rows;
    const auto stack = questions::readStack(reader, rank, block.arguments);
    for (const questions::StackFrame& frame : stack) {
        if (rows.size() == kMostFrames) {
            rows.emplace_back(u"…"_s, u"and %1 more"_s.arg(stack.size() - kMostFrames));
            break;
        }
        QString text = fromUtf8(frame.name);
        if (!frame.place.empty()) text += u"  "_s + fromUtf8(frame.place);
        rows.emplace_back(u"#%1"_s.arg(rows.size()), text);
    }
    return rows;
}

}  // namespace shardscope::desktop
