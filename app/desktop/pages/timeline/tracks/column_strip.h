// What events cover of each pixel column of one level of a lane: exact shares, mixed colours.
//
// Events that share a column add up to the share of it in which something ran, so that a lane that
// is busy a tenth of the time is painted a tenth as strongly, however far one has zoomed out. Cost
// by columns and events; no paint per event.
#pragma once

#include <QImage>
#include <QPainter>
#include <QRectF>
#include <QRgb>
#include <QString>
#include <array>
#include <vector>

namespace shardscope::desktop {

class ColumnStrip {
public:
    enum class Mix {
        kBlend,     ///< colours of a column by their shares
        kDominant,  ///< the one with the largest share
    };

    /// `fine`: columns a pixel, of a screen that is scaled.
    explicit ColumnStrip(int width, Mix mix = Mix::kBlend, double fine = 1);

    /// From `left` to `right`, in pixels, of which `share` (0 to 1) is busy.
    void add(double left, double right, double share, QRgb colour);
    void clear();

    /// In pixels.
    [[nodiscard]] int width() const { return m_width; }
    [[nodiscard]] Mix mix() const { return m_mix; }
    [[nodiscard]] double fine() const { return m_fine; }
    [[nodiscard]] bool empty() const { return m_first >= m_end; }
    /// Share of a column, 0 to 1.
    [[nodiscard]] double coverage(int column) const;
    [[nodiscard]] QRgb colour(int column) const;
    /// Fills `area`, as wide as the strip: the more of a column is covered the stronger.
    void paint(QPainter& painter, const QRectF& area) const;
    /// A line where something is that is too short to be seen.
    void paintTraces(QPainter& painter, const QRectF& area) const;

private:
    static constexpr std::size_t kColours = 4;
    struct Column {
        float covered = 0;
        std::array<float, kColours> weights{};
        std::array<QRgb, kColours> colours{};
    };
    void addTo(Column& column, float weight, QRgb colour);
    [[nodiscard]] QImage row(double (*strength)(double)) const;

    [[nodiscard]] int columns() const { return static_cast<int>(m_columns.size()); }
    void paintRow(QPainter& painter, const QRectF& area, double (*strength)(double)) const;

    int m_width;
    Mix m_mix;
    double m_fine;
    std::vector<Column> m_columns;
    int m_first = 0, m_end = 0;  ///< columns that hold something lie in [first, end)
};

// Shorter names of kernels, operators and functions for where the whole one does not fit. Pure.

/// "void at::native::reduce_kernel<512, 1>(...)" -> "reduce_kernel", "volta_sgemm_128x64_tn" as it
/// is, "aten::add" -> "add", "threading.py(1016): wait" -> "wait". Never empty where `name` is not.
[[nodiscard]] QString shortName(const QString& name);
/// The whole name and, where there is one, the shorter one.
[[nodiscard]] std::vector<QString> namesLongestFirst(const QString& name);

}  // namespace shardscope::desktop
