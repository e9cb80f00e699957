#include "app/cli/bench/plot.h"

#include "storage/model/plain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace shardscope::cli {
namespace {

/// The axes lie in [kLeft, kEndX] x [kTop, kEndY]; below them stand labels, a title and the note.
constexpr double kLeast = 860, kLeft = 90, kEndX = 650, kTop = 50, kEndY = 404;
constexpr double kFont = 13, kSmall = 11, kDot = 4, kCap = 5;
/// From the axes to the names of the series, and what a letter of them takes.
constexpr double kLegend = 40, kNameLetter = 7.4;
constexpr double kLevelRoom = 28, kSlantedRoom = 22, kTitleRoom = 24, kNoteLine = 14;
/// Of a small letter on average, with some to spare.
constexpr double kLetter = 6.2;
constexpr int kMostTicks = 8;
constexpr std::size_t kMostLevelLabels = 5;
/// Degrees, and its sine: how far a label reaches down.
constexpr int kSlant = -40;
constexpr double kSlantSine = 0.643;
/// Okabe and Ito's, which most eyes distinguish.
constexpr std::array kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};

/// As XML takes it, which allows hardly any control character.
std::string escaped(const std::string& text) {
    std::string safe;
    for (const char c : printableLine(text)) {
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else
            safe += c;
    }
    return safe;
}

/// Broken at spaces into lines of at most so many letters; a longer word stands alone.
std::vector<std::string> linesOf(const std::string& text, std::size_t most) {
    std::vector<std::string> lines;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (lines.empty() || lines.back().size() + 1 + word.size() > most)
            lines.push_back(word);
        else
            lines.back() += ' ' + word;
    }
    return lines;
}

/// How far labels reach below their axis.
double roomOf(const std::vector<std::string>& labels) {
    if (labels.size() <= kMostLevelLabels) return kLevelRoom;
    std::size_t longest = 0;
    for (const std::string& label : labels) longest = std::max(longest, label.size());
    return kSlantedRoom + kSlantSine * kLetter * static_cast<double>(longest);
}

/// Of no sign where it is zero.
std::string tickText(double tick) {
    return fmt::format("{:.6g}", tick + 0.0);
}

std::string textAt(double x, double y, const std::string& text, const char* anchor,
                   const std::string& more = {}) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y,
                       anchor, more, escaped(text));
}

std::string lineFrom(double x1, double y1, double x2, double y2, const char* colour,
                     const char* more = "") {
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" {}/>\n", x1,
        y1, x2, y2, colour, more);
}

