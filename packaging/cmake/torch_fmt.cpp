// The functions of the fmt that LibTorch's headers bring along. Its wheel has no library of it;
// used as headers only, it is compiled again in every source, which takes two to three seconds.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE

template FMT_API locale_ref::locale_ref(const std::locale& locale);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;

namespace detail {

template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);

}  // namespace detail

FMT_END_NAMESPACE
