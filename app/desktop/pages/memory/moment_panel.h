// Below the memory over time: one moment of one rank. What lives then as a table, where it lies,
// what of the segments is free, and all that is known of one block, its stack too. Hidden where the
// recording has no addresses. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/pages/memory/moment_query.h"
#include "app/desktop/widgets/pictures/address_map.h"

#include <QWidget>
#include <optional>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace shardscope::desktop {

class DataTable;
class DetailList;
class RecordingLoader;

class MomentPanel : public QWidget {
    Q_OBJECT

public:
    explicit MomentPanel(RecordingLoader& loader, QWidget* parent = nullptr);
    /// What is shown stays until this has been read.
    void showMoment(const RecordingPtr& recording, MomentQuery query, bool isPeak);
    void showNothing();
    /// What is shown; null: nothing yet.
    [[nodiscard]] const MomentFramePtr& frame() const { return m_frame; }
    [[nodiscard]] AddressMap& map() const { return *m_map; }
    [[nodiscard]] DataTable& table() const { return *m_table; }
    [[nodiscard]] const DetailList& details() const { return *m_details; }
    [[nodiscard]] const DetailList& stack() const { return *m_stackRows; }
    [[nodiscard]] const DetailList& reserved() const { return *m_reserved; }
    [[nodiscard]] QString reservedText() const;
    [[nodiscard]] int pickedBlock() const { return m_block; }

Q_SIGNALS:
    void momentRead(const shardscope::desktop::MomentFramePtr& frame, bool isPeak);
    void peakWanted();
    void hoverChanged(const QString& text);

private:
    QWidget* buildHead();
    QWidget* buildMain();
    QWidget* buildSide();
    void present(const MomentFramePtr& frame, bool isPeak);
    void forgetBlock();
    [[nodiscard]] int pickedIn(const MomentFrame& frame) const;
    void presentFigures();
    void presentTable();
    void pick(int block);
    void presentBlock();
    void showHover(const std::optional<AddressHit>& hit);

    Topic m_moment, m_ends, m_stack;
    RecordingPtr m_recording;
    std::optional<MomentQuery> m_asked;
    bool m_isPeak = false;  ///< what was asked
    MomentFramePtr m_frame;
    std::optional<BlockEnds> m_blockEnds;
    int m_block = -1;
    StackRows m_frames;  ///< of its stack
    QLabel* m_sentence;
    QPushButton* m_toPeak;
    AddressMap* m_map;
    QLabel* m_mapNote;
    DataTable* m_table;
    QLabel* m_leftOut;
    DetailList* m_reserved;
    QLabel* m_reservedNote;
    DetailList* m_details;
    QLabel* m_stackTitle;
    DetailList* m_stackRows;
};

}  // namespace shardscope::desktop
