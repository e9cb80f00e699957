#include "app/desktop/pages/memory/moment_panel.h"

#include "app/desktop/pages/memory/moment_model.h"
#include "app/desktop/widgets/data_table.h"
#include "app/desktop/widgets/detail_list.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QCursor>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <utility>

namespace shardscope::desktop {
namespace {

constexpr int kMostRowsSeen = 12;  ///< the others scroll
constexpr int kNameWidth = 88, kFrameWidth = 40;

QVBoxLayout* columnIn(QWidget* parent) {
    auto* layout = new QVBoxLayout(parent);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGap);
    return layout;
}

}  // namespace

MomentPanel::MomentPanel(RecordingLoader& loader, QWidget* parent)
    : QWidget(parent),
      m_moment(loader, Urgency::kPicture),
      m_ends(loader, Urgency::kTable),
      m_stack(loader, Urgency::kSlice) {
    QVBoxLayout* layout = columnIn(this);
    layout->addWidget(hairline(this));
    layout->addWidget(buildHead());
    auto* columns = new QHBoxLayout;
    columns->setSpacing(32);
    columns->addWidget(buildMain(), 5);
    columns->addWidget(buildSide(), 2, Qt::AlignTop);
    layout->addLayout(columns);
    hide();
}

QWidget* MomentPanel::buildHead() {
    auto* head = new QWidget(this);
    auto* layout = new QHBoxLayout(head);
    layout->setContentsMargins(0, kGap, 0, 0);
    layout->setSpacing(kGapGroup);
    auto* words = new QVBoxLayout;
    words->setSpacing(kGapSmall);
    words->addWidget(sectionLabel(tr("Blocks alive at one time"), head));
    m_sentence = quietLabel({}, head);
    words->addWidget(m_sentence);
    layout->addLayout(words, 1);
    m_toPeak = new QPushButton(tr("Back to the peak"), head);
    connect(m_toPeak, &QPushButton::clicked, this, &MomentPanel::peakWanted);
    layout->addWidget(m_toPeak, 0, Qt::AlignBottom);
    return head;
}

QWidget* MomentPanel::buildMain() {
    auto* main = new QWidget(this);
    QVBoxLayout* layout = columnIn(main);
    layout->addWidget(sectionLabel(tr("Address space"), main));
    m_mapNote = quietLabel({}, main);
    layout->addWidget(m_mapNote);
    m_map = new AddressMap(main);
    connect(m_map, &AddressMap::blockPicked, this, &MomentPanel::pick);
    connect(m_map, &AddressMap::hovered, this, &MomentPanel::showHover);
    layout->addWidget(m_map);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("Blocks"), main));
    m_table = new DataTable(tr("Blocks alive, largest first"), main);
    connect(m_table, &DataTable::rowPicked, this, &MomentPanel::pick);
    m_table->setCornerWidget(new QWidget(m_table));  // none is drawn between the scroll bars
    layout->addWidget(m_table);
    m_leftOut = quietLabel({}, main);
    layout->addWidget(m_leftOut);
    layout->addStretch();
    return main;
}

QWidget* MomentPanel::buildSide() {
    auto* side = new QWidget(this);
    side->setMinimumWidth(264);
    QVBoxLayout* layout = columnIn(side);
    layout->addWidget(sectionLabel(tr("Reserved and free"), side));
    m_reserved = new DetailList(side);
    layout->addWidget(m_reserved);
    m_reservedNote = quietLabel({}, side);
    layout->addWidget(m_reservedNote);
    layout->addSpacing(kGap);
    layout->addWidget(sectionLabel(tr("The block"), side));
    m_details = new DetailList(side);
    m_details->setWraps(true, kNameWidth);
    layout->addWidget(m_details);
    m_stackTitle = sectionLabel(tr("Stack of its allocation, innermost first"), side);
    layout->addWidget(m_stackTitle);
    m_stackRows = new DetailList(side);
    m_stackRows->setWraps(true, kFrameWidth);
    layout->addWidget(m_stackRows);
    layout->addStretch();
    return side;
}

void MomentPanel::showMoment(const RecordingPtr& recording, MomentQuery query, bool isPeak) {
    if (m_recording == recording && m_asked == query && m_isPeak == isPeak) {
        if (m_frame && m_frame->query == query) Q_EMIT momentRead(m_frame, isPeak);
        return;
    }
    if (m_recording && m_recording->path != recording->path) showNothing();
    m_recording = recording;
    m_asked = query;
    m_isPeak = isPeak;
    m_moment.ask(
        [query](auto& reader, const auto& open, const auto& generation) {
            return loadMoment(reader, open, query, generation);
        },
        [this, isPeak](const MomentFramePtr& frame) { present(frame, isPeak); });
}