/// Numbers of an axis, and where they lie on the picture.
class Scale {
public:
    Scale(double low, double high, bool logarithmic, double from, double to)
        : m_log(logarithmic), m_low(low), m_high(high), m_from(from), m_to(to) {}
    [[nodiscard]] double at(double value) const {
        const double share =
            (transformed(value) - transformed(m_low)) / (transformed(m_high) - transformed(m_low));
        return m_from + share * (m_to - m_from);
    }
    [[nodiscard]] std::vector<double> ticks() const {
        return ticksOf(m_low, m_high, m_log, kMostTicks);
    }
    [[nodiscard]] bool shows(double value) const {
        return std::isfinite(value) && (!m_log || value > 0);
    }

private:
    [[nodiscard]] double transformed(double value) const {
        return m_log ? std::log10(std::max(value, std::numeric_limits<double>::min())) : value;
    }
    bool m_log;
    double m_low, m_high, m_from, m_to;
};

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    void include(double value, bool logarithmic) {
        if (!std::isfinite(value) || (logarithmic && value <= 0)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    /// With some room; of nothing from 0 to 1.
    [[nodiscard]] Range widened(bool logarithmic, bool fromZero) const {
        if (low > high) return {logarithmic ? 0.1 : 0, 1};
        if (logarithmic) return {low / 1.2, high * 1.2};
        const double room = high > low ? 0.06 * (high - low) : std::max(std::abs(high), 1.0) * 0.5;
        return {fromZero && low >= 0 ? 0 : low - room, high + room};
    }
};

class Drawing {
public:
    explicit Drawing(const Plot& plot) : m_plot(plot), m_x(scaleX(plot)), m_y(scaleY(plot)) {}

    std::string svg() {
        const double titleY = kEndY + roomOf(m_plot.x.labels) + kFont;
        const std::vector<std::string> note =
            linesOf(m_plot.note, static_cast<std::size_t>((kLeast - kLeft) / kLetter));
        const double height = titleY + kTitleRoom + kNoteLine * static_cast<double>(note.size());
        m_svg = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
            "height=\"{1}\" font-family=\"sans-serif\" font-size=\"{2}\" fill=\"#222\">\n"
            "<title>{3}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
            std::ceil(widthOf(m_plot)), std::ceil(height), kFont, escaped(m_plot.title));
        m_svg += textAt(kLeft, kTop - 20, m_plot.title, "start", "font-weight=\"bold\"");
        drawAxes();
        for (std::size_t i = 0; i < m_plot.series.size(); ++i) draw(i);
        m_svg += textAt((kLeft + kEndX) / 2, titleY, m_plot.x.title, "middle");
        for (std::size_t i = 0; i < note.size(); ++i)
            m_svg +=
                textAt(kLeft, titleY + kTitleRoom + kNoteLine * static_cast<double>(i), note[i],
                       "start", fmt::format("font-size=\"{}\" fill=\"#555\"", kSmall));
        return m_svg + "</svg>\n";
    }

private:
    static double widthOf(const Plot& plot) {
        std::size_t longest = 0;
        for (const PlotSeries& series : plot.series)
            longest = std::max(longest, series.name.size());
        return std::max(kLeast, kEndX + kLegend + kNameLetter * static_cast<double>(longest));
    }
    static Scale scaleX(const Plot& plot) {
        if (!plot.x.labels.empty())
            return {-0.5, static_cast<double>(plot.x.labels.size()) - 0.5, false, kLeft, kEndX};
        Range range;
        for (const PlotSeries& series : plot.series)
            for (const PlotPoint& point : series.points) range.include(point.x, plot.x.logarithmic);
        const Range wide = range.widened(plot.x.logarithmic, true);
        return {wide.low, wide.high, plot.x.logarithmic, kLeft, kEndX};
    }
    static Scale scaleY(const Plot& plot) {
        Range range;
        const bool log = plot.y.logarithmic;
        for (const PlotSeries& series : plot.series)
            for (const PlotPoint& point : series.points) {
                range.include(point.y, log);
                range.include(point.low.value_or(point.y), log);
                range.include(point.high.value_or(point.y), log);
            }
        const Range wide = range.widened(log, true);
        return {wide.low, wide.high, log, kEndY, kTop};
    }

    void drawAxes() {
        m_svg += lineFrom(kLeft, kEndY, kEndX, kEndY, "#222");
        m_svg += lineFrom(kLeft, kTop, kLeft, kEndY, "#222");
        for (const double tick : m_y.ticks()) {
            const double y = m_y.at(tick);
            m_svg += lineFrom(kLeft, y, kEndX, y, "#e0e0e0");
            m_svg += textAt(kLeft - 8, y + 4, tickText(tick), "end");
        }
        if (m_plot.x.labels.empty()) {
            for (const double tick : m_x.ticks()) drawTick(m_x.at(tick), tickText(tick), false);
        } else {
            const bool slanted = m_plot.x.labels.size() > kMostLevelLabels;
            for (std::size_t i = 0; i < m_plot.x.labels.size(); ++i)
                drawTick(m_x.at(static_cast<double>(i)), m_plot.x.labels[i], slanted);
        }
        m_svg += textAt(
            0, 0, m_plot.y.title, "middle",
            fmt::format("transform=\"translate(18 {:.1f}) rotate(-90)\"", (kTop + kEndY) / 2));
    }

    void drawTick(double x, const std::string& text, bool slanted) {
        m_svg += lineFrom(x, kEndY, x, kEndY + 5, "#222");
        if (slanted)
            m_svg += textAt(0, 0, text, "end",
                            fmt::format("font-size=\"{}\" transform=\"translate({:.1f} {:.1f}) "
                                        "rotate({})\"",
                                        kSmall, x + 4, kEndY + 17, kSlant));
        else
            m_svg += textAt(x, kEndY + 19, text, "middle");
    }

    void draw(std::size_t at) {
        const PlotSeries& series = m_plot.series[at];
        const char* colour = kColours[at % kColours.size()];
        std::string path;
        for (const PlotPoint& point : series.points) {
            if (!m_x.shows(point.x) || !m_y.shows(point.y)) continue;
            const double x = m_x.at(point.x), y = m_y.at(point.y);
            path += fmt::format("{:.1f},{:.1f} ", x, y);
            if (point.low && point.high && m_y.shows(*point.low)) drawInterval(x, point, colour);
            if (series.marks)
                m_svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n",
                                     x, y, kDot, colour);
        }
        const char* dashes = series.marks ? "" : "stroke-dasharray=\"6 4\"";
        if (series.line && !path.empty())
            m_svg += fmt::format(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" {}/>\n",
                path, colour, dashes);
        const double y = kTop + 8 + 22 * static_cast<double>(at);
        m_svg += lineFrom(kEndX + 12, y, kEndX + 34, y, colour, dashes);
        if (series.marks)
            m_svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n",
                                 kEndX + 23, y, kDot, colour);
        m_svg += textAt(kEndX + kLegend, y + 4, series.name, "start");
    }

    void drawInterval(double x, const PlotPoint& point, const char* colour) {
        const double low = m_y.at(*point.low), high = m_y.at(*point.high);
        m_svg += lineFrom(x, low, x, high, colour);
        m_svg += lineFrom(x - kCap, low, x + kCap, low, colour);
        m_svg += lineFrom(x - kCap, high, x + kCap, high, colour);
    }

    const Plot& m_plot;
    const Scale m_x, m_y;
    std::string m_svg;
};

std::vector<double> logarithmicTicks(double low, double high, int most) {
    const double decades = std::log10(high / low);
    std::vector<double> ticks;
    // Some decades are left out where there are many, and 2 and 5 where they would crowd.
    const int every = std::max(1, static_cast<int>(std::ceil(decades / most)));
    const bool finer = decades * 3 <= most;
    for (int power = static_cast<int>(std::floor(std::log10(low)));
         power <= static_cast<int>(std::ceil(std::log10(high))); ++power) {
        if (power % every != 0) continue;
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * std::pow(10.0, power);
            if ((factor == 1 || finer) && tick >= low && tick <= high) ticks.push_back(tick);
        }
    }
    return ticks;
}

}  // namespace

std::vector<double> ticksOf(double low, double high, bool logarithmic, int most) {
    if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return {};
    if (logarithmic) return low > 0 ? logarithmicTicks(low, high, most) : std::vector<double>{};
    const double rough = (high - low) / most;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0})
        if (factor * power >= rough) step = factor * power;
    std::vector<double> ticks;
    // A step beyond the end for what is a hair too large.
    for (double at = std::ceil(low / step); at * step <= high + step * 1e-9; ++at)
        ticks.push_back(at * step);
    return ticks;
}

std::string toSvg(const Plot& plot) {
    return Drawing(plot).svg();
}

}  // namespace shardscope::cli
