#include "storage/columns/wire.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>

namespace shardscope::columns::wire {
namespace {

using Kind = Shape::Kind;

/// A value that is only read; places serve both directions.
std::byte* placeOf(const void* value) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(value));
}

Places oneAt(const void* value) {
    return {.first = placeOf(value), .count = 1};
}

Places placesOf(const std::vector<std::byte*>& each) {
    return {.each = each.data(), .count = each.size()};
}

Places placesOf(const Shape::Items& items, const Shape& of) {
    return {.first = items.first, .stride = of.size, .count = items.count};
}

/// Items of all lists; the places are good for as long as `all` is.
Places placesOf(const std::vector<Shape::Items>& lists, const Shape& of,
                std::vector<std::byte*>& all) {
    if (lists.size() == 1) return placesOf(lists.front(), of);
    for (const Shape::Items& list : lists)
        for (std::size_t i = 0; i < list.count; ++i) all.push_back(list.first + i * of.size);
    return placesOf(all);
}

/// Calls `use` with each place and its number: one loop for each way they lie, so that it is tight.
template <class Use>
void forEachPlace(const Places& places, std::size_t begin, std::size_t end, Use use) {
    if (places.each == nullptr)
        for (std::size_t i = begin; i < end; ++i) use(i, places.first + i * places.stride);
    else
        for (std::size_t i = begin; i < end; ++i) use(i, places.each[i] + places.offset);
}

/// Calls `use` with the first of some that lie as far apart as `places` says, and their number.
template <class Use>
void forEachRun(const Places& places, Use use) {
    if (places.each == nullptr) return use(places.first, places.count);
    for (std::size_t i = 0; i < places.count; ++i) use(places.at(i), std::size_t{1});
}

bool isArrivals(const Shape& shape) {
    return &shape == &kShape<Arrivals>;
}

std::vector<Shape::Items> listsAt(const Shape& shape, const Places& places) {
    std::vector<Shape::Items> lists(places.count);
    for (std::size_t i = 0; i < places.count; ++i) lists[i] = shape.items(places.at(i));
    return lists;
}

std::vector<Shape::Items> arrivalsAt(const Places& places) {
    std::vector<Shape::Items> lists(places.count);
    for (std::size_t i = 0; i < places.count; ++i) {
        const auto& arrivals = *reinterpret_cast<const Arrivals*>(places.at(i));
        lists[i] = {placeOf(arrivals.begin()), arrivals.size()};
    }
    return lists;
}

}  // namespace

void Writer::putOne(const Shape& shape, const void* value) {
    putAll(shape, oneAt(value));
}

void Writer::putAll(const Shape& shape, const Places& places) {
    if (shape.isNumber()) return putNumbers(shape, places);
    if (isArrivals(shape)) return putLists(kShape<Timestamp>, arrivalsAt(places));
    switch (shape.kind) {
        case Kind::kText:
            return putTexts(places);
        case Kind::kOptional:
            return putOptionals(shape, places);
        case Kind::kList:
            return putLists(*shape.of, listsAt(shape, places));
        case Kind::kArray:
            for (std::size_t place = 0; place < shape.places; ++place)
                putAll(*shape.of, places.within(place * shape.of->size));
            return;
        default:
            return putStructs(shape, places);
    }
}

template <class ValueAt>
void Writer::putColumn(std::size_t count, ValueAt valueAt) {
    m_column.resize(count);
    for (std::size_t i = 0; i < count; ++i) m_column[i] = valueAt(i);
    columns::encodeColumn(m_column, m_bytes);
}

void Writer::putNumbers(const Shape& shape, const Places& places) {
    m_column.resize(places.count);
    withNumber(shape.kind, [&]<class T>(Of<T>) {
        forEachPlace(places, 0, places.count, [&](std::size_t i, const std::byte* at) {
            if constexpr (std::is_floating_point_v<T>)
                m_column[i] = std::bit_cast<std::int64_t>(static_cast<double>(load<T>(at)));
            else
                m_column[i] = static_cast<std::int64_t>(load<T>(at));
        });
    });
    columns::encodeColumn(m_column, m_bytes);
}

void Writer::putTexts(const Places& places) {
    const auto text = [&](std::size_t i) -> const std::string& {
        return *reinterpret_cast<const std::string*>(places.at(i));
    };
    putColumn(places.count, [&](std::size_t i) { return std::int64_t(text(i).size()); });
    for (std::size_t i = 0; i < places.count; ++i) {
        const auto bytes = std::as_bytes(std::span(text(i)));
        m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end());
    }
}

