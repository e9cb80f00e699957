#include "app/desktop/pages/memory/moment_model.h"

#include "app/desktop/models/format.h"

#include <QObject>
#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr Duration kInstant{1'000};

const QString kBefore = u"before what is recorded"_s;
const QString kSought = u"being looked for"_s;
const QString kNoPlace = u"not a block: a sum, which has no address"_s;

QString word(const char* text) {
    return QString::fromLatin1(text);
}
QString hex(std::uint64_t address) {
    return u"0x"_s + QString::number(address, 16);
}
QString exactBytes(Bytes bytes) {
    return bytes.count < 1024 ? formatBytes(bytes)
                              : u"%1 (%2 B)"_s.arg(formatBytes(bytes), formatCount(bytes.count));
}
QString counted(std::int64_t count, const QString& one, const QString& many) {
    return u"%1 %2"_s.arg(formatCount(count), count == 1 ? one : many);
}
QString blocksText(std::int64_t count) {
    return counted(count, u"block"_s, u"blocks"_s);
}
QString ownerName(const QString& owner) {
    return owner.isEmpty() ? u"(unnamed)"_s : owner;
}
QString lasting(const OpenRecording& recording) {
    return recording.isRunning() ? u"alive so far"_s : u"alive at the end"_s;
}

TableCell instantCell(Timestamp time) {
    return {formatInstant(time, kInstant), {}, static_cast<double>(time.ns), Meaning::kNone, time};
}

TableCell startCell(const MomentFrame& frame, std::size_t block) {
    const MemoryEvent& event = frame.blocks[block];
    if (!analysis::hasPlace(event)) return TableCell::unknown(kNoPlace);
    return frame.startsKnown[block] ? instantCell(event.time) : TableCell::unknown(kBefore);
}

TableCell endCell(const MomentFrame& frame, const OpenRecording& recording, std::size_t block,
                  const BlockEnds* ends) {
    if (!analysis::hasPlace(frame.blocks[block])) return TableCell::unknown(kNoPlace);
    if (ends == nullptr) return {u"…"_s, kSought, 0, Meaning::kNone, {}};
    if ((*ends)[block]) return instantCell(*(*ends)[block]);
    return {u"not freed"_s, lasting(recording), 1e19, Meaning::kNone, {}};
}

TableCell lifetimeCell(const MomentFrame& frame, const OpenRecording& recording, std::size_t block,
                       const BlockEnds* ends) {
    const MemoryEvent& event = frame.blocks[block];
    if (!analysis::hasPlace(event)) return TableCell::unknown(kNoPlace);
    if (ends == nullptr) return {u"…"_s, kSought, 0, Meaning::kNone, {}};
    const auto end = (*ends)[block];
    const Duration seen = end.value_or(recording.bounds().end) - event.time;
    if (end && frame.startsKnown[block]) return TableCell::of(seen);
    const QString why = frame.startsKnown[block] ? lasting(recording) : kBefore;
    return {u"> "_s + formatDuration(seen),
            u"at least: "_s + why,
            static_cast<double>(seen.ns),
            Meaning::kNone,
            {}};
}

}  // namespace

QString momentSentence(const MomentFrame& frame, bool isPeak) {
    return u"Rank %1 at %2%3, %4: %5 alive, %6 together."_s.arg(
        QString::number(frame.query.rank.value), formatInstant(frame.query.time, kInstant),
        isPeak ? u", the peak"_s : QString(), frame.doing, blocksText(std::ssize(frame.blocks)),
        formatBytes(frame.alive));
}

QString ownersNote(const MomentFrame& frame, std::optional<Bytes> peak) {
    if (frame.blocks.empty()) return u"No block was alive at that time."_s;
    if (!frame.hasPlaces)
        return u"Which blocks were alive is unknown: the memory events have no addresses."_s;
    QString text = momentSentence(frame, peak.has_value());
    if (peak && *peak > frame.alive)
        text += u" The other %1 of the peak is in no known block."_s.arg(
            formatBytes(*peak - frame.alive));
    return text + u" The largest:"_s;
}

std::vector<TableColumn> ownerColumns() {
    return {{QObject::tr("owner"), {}, false, true, false, 96},
            {QObject::tr("blocks"), {}, true, false, true, 60},
            {QObject::tr("size"), {}, true, false, false, 80}};
}

