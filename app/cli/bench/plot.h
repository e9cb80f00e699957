// A picture of measured points and predicted lines, as SVG. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

struct PlotPoint {
    double x = 0, y = 0;
    std::optional<double> low, high;  ///< interval of y
};

struct PlotSeries {
    std::string name;
    std::vector<PlotPoint> points;  ///< by x; those that are not finite are left out
    bool line = true;               ///< joined
    bool marks = true;              ///< a dot each; without them it is something predicted: dashed
};

struct PlotAxis {
    std::string title;  ///< with its unit: "step time (ms)"
    bool logarithmic = false;
    /// Instead of numbers: the label of x = 0, 1, ...
    std::vector<std::string> labels;
};

struct Plot {
    std::string file;  ///< name without its ending
    std::string title;
    std::string note;  ///< below the picture: what it was measured on
    PlotAxis x, y;
    std::vector<PlotSeries> series;
};

/// Where an axis from `low` to `high` has its marks: round numbers, at most about `most`, the
/// outer ones within the range.
[[nodiscard]] std::vector<double> ticksOf(double low, double high, bool logarithmic, int most);

[[nodiscard]] std::string toSvg(const Plot& plot);

}  // namespace shardscope::cli