void Writer::putOptionals(const Shape& shape, const Places& places) {
    std::vector<std::byte*> present;
    putColumn(places.count, [&](std::size_t i) {
        void* value = shape.valueIn(places.at(i));
        if (value != nullptr) present.push_back(static_cast<std::byte*>(value));
        return std::int64_t{value != nullptr};
    });
    putAll(*shape.of, placesOf(present));
}

void Writer::putLists(const Shape& of, const std::vector<Shape::Items>& lists) {
    putColumn(lists.size(), [&](std::size_t i) { return std::int64_t(lists[i].count); });
    std::vector<std::byte*> all;
    putAll(of, placesOf(lists, of, all));
}

void Writer::putStructs(const Shape& shape, const Places& places) {
    const Fields& fields = shape.fields();
    std::vector<std::byte> apart;
    Places from = places;
    if (fields.takeApart != nullptr) {
        apart.resize(places.count * shape.size);
        from = {.first = apart.data(), .stride = shape.size, .count = places.count};
        forEachPlace(places, 0, places.count, [&](std::size_t i, const std::byte* at) {
            std::copy_n(at, shape.size, from.at(i));
        });
        fields.takeApart(from.first, from.stride, from.count);
    }
    for (const Field& field : fields.list) putAll(*field.shape, from.within(field.offset));
}

void Reader::getOne(const Shape& shape, void* value) {
    getAll(shape, oneAt(value));
}

void Reader::getAll(const Shape& shape, const Places& places) {
    if (!m_good) return;
    if (shape.isNumber()) return getNumbers(shape, places);
    if (isArrivals(shape)) return getArrivals(places);
    switch (shape.kind) {
        case Kind::kText:
            return getTexts(places);
        case Kind::kOptional:
            return getOptionals(shape, places);
        case Kind::kList:
            return getLists(shape, places);
        case Kind::kArray:
            for (std::size_t place = 0; place < shape.places; ++place)
                getAll(*shape.of, places.within(place * shape.of->size));
            return;
        default:
            return getStructs(shape, places);
    }
}

template <class Take>
void Reader::getColumn(std::size_t count, Take take) {
    constexpr std::size_t kBlock = 1024;
    if (!m_good) return;
    // What a dictionary and its indexes take, for as long as the column is read.
    columns::ColumnReader column;
    if (!afford(count, 2 * sizeof(std::int64_t)) || !column.open(m_in, count))
        return require(false);
    std::array<std::int64_t, kBlock> block;
    for (std::size_t done = 0; done < count && m_good;) {
        const auto part = std::span(block).first(std::min(kBlock, count - done));
        column.read(part);
        take(done, part);
        done += part.size();
    }
    refund(count, 2 * sizeof(std::int64_t));
}

namespace {

/// Which numbers one of a shape can be, as a T.
template <class T>
class Allowed {
public:
    explicit Allowed(const Shape& shape) : m_isEnum(shape.isValue != nullptr) {
        if constexpr (std::is_same_v<T, bool>) {
            m_most = 1;
        } else if (m_isEnum) {
            const auto [least, most] = std::ranges::minmax(shape.values);
            m_least = least;
            m_most = most;
            if (most - least + 1 != std::ssize(shape.values)) m_isValue = shape.isValue;
        }
    }
    [[nodiscard]] bool has(std::int64_t number) const {
        if constexpr (!std::is_same_v<T, bool>) {
            if (!m_isEnum) return static_cast<std::int64_t>(static_cast<T>(number)) == number;
            // What a damaged row held is read as the last value of an enumeration's type.
            if (number == static_cast<std::int64_t>(std::numeric_limits<T>::max())) return true;
        }
        return number >= m_least && number <= m_most && (m_isValue == nullptr || m_isValue(number));
    }

private:
    bool m_isEnum;
    std::int64_t m_least = 0, m_most = 0;
    bool (*m_isValue)(std::int64_t) = nullptr;  ///< of one with gaps
};

}  // namespace

void Reader::getNumbers(const Shape& shape, const Places& places) {
    withNumber(shape.kind, [&]<class T>(Of<T>) {
        const Allowed<T> allowed(shape);
        getColumn(places.count, [&](std::size_t done, std::span<const std::int64_t> part) {
            bool good = true;
            forEachPlace(places, done, done + part.size(), [&](std::size_t i, std::byte* at) {
                const std::int64_t number = part[i - done];
                if constexpr (std::is_floating_point_v<T>) {
                    store(at, static_cast<T>(std::bit_cast<double>(number)));
                } else {
                    good = allowed.has(number) && good;
                    store(at, static_cast<T>(number));
                }
            });
            require(good);
        });
    });
}