TableRows ownerRows(const MomentFrame& frame, std::size_t most) {
    TableRows rows;
    if (!frame.hasPlaces) return rows;
    for (const BlockOwner& owner : frame.byOwner) {
        if (rows.size() == most) break;
        QString name = ownerName(owner.owner);
        if (owner.layer != kNoLayer && !name.contains(formatLayer(owner.layer)))
            name += u" · "_s + formatLayer(owner.layer);
        TableCell cell = TableCell::ofText(name, meaningOf(owner.category));
        cell.tip = name + u": "_s + word(toWord(owner.category));
        rows.push_back({cell, TableCell::ofCount(owner.blocks), TableCell::of(owner.size)});
    }
    return rows;
}

std::vector<TableColumn> blockColumns() {
    return {{QObject::tr("address"), {}, true, false, true, 132},
            {QObject::tr("size"), QObject::tr("as requested"), true, false, false, 80},
            {QObject::tr("owner"),
             QObject::tr("operator or buffer; in a memory snapshot the innermost frame of the "
                         "allocation's stack outside PyTorch"),
             false, true, false, 104},
            {QObject::tr("allocated at"), {}, true, false, false, 92},
            {QObject::tr("freed at"), {}, true, false, false, 92},
            {QObject::tr("lifetime"), QObject::tr("freed − allocated"), true, false, false, 76},
            {QObject::tr("category"), {}, false, false, true, 152}};
}

TableRows blockRows(const MomentFrame& frame, const OpenRecording& recording,
                    const BlockEnds* ends) {
    TableRows rows;
    for (std::size_t i = 0; i < frame.blocks.size() && i < kMostBlockRows; ++i) {
        const MemoryEvent& block = frame.blocks[i];
        TableCell address = analysis::hasPlace(block) ? TableCell::ofText(hex(block.address))
                                                      : TableCell::unknown(kNoPlace);
        address.sortKey = static_cast<double>(block.address);
        rows.push_back({address, TableCell::of(block.size),
                        TableCell::ofText(ownerName(frame.ownerOf(i)), meaningOf(block.category)),
                        startCell(frame, i), endCell(frame, recording, i, ends),
                        lifetimeCell(frame, recording, i, ends),
                        TableCell::ofText(word(toWord(block.category)))});
    }
    return rows;
}

QString blocksLeftOut(const MomentFrame& frame) {
    QStringList texts;
    if (frame.blocks.size() > kMostBlockRows) {
        Bytes rest;
        for (std::size_t i = kMostBlockRows; i < frame.blocks.size(); ++i)
            rest += frame.blocks[i].size;
        texts << u"The %1 largest of %2; the other %3 have %4 together."_s.arg(
            formatCount(kMostBlockRows), blocksText(std::ssize(frame.blocks)),
            formatCount(std::ssize(frame.blocks) - static_cast<std::ptrdiff_t>(kMostBlockRows)),
            formatBytes(rest));
    }
    Bytes nowhere;
    for (const MemoryEvent& block : frame.blocks)
        if (!analysis::hasPlace(block)) nowhere += block.size;
    if (nowhere.count > 0)
        texts << u"%1 of it have no address: sums that are not blocks, such as memory outside "
                 u"the allocator."_s.arg(formatBytes(nowhere));
    return texts.join(u' ');
}

DetailRows blockDetails(const MomentFrame& frame, const OpenRecording& recording, std::size_t block,
                        const BlockEnds* ends) {
    const MemoryEvent& event = frame.blocks[block];
    DetailRows rows{
        {u"owner"_s, ownerName(frame.ownerOf(block))},
        {u"category"_s, word(toWord(event.category))},
        {u"size"_s, exactBytes(event.size)},
        {u"address"_s, analysis::hasPlace(event) ? hex(event.address) : kNoPlace},
    };
    for (const AddressPart& part : frame.addresses.parts) {
        const bool inside = part.begin <= event.address && event.address < part.end;
        if (part.reserved && inside && analysis::hasPlace(event))
            rows.emplace_back(
                u"segment"_s,
                u"%1, %2"_s.arg(hex(part.begin),
                                formatBytes({static_cast<std::int64_t>(part.size())})));
    }
    if (event.layer != kNoLayer) rows.emplace_back(u"layer"_s, formatLayer(event.layer));
    if (event.step != kNoStep) rows.emplace_back(u"step"_s, QString::number(event.step.value));
    if (event.phase != Phase::kNone) rows.emplace_back(u"phase"_s, word(toWord(event.phase)));
    if (!analysis::hasPlace(event)) return rows;
    const auto say = [&](const QString& name, const TableCell& cell) {
        rows.emplace_back(name, cell.text == unknownText() ? cell.tip : cell.text);
    };
    say(u"allocated at"_s, startCell(frame, block));
    if (ends != nullptr && !(*ends)[block])
        rows.emplace_back(u"freed at"_s, u"not freed: "_s + lasting(recording));
    else
        say(u"freed at"_s, endCell(frame, recording, block, ends));
    say(u"lifetime"_s, lifetimeCell(frame, recording, block, ends));
    return rows;
}