void MomentPanel::showNothing() {
    m_moment.forget();
    forgetBlock();
    m_frame.reset();
    m_recording.reset();
    m_asked.reset();
    hide();
}

/// Answers about a block of the frame before would find another one in its place, or none.
void MomentPanel::forgetBlock() {
    m_ends.forget();
    m_stack.forget();
    m_block = -1;
}

/// The block that is picked now, if it is alive in `frame` too; else the largest.
int MomentPanel::pickedIn(const MomentFrame& frame) const {
    if (frame.blocks.empty()) return -1;
    if (!m_frame || m_block < 0) return 0;
    const MemoryEvent& picked = m_frame->blocks[static_cast<std::size_t>(m_block)];
    const auto same =
        std::find_if(frame.blocks.begin(), frame.blocks.end(), [&](const MemoryEvent& block) {
            return block.address == picked.address && block.time == picked.time;
        });
    return same == frame.blocks.end() ? 0 : static_cast<int>(same - frame.blocks.begin());
}

void MomentPanel::present(const MomentFramePtr& frame, bool isPeak) {
    const int picked = pickedIn(*frame);
    m_frame = frame;
    m_blockEnds.reset();
    // between two blocks of a recording that has addresses nothing may be alive
    setVisible(frame->hasPlaces || (!isHidden() && !isPeak));
    Q_EMIT momentRead(frame, isPeak);
    if (isHidden()) return forgetBlock();
    m_sentence->setText(
        momentSentence(*frame, isPeak) +
        (isPeak ? tr(" Click into the picture above for another time.") : QString()));
    m_toPeak->setVisible(!isPeak);
    m_map->setData(std::shared_ptr<const AddressData>(frame, &frame->addresses));
    m_mapNote->setText(addressNote(*frame));
    presentFigures();
    m_block = picked;
    presentTable();
    pick(picked);
    m_ends.ask(
        [frame](auto& reader, const auto& open, const auto& generation) {
            return loadBlockEnds(reader, open, *frame, generation);
        },
        [this, frame](const BlockEnds& ends) {
            if (m_frame != frame) return;
            m_blockEnds = ends;
            presentTable();
            presentBlock();
        });
}

QString MomentPanel::reservedText() const {
    return m_reservedNote->text();
}

void MomentPanel::presentFigures() {
    m_reserved->setRows(reservedRows(*m_frame));
    m_reserved->setVisible(m_frame->reserved.has_value());
    m_reservedNote->setText(reservedNote(*m_frame));
}

void MomentPanel::presentTable() {
    m_table->setTable(blockColumns(),
                      blockRows(*m_frame, *m_recording, m_blockEnds ? &*m_blockEnds : nullptr));
    m_table->setRowsSeen(kMostRowsSeen);
    m_table->selectSource(m_block);
    const QString leftOut = blocksLeftOut(*m_frame);
    m_leftOut->setText(leftOut);
    m_table->setAccessibleDescription(leftOut);
    m_leftOut->setVisible(!leftOut.isEmpty());
}

void MomentPanel::pick(int block) {
    m_block = block;
    m_frames.clear();
    const AddressHit hit{AddressHit::Kind::kBlock, block, 0, 0, 0};
    m_map->selectBlock(block);
    m_map->describeBlock(block < 0 ? QString() : hoverText(*m_frame, hit));
    m_table->selectSource(block);
    presentBlock();
    if (block < 0) return m_stack.forget();
    m_stack.ask(
        [rank = m_frame->query.rank, event = m_frame->blocks[static_cast<std::size_t>(block)]](
            auto& reader, const auto&, const auto&) { return loadStack(reader, rank, event); },
        [this](const StackRows& frames) {
            m_frames = frames;
            presentBlock();
        });
}

void MomentPanel::presentBlock() {
    m_details->setRows(m_block < 0
                           ? DetailRows{}
                           : blockDetails(*m_frame, *m_recording, static_cast<std::size_t>(m_block),
                                          m_blockEnds ? &*m_blockEnds : nullptr));
    m_stackTitle->setVisible(!m_frames.empty());
    m_stackRows->setVisible(!m_frames.empty());
    m_stackRows->setRows(m_frames);
}

void MomentPanel::showHover(const std::optional<AddressHit>& hit) {
    const QString text = hit && m_frame ? hoverText(*m_frame, *hit) : QString();
    Q_EMIT hoverChanged(text);
    QToolTip::showText(QCursor::pos(), text, m_map);
}

}  // namespace shardscope::desktop