void Reader::getTexts(const Places& places) {
    std::vector<std::size_t> sizes(places.count);
    getColumn(places.count, [&](std::size_t done, std::span<const std::int64_t> part) {
        for (std::size_t i = 0; i < part.size(); ++i) {
            require(part[i] >= 0);
            sizes[done + i] = static_cast<std::size_t>(part[i]);
        }
    });
    for (std::size_t i = 0; i < places.count && m_good; ++i) {
        const auto bytes = m_in.take(sizes[i]);
        if (!m_in.good() || !afford(bytes.size())) return require(false);
        reinterpret_cast<std::string*>(places.at(i))
            ->assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
}

void Reader::getOptionals(const Shape& shape, const Places& places) {
    std::vector<std::byte*> present;
    getColumn(places.count, [&](std::size_t done, std::span<const std::int64_t> part) {
        for (std::size_t i = 0; i < part.size(); ++i) {
            void* optional = places.at(done + i);
            require(part[i] == 0 || part[i] == 1);
            shape.reset(optional);
            if (part[i] == 1) present.push_back(static_cast<std::byte*>(shape.emplace(optional)));
        }
    });
    getAll(*shape.of, placesOf(present));
}

void Reader::getLists(const Shape& shape, const Places& places) {
    std::vector<std::size_t> sizes(places.count);
    getColumn(places.count, [&](std::size_t done, std::span<const std::int64_t> part) {
        for (std::size_t i = 0; i < part.size() && m_good; ++i) {
            // Each is afforded on its own, so that no sum of them overflows.
            require(part[i] >= 0 && afford(static_cast<std::uint64_t>(part[i]),
                                           shape.of->size + sizeof(std::byte*)));
            if (m_good) sizes[done + i] = static_cast<std::size_t>(part[i]);
        }
    });
    if (!m_good) return;
    for (std::size_t i = 0; i < places.count; ++i) shape.resize(places.at(i), sizes[i]);
    std::vector<std::byte*> all;
    getAll(*shape.of, placesOf(listsAt(shape, places), *shape.of, all));
}

void Reader::getArrivals(const Places& places) {
    std::vector<std::vector<Timestamp>> times(places.count);
    getLists(kShape<std::vector<Timestamp>>, {.first = placeOf(times.data()),
                                              .stride = sizeof(std::vector<Timestamp>),
                                              .count = times.size()});
    for (std::size_t i = 0; i < places.count && m_good; ++i)
        *reinterpret_cast<Arrivals*>(places.at(i)) = Arrivals(times[i]);
}

void Reader::getStructs(const Shape& shape, const Places& places) {
    const Fields& fields = shape.fields();
    for (const Field& field : fields.list) getAll(*field.shape, places.within(field.offset));
    if (!m_good) return;
    forEachRun(places, [&](std::byte* first, std::size_t count) {
        if (fields.putTogether != nullptr) fields.putTogether(first, places.stride, count);
        if (fields.areSound != nullptr) require(fields.areSound(first, places.stride, count));
    });
}

bool Reader::afford(std::uint64_t count, std::size_t each) {
    if (count > m_budget / each) return false;
    m_budget -= static_cast<std::size_t>(count) * each;
    return true;
}

namespace {

void forEachTextAt(const Shape& shape, const Places& places,
                   const std::function<void(StringId)>& use) {
    if (&shape == &kShape<StringId>) {
        forEachPlace(places, 0, places.count, [&](std::size_t, const std::byte* at) {
            use(*reinterpret_cast<const StringId*>(at));
        });
    } else if (shape.kind == Kind::kStruct) {
        for (const Field& field : shape.fields().list)
            forEachTextAt(*field.shape, places.within(field.offset), use);
    } else if (shape.kind == Kind::kList) {
        std::vector<std::byte*> all;
        forEachTextAt(*shape.of, placesOf(listsAt(shape, places), *shape.of, all), use);
    }
}

}  // namespace

void forEachTextOf(const Shape& shape, const void* value,
                   const std::function<void(StringId)>& use) {
    forEachTextAt(shape, oneAt(value), use);
}

}  // namespace shardscope::columns::wire