QString hoverText(const MomentFrame& frame, const AddressHit& hit) {
    const Bytes size{static_cast<std::int64_t>(hit.end - hit.begin)};
    switch (hit.kind) {
        case AddressHit::Kind::kFree:
            return u"free: %1 from %2 on"_s.arg(formatBytes(size), hex(hit.begin));
        case AddressHit::Kind::kLost:
            return u"lost inside the block before: rounding, or too small to be split off"_s;
        case AddressHit::Kind::kBetween:
            return u"between blocks: what is there is not recorded"_s;
        case AddressHit::Kind::kBlock:
            break;
    }
    const auto at = static_cast<std::size_t>(hit.id);
    const MemoryEvent& block = frame.blocks[at];
    const QString age = formatDuration(frame.query.time - block.time);
    return u"%1 · %2 · %3 (%4) · %5"_s.arg(
        hex(block.address), formatBytes(block.size), ownerName(frame.ownerOf(at)),
        word(toWord(block.category)),
        frame.startsKnown[at] ? age + u" old"_s : u"older than "_s + age);
}

DetailRows reservedRows(const MomentFrame& frame) {
    if (!frame.reserved) return {};
    const analysis::ReservedNow& now = *frame.reserved;
    const auto share = now.free.fragmentation();
    return {
        {u"reserved"_s, u"%1 in %2"_s.arg(formatBytes(now.reserved),
                                          counted(now.segments, u"segment"_s, u"segments"_s))},
        {u"allocated"_s, formatBytes(now.allocated)},
        {u"lost inside blocks"_s, formatBytes(now.lost)},
        {u"free inside segments"_s,
         now.free.blocks == 0
             ? u"none"_s
             : u"%1 in %2"_s.arg(formatBytes(now.free.all), blocksText(now.free.blocks))},
        {u"largest free block"_s, now.free.blocks == 0 ? u"none"_s : formatBytes(now.free.largest)},
        {u"fragmentation"_s, share ? formatPercent(*share) : u"none: nothing is free"_s}};
}

QString reservedNote(const MomentFrame& frame) {
    if (!frame.reserved) return u"Fragmentation unknown: %1."_s.arg(frame.unknown);
    const analysis::FreeBlocks& free = frame.reserved->free;
    QString text = u"Fragmentation = 1 − largest free block / all that is free inside segments"_s;
    if (free.blocks > 0)
        text += u" = 1 − %1 / %2"_s.arg(formatBytes(free.largest), formatBytes(free.all));
    return text +
           u". Reserved = allocated + lost + free. Lost: what sizes are rounded up by, and "
           u"what was too small to be split off."_s;
}

QString addressNote(const MomentFrame& frame) {
    if (frame.addresses.parts.empty()) return u"No block is alive at that time."_s;
    if (!frame.reserved)
        return u"Runs of blocks next to each other, gaps of more than %1 between them folded. What "
               u"lies between blocks is not recorded."_s.arg(
                   formatBytes({static_cast<std::int64_t>(analysis::kRunGap)}));
    const bool shaded = std::any_of(
        frame.blocks.begin(), frame.blocks.end(),
        [](const MemoryEvent& block) { return block.category == MemoryCategory::kOther; });
    return u"Segments one after the other, gaps between them folded; hatched: free."_s +
           (shaded ? u" Shades of other distinguish owners."_s : QString());
}

}  // namespace shardscope::desktop
