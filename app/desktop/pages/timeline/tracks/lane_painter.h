// Paints one lane of the timeline from prepared slices or counter points. Pure paint; what is
// narrower than a few pixels is painted as its share of each column (column_strip.h).
#pragma once

#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_frame.h"
#include "app/desktop/pages/timeline/tracks/column_strip.h"
#include "app/desktop/pages/timeline/tracks/counter_lane.h"
#include "app/desktop/widgets/theme.h"

#include <QFont>
#include <QHash>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

class LanePainter {
public:
    /// `theme` outlives the painter.
    explicit LanePainter(const Theme& theme)
        : m_theme(theme), m_font(textFont(11)), m_lowFont(textFont(10)), m_codeFont(codeFont(10)) {}

    /// `area`: the lane's rectangle; x of `scale` counts from its left.
    void paintSlices(QPainter& painter, const QRectF& area, const LaneRow& row,
                     const LaneFrame& frame, const TimeScale& scale);
    /// All lanes of the row's track; nothing where `frame` does not have it.
    void paintTrack(QPainter& painter, const QRectF& area, const LaneRow& row,
                    const TimelineFrame& frame, const TimeScale& scale);
    /// `parts`: of a summary, what lies below first.
    void paintSummary(QPainter& painter, const QRectF& area, const LaneRow& row,
                      const std::vector<const LaneFrame*>& parts, const TimeScale& scale);
    void paintCounter(QPainter& painter, const QRectF& area, const LaneRow& row,
                      const LaneFrame& frame, const TimeScale& scale);
    /// Boxes and strips of columns painted since construction.
    [[nodiscard]] int painted() const { return m_painted; }

    /// `level`: on which it stands in the row.
    [[nodiscard]] static QRectF sliceArea(const QRectF& area, const LaneRow& row,
                                          const SliceView& slice, int level,
                                          const TimeScale& scale);

private:
    /// How slices of one name, phase and kind are painted.
    struct Look {
        Fill fill;
        QRgb rgb = 0;
    };
    using LookKey = std::pair<QString, int>;
    struct RecentLook {
        QString name;
        int kind = -1;
        Look look;
    };
    static constexpr std::size_t kRecentLooks = 256;
    /// A slice that is seen as itself.
    struct Box {
        const LaneRow* row = nullptr;  ///< of its lane alone: says how it looks
        const SliceView* slice = nullptr;
        QRectF area;
        Fill fill;
        bool adjoins = false;  ///< touches the one before
    };
    void startStrip(const QPainter& painter, const QRectF& area, const TimeScale& scale,
                    ColumnStrip::Mix mix);
    /// A slice on its way: of which lane it is, and where it stands.
    struct Placed {
        const LaneRow& row;  ///< of its lane alone
        const SliceView& slice;
        int level = 0;
    };
    /// `each` calls what it is given with each slice that is Placed, level after level.
    template <class Each>
    void paintPlaced(QPainter& painter, const QRectF& area, const LaneRow& row,
                     const TimeScale& scale, Each each);
    /// `level`: the whole of it.
    void place(const QRectF& level, const LaneRow& row, const SliceView& slice,
               const TimeScale& scale);
    void paintLevel(QPainter& painter, const QRectF& area, const LaneRow& row,
                    const TimeScale& scale, const QRectF& level);
    /// `nameEnd`: x that its name must not reach over.
    void paintBox(QPainter& painter, const QRectF& area, const Box& box, double nameEnd,
                  const TimeScale& scale);
    void paintAxis(QPainter& painter, const QRectF& area, const ShownCounter& counter);
    void paintMark(QPainter& painter, const QRectF& box, const LaneRow& row,
                   const SliceView& slice);
    void paintEdge(QPainter& painter, const QRectF& box, const QColor& edge);
    void paintModelled(QPainter& painter, const QRectF& box, const QColor& colour);
    void paintLabel(QPainter& painter, const QRectF& box, const LaneRow& row,
                    const SliceView& slice, const QColor& ground);
    [[nodiscard]] Look makeLook(const LaneRow& row, const SliceView& slice) const;
    const Look& lookOf(const LaneRow& row, const SliceView& slice);

    const Theme& m_theme;
    /// Inter draws 192x192 as a product: names of kernels are code.
    QFont m_font, m_lowFont, m_codeFont;
    bool m_isLow = false;  ///< levels of the row that is being painted are low
    QHash<LookKey, Look> m_looks;
    std::array<RecentLook, kRecentLooks> m_recent;
    std::optional<ColumnStrip> m_strip;  ///< of the level that is being painted
    std::vector<Box> m_boxes;
    double m_pixelsPerNs = 0;  ///< of the lane that is being painted
    int m_painted = 0;
};

}  // namespace shardscope::desktop
