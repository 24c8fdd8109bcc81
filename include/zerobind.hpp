/*
 * zerobind for C++: the objects of zerobind.h as types that clean up after themselves.
 *
 * C++17 or later, one header, no library of its own. Works without exceptions and without RTTI. A whole program:
 *
 *     #include <cstdio>
 *     #include <zerobind.hpp>
 *
 *     static zb::Result<void> add(zb::Span<const float> x, zb::Span<const float> y, zb::Span<float> z)
 *     {
 *         auto model = zb::Model::open("add4.onnx");
 *         auto context = model ? zb::Context::create(*model) : model.error();
 *         return context ? context->infer_with({zb::in(zb::input(0), x, 64), // 64 bytes can be read there
 *                                               zb::in(zb::input(1), y, 64), zb::out(zb::output(0), z)})
 *                        : context.error();
 *     }
 *
 *     int main()
 *     {
 *         alignas(64) static float x[16] = {1, 2, 3, 4}, y[16] = {10, 20, 30, 40}, z[16]; // 4 used, 64 bytes each
 *         auto run = add(zb::Span<float>(x, 4), zb::Span<float>(y, 4), zb::Span<float>(z, 4));
 *         if (!run) {
 *             std::fprintf(stderr, "%s\n", run.error().text());
 *             return 1;
 *         }
 *         std::printf("%g %g %g %g\n", double{z[0]}, double{z[1]}, double{z[2]}, double{z[3]});
 *     }
 *
 * The rules are those of zerobind.h; each function here calls the one of C that its comment names, and what is said there
 * of errors, threads and lifetimes holds. What C++ adds:
 *
 * - Ownership. Model, Context, Tensor, Queue and Event own one handle each, and destroy it. They are as large as a pointer,
 *   can be moved and not copied. One that is empty (made without arguments, or moved from) may be destroyed, assigned to and
 *   asked for get(); every other call on it gives ZB_ERROR_NULL_ARGUMENT. Destroying never blocks and may come in any order.
 *   get() lends the C handle, release() gives it away, and the constructor from a handle takes one over: so objects can
 *   pass between C and C++. What C calls an object that is not destroyed yet is here one that lives.
 * - Errors. A call gives a Result: a value, or an Error with the status (ZB_ERROR_ of zerobind.h) and the library's text,
 *   taken at once, so that it does not change. Where exceptions are on, value() throws zb::Exception instead; nothing else
 *   throws by itself. Of `*result` without a value the program ends with the text on stderr.
 * - Memory. Elements are given as spans (anything that has std::data and std::size), whose type is that of the tensor at
 *   compile time: see dtype_of. Sizes of spans are counted in elements; everything that is called `bytes`, `readable` or
 *   `offset` in bytes. std::byte stands for elements of any type.
 * - Callables. A release or completion callable is moved into one block on the heap when it is handed over, called exactly
 *   once, on whatever thread zerobind.h says, and destroyed right after. If the call that it is for fails, it is not moved, and
 *   with what it owns still the caller's. Executors and log callbacks are used where they
 *   are, and stay the caller's. An exception that leaves a callable ends the program (std::terminate): it cannot pass
 *   through the library.
 * - Threads. Any thread may call any function of an object at any time, as in C; but as for every C++ object, it may be
 *   moved, assigned to or destroyed only when no other thread uses it (of a context in a run: cancel, join, destroy).
 * - Cost. A run that succeeds calls the one C function and allocates nothing. What allocates: callables (above), the text of
 *   an error, the option lists, names given as std::string, metadata, futures.
 * - Mixing. One program may hold parts that are compiled for C++17 and later, with exceptions and without.
 */
#ifndef ZEROBIND_HPP
#define ZEROBIND_HPP

#if !(__cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L))
#error "zerobind.hpp needs C++17; zerobind.h is for C++11 and C++14"
#endif

#include "zerobind.h"

#if ZB_VERSION_MAJOR != 0 || ZB_VERSION_MINOR < 1
#error "zerobind.hpp and zerobind.h are not of the same version"
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<version>)
#include <version>
#endif

#if defined(__cpp_lib_span)
#include <span>
#endif
// 1 if events can be awaited by coroutines.
#if defined(__cpp_impl_coroutine) && defined(__cpp_lib_coroutine)
#include <coroutine>
#define ZB_HAS_COROUTINES 1
#else
#define ZB_HAS_COROUTINES 0
#endif
// 1 if Result has value(), which throws.
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#include <stdexcept>
#define ZB_HAS_EXCEPTIONS 1
#else
#define ZB_HAS_EXCEPTIONS 0
#endif

namespace zb {

/* --- errors and results --- */

#if ZB_HAS_EXCEPTIONS
// What Result::value throws: what() is the library's text.
class Exception : public std::runtime_error {
public:
    Exception(zb_status status, const char *text) : std::runtime_error(text), status_(status) {}

    // One of ZB_ERROR_.
    zb_status status() const noexcept { return status_; }

private:
    zb_status status_;
};
#endif

// How a call ended, with the text of the library.
class Error {
public:
    // Success.
    Error() noexcept = default;

    // An error with a copy of the text; without memory for that, the name of the status is the text.
    Error(zb_status status, std::string_view text) noexcept : status_(status), text_(copy_of(text)) {}

    Error(const Error &other) noexcept : status_(other.status_)
    {
        if (other.text_ != nullptr) {
            text_ = copy_of(other.text_.get());
        }
    }
    Error(Error &&other) noexcept : status_(other.status_), text_(std::move(other.text_)) {}
    Error &operator=(Error other) noexcept
    {
        status_ = other.status_;
        text_ = std::move(other.text_);
        return *this;
    }
    ~Error() = default;

    // An error of the call that this thread has just made: zb_last_error.
    static Error last(zb_status status) noexcept
    {
        return fetch(status, [](char *buffer, std::size_t capacity, std::size_t *needed) {
            return zb_last_error(buffer, capacity, needed);
        });
    }

    // ZB_OK or one of ZB_ERROR_.
    zb_status status() const noexcept { return status_; }
    // "ZB_ERROR_BUSY"
    const char *name() const noexcept { return zb_status_name(status_); }
    // What was wanted, what was given, what to do. Lives as long as the error.
    const char *text() const noexcept { return text_ != nullptr && text_[0] != '\0' ? text_.get() : name(); }

private:
    friend class Event;

    // The text that a function of C copies into a buffer.
    template <class Copy>
    static Error fetch(zb_status status, Copy copy) noexcept
    {
        Error error;
        error.status_ = status;
        std::size_t needed = 0;
        if (copy(nullptr, std::size_t{0}, &needed) == ZB_OK && needed > 0) {
            error.text_ = room(needed);
            if (error.text_ != nullptr && copy(error.text_.get(), needed, &needed) != ZB_OK) {
                error.text_.reset();
            }
        }
        return error;
    }

    static std::unique_ptr<char[]> room(std::size_t size) noexcept
    {
        return std::unique_ptr<char[]>(new (std::nothrow) char[size]);
    }

    static std::unique_ptr<char[]> copy_of(std::string_view text) noexcept
    {
        std::unique_ptr<char[]> copy = room(text.size() + 1);
        if (copy != nullptr) {
            text.copy(copy.get(), text.size());
            copy[text.size()] = '\0';
        }
        return copy;
    }

    zb_status status_ = ZB_OK;
    std::unique_ptr<char[]> text_;
};

namespace detail {

// The value of a result that has none was asked for.
[[noreturn]] inline void no_value(const Error &error) noexcept
{
    std::fprintf(stderr, "zerobind: the value of a failed call was used: %s: %s\n", error.name(), error.text());
    std::abort();
}

inline Error no_memory() noexcept { return Error(ZB_ERROR_OUT_OF_MEMORY, "no memory for a callable"); }

} // namespace detail

// A value, or why there is none. A bare status is a number, and so a value: Result<int>(ZB_ERROR_BUSY) has the value 4, and
// Result<int>(zb::Error(ZB_ERROR_BUSY, "...")) has none.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}
    // Success is no reason for there being no value: of an Error() it makes ZB_ERROR_INVALID_ARGUMENT.
    Result(Error error) noexcept
        : error_(error.status() != ZB_OK ? std::move(error)
                                         : Error(ZB_ERROR_INVALID_ARGUMENT, "a zb::Result was made of a zb::Error that is "
                                                                            "success: give it a value, or a status"))
    {
    }

    explicit operator bool() const noexcept { return value_.has_value(); }
    // ZB_OK or one of ZB_ERROR_.
    zb_status status() const noexcept { return error_.status(); }
    // Why there is no value; of status ZB_OK if there is one.
    const Error &error() const & noexcept { return error_; }
    Error error() && noexcept { return std::move(error_); }

    // The value, which must be there: else the program ends.
    T &operator*() & noexcept { return present(); }
    const T &operator*() const & noexcept { return const_cast<Result *>(this)->present(); }
    // by value, so that what is taken out of a temporary may be bound to a reference or stand in a range-for
    T operator*() && noexcept(std::is_nothrow_move_constructible_v<T>) { return std::move(present()); }
    T *operator->() noexcept { return &present(); }
    const T *operator->() const noexcept { return &const_cast<Result *>(this)->present(); }

#if ZB_HAS_EXCEPTIONS
    // The value, or zb::Exception is thrown.
    T &value() & { return checked(); }
    const T &value() const & { return const_cast<Result *>(this)->checked(); }
    T value() && { return std::move(checked()); }
#endif

private:
    T &present() noexcept
    {
        if (!value_.has_value()) {
            detail::no_value(error_);
        }
        return *value_;
    }

#if ZB_HAS_EXCEPTIONS
    T &checked()
    {
        if (!value_.has_value()) {
            throw Exception(error_.status(), error_.text());
        }
        return *value_;
    }
#endif

    std::optional<T> value_;
    Error error_;
};

// Success, or why not.
template <>
class [[nodiscard]] Result<void> {
public:
    Result() noexcept = default;
    Result(Error error) noexcept : error_(std::move(error)) {}

    explicit operator bool() const noexcept { return error_.status() == ZB_OK; }
    zb_status status() const noexcept { return error_.status(); }
    const Error &error() const & noexcept { return error_; }
    Error error() && noexcept { return std::move(error_); }

#if ZB_HAS_EXCEPTIONS
    // Nothing, or zb::Exception is thrown.
    void value() const
    {
        if (error_.status() != ZB_OK) {
            throw Exception(error_.status(), error_.text());
        }
    }
#endif

private:
    Error error_;
};

/* --- elements, spans, shapes --- */

// Element types: those of zerobind.h.
enum class DType : std::int32_t {
    invalid = ZB_DTYPE_INVALID,
    f32 = ZB_DTYPE_F32,
    f64 = ZB_DTYPE_F64,
    f16 = ZB_DTYPE_F16,
    bf16 = ZB_DTYPE_BF16,
    i8 = ZB_DTYPE_I8,
    u8 = ZB_DTYPE_U8,
    i16 = ZB_DTYPE_I16,
    u16 = ZB_DTYPE_U16,
    i32 = ZB_DTYPE_I32,
    u32 = ZB_DTYPE_U32,
    i64 = ZB_DTYPE_I64,
    u64 = ZB_DTYPE_U64,
    boolean = ZB_DTYPE_BOOL,
    i4 = ZB_DTYPE_I4,
    u4 = ZB_DTYPE_U4,
    c64 = ZB_DTYPE_C64,
    string = ZB_DTYPE_STRING,
    f8e4m3fn = ZB_DTYPE_F8E4M3FN,
    f8e5m2 = ZB_DTYPE_F8E5M2,
    c128 = ZB_DTYPE_C128
};

// "f32": zb_dtype_name.
inline const char *name(DType dtype) noexcept { return zb_dtype_name(static_cast<std::int32_t>(dtype)); }
// zb_dtype_bits
inline std::uint32_t bits(DType dtype) noexcept { return zb_dtype_bits(static_cast<std::int32_t>(dtype)); }

namespace detail {

// char, wchar_t and the like are text, not numbers
template <class T>
inline constexpr bool is_number = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char> ||
                                  std::is_same_v<T, short> || std::is_same_v<T, unsigned short> ||
                                  std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, long> ||
                                  std::is_same_v<T, unsigned long> || std::is_same_v<T, long long> ||
                                  std::is_same_v<T, unsigned long long>;

template <class T>
constexpr DType dtype() noexcept
{
    if constexpr (std::is_same_v<T, float>) {
        return DType::f32;
    } else if constexpr (std::is_same_v<T, double>) {
        return DType::f64;
    } else if constexpr (std::is_same_v<T, bool>) {
        return DType::boolean;
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
        return DType::c64;
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
        return DType::c128;
    } else if constexpr (is_number<T> && sizeof(T) == 1) {
        return std::is_signed_v<T> ? DType::i8 : DType::u8;
    } else if constexpr (is_number<T> && sizeof(T) == 2) {
        return std::is_signed_v<T> ? DType::i16 : DType::u16;
    } else if constexpr (is_number<T> && sizeof(T) == 4) {
        return std::is_signed_v<T> ? DType::i32 : DType::u32;
    } else if constexpr (is_number<T> && sizeof(T) == 8) {
        return std::is_signed_v<T> ? DType::i64 : DType::u64;
    } else {
        return DType::invalid;
    }
}

} // namespace detail

// The element type of T, at compile time; DType::invalid if it has none. For types of your own, such as a 16-bit float:
//
//     template <> struct zb::dtype_of<half> { static constexpr zb::DType value = zb::DType::f16; };
template <class T>
struct dtype_of {
    static constexpr DType value = detail::dtype<T>();
};
template <class T>
struct dtype_of<const T> : dtype_of<T> {};

#if defined(__cpp_lib_span)
// A view of elements.
template <class T>
using Span = std::span<T>;
#else
// A view of elements; std::span where there is one. Made from what std::data and std::size are for: arrays, std::array,
// std::vector, other spans.
template <class T>
class Span {
public:
    using element_type = T;
    using value_type = std::remove_cv_t<T>;
    using size_type = std::size_t;
    using iterator = T *;

    constexpr Span() noexcept = default;
    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class Range, class = std::enable_if_t<
                               !std::is_same_v<std::decay_t<Range>, Span> &&
                               std::is_convertible_v<
                                   std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))> (*)[], T (*)[]>>>
    constexpr Span(Range &&range) noexcept : data_(std::data(range)), size_(std::size(range))
    {
    }

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t index) const noexcept { return data_[index]; }
    constexpr Span first(std::size_t count) const noexcept { return Span(data_, count); }
    constexpr Span subspan(std::size_t offset) const noexcept { return Span(data_ + offset, size_ - offset); }
    constexpr Span subspan(std::size_t offset, std::size_t count) const noexcept { return Span(data_ + offset, count); }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};
#endif

namespace detail {

// The type of the elements of a range, const if they may not be written.
template <class Range>
using Element = std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>;

template <class T>
inline constexpr bool is_bytes = std::is_same_v<std::remove_cv_t<T>, std::byte>;

template <class T>
inline constexpr bool is_element = dtype_of<T>::value != DType::invalid || is_bytes<T>;

template <class T>
constexpr void require_element() noexcept
{
    static_assert(is_element<T>, "zerobind has no element type for this type: see zb::dtype_of; for bytes take std::byte");
}

template <class T>
constexpr void require_writable() noexcept
{
    static_assert(!std::is_const_v<T>, "zerobind writes this memory, so its elements may not be const");
}

template <class T>
struct is_span : std::false_type {};
#if defined(__cpp_lib_span)
template <class T, std::size_t Extent>
struct is_span<std::span<T, Extent>> : std::true_type {};
#else
template <class T>
struct is_span<Span<T>> : std::true_type {};
#endif

// A callable that is used where it is has to be an object: a function's address is none that C takes as data.
template <class F>
constexpr void require_object() noexcept
{
    static_assert(!std::is_function_v<F>, "zerobind keeps the address of this callable, and a plain function is no object: "
                                          "give a lambda with a name that calls it");
}

// Memory that is used after the call may not be that of a temporary, such as a vector made for it.
template <class Range>
constexpr void require_lasting() noexcept
{
    static_assert(std::is_lvalue_reference_v<Range> || is_span<std::remove_cv_t<Range>>::value,
                  "the memory of a temporary is gone before zerobind uses it: give it a name, or give a zb::Span");
}

template <class Range>
std::size_t size_in_bytes(const Range &range) noexcept
{
    return std::size(range) * sizeof(*std::data(range));
}

} // namespace detail

// A list of dimensions: zb::Shape{1, 224, 224, 3}; {} is the shape of a scalar. -1 is a dimension that is not known yet.
class Shape {
public:
    constexpr Shape() noexcept = default;
    Shape(std::initializer_list<std::int64_t> dims) noexcept : Shape(dims.begin(), dims.size()) {}
    // More than ZB_MAX_RANK dimensions are ZB_ERROR_UNSUPPORTED where the shape is used.
    Shape(const std::int64_t *dims, std::size_t rank) noexcept : rank_(static_cast<std::uint32_t>(rank))
    {
        for (std::size_t i = 0; i < rank && i < ZB_MAX_RANK; i++) {
            dims_[i] = dims[i];
        }
    }

    std::uint32_t rank() const noexcept { return rank_; }
    const std::int64_t *data() const noexcept { return dims_; }

private:
    std::uint32_t rank_ = 0;
    std::int64_t dims_[ZB_MAX_RANK] = {};
};

// Element type and shape: zb_tensor_desc.
class Desc {
public:
    Desc() noexcept = default;
    Desc(DType dtype, const Shape &shape) noexcept
    {
        c_.dtype = static_cast<std::int32_t>(dtype);
        c_.rank = shape.rank();
        for (std::uint32_t i = 0; i < ZB_MAX_RANK; i++) {
            c_.dims[i] = shape.data()[i];
        }
    }
    explicit Desc(const zb_tensor_desc &desc) noexcept : c_(desc) {}

    DType dtype() const noexcept { return static_cast<DType>(c_.dtype); }
    std::uint32_t rank() const noexcept { return c_.rank; }
    // The dimensions, -1 where one is open.
    std::int64_t operator[](std::size_t index) const noexcept { return c_.dims[index]; }
    const std::int64_t *begin() const noexcept { return c_.dims; }
    const std::int64_t *end() const noexcept { return c_.dims + (c_.rank < ZB_MAX_RANK ? c_.rank : ZB_MAX_RANK); }
    Shape shape() const noexcept { return Shape(c_.dims, c_.rank); }

    // The bytes of a dense tensor: zb_tensor_desc_size.
    Result<std::size_t> size_bytes() const noexcept
    {
        std::size_t size = 0;
        const zb_status status = zb_tensor_desc_size(&c_, &size);
        if (status != ZB_OK) {
            return Error::last(status);
        }
        return size;
    }

    const zb_tensor_desc *get() const noexcept { return &c_; }
    zb_tensor_desc *get() noexcept { return &c_; }

    friend bool operator==(const Desc &a, const Desc &b) noexcept
    {
        bool is_same = a.c_.dtype == b.c_.dtype && a.c_.rank == b.c_.rank;
        for (std::uint32_t i = 0; is_same && i < a.c_.rank && i < ZB_MAX_RANK; i++) {
            is_same = a.c_.dims[i] == b.c_.dims[i];
        }
        return is_same;
    }
    friend bool operator!=(const Desc &a, const Desc &b) noexcept { return !(a == b); }

private:
    zb_tensor_desc c_ = {};
};

// A Desc of which the element type is known at compile time: const zb::DescOf<float> frame({1, 224, 224, 3});
template <class T>
class DescOf : public Desc {
public:
    explicit DescOf(const Shape &shape) noexcept : Desc(dtype_of<T>::value, shape)
    {
        static_assert(dtype_of<T>::value != DType::invalid, "zerobind has no element type for this type: see zb::dtype_of");
    }
};

namespace detail {

// What says the shape of memory of T: bytes may be of any type.
template <class T>
using DescFor = std::conditional_t<is_bytes<T>, Desc, DescOf<std::remove_cv_t<T>>>;

template <class T>
Error wrong_type(const char *what, const Desc &desc) noexcept
{
    char text[256];
    std::snprintf(text, sizeof text, "%s has elements of type %s, and %s was asked for: use the C++ type of %s, or std::byte",
                  what, name(desc.dtype()), name(dtype_of<T>::value), name(desc.dtype()));
    return Error(ZB_ERROR_DTYPE_MISMATCH, text);
}

// Whether memory of this desc can be seen as elements of T.
template <class T>
bool has_type(const Desc &desc) noexcept
{
    require_element<T>();
    return is_bytes<T> || desc.dtype() == dtype_of<T>::value;
}

} // namespace detail

/* --- slots and loans --- */

// An input or output of a model.
struct Slot {
    zb_slot number = 0;

    constexpr bool is_output() const noexcept { return (number & ZB_OUTPUT_BIT) != 0; }
    // Counted from 0, inputs and outputs each for themselves.
    constexpr std::uint32_t index() const noexcept { return number & ~ZB_OUTPUT_BIT; }
    friend constexpr bool operator==(Slot a, Slot b) noexcept { return a.number == b.number; }
    friend constexpr bool operator!=(Slot a, Slot b) noexcept { return a.number != b.number; }
};

// ZB_INPUT and ZB_OUTPUT
constexpr Slot input(std::uint32_t index) noexcept { return Slot{index}; }
constexpr Slot output(std::uint32_t index) noexcept { return Slot{ZB_OUTPUT_BIT | index}; }

// A slot with its side and element type at compile time, from Model::input and Model::output, which compare the type with the
// model's: memory of another type, or from the other side, then does not compile. (A plain Slot takes memory of every type;
// at run time the library compares sizes, and types only where a desc is given.)
template <class T>
struct Input : Slot {};
template <class T>
struct Output : Slot {};

namespace detail {

template <class T, class Range>
constexpr void require_type_of_slot() noexcept
{
    static_assert(std::is_same_v<T, std::remove_cv_t<Element<Range>>>,
                  "the element type of the memory is not that of the slot");
}

} // namespace detail

// Lends memory to an input for one call of Context::infer_with: zb_loan_input. The memory is only read.
//
// `readable` is the readable bytes in all, at least those of `memory`; 0: just those (see zb_requirements.slack). `desc` is the
// shape, if it is not that of the slot at the moment; the loan keeps the pointer.
template <class Range>
zb_loan in(Slot slot, const Range &memory, std::size_t readable = 0,
           const detail::DescFor<detail::Element<const Range>> *desc = nullptr) noexcept
{
    detail::require_element<detail::Element<const Range>>();
    return zb_loan_input(slot.number, std::data(memory), detail::size_in_bytes(memory), readable,
                         desc != nullptr ? desc->get() : nullptr);
}

template <class T, class Range>
zb_loan in(Input<T> slot, const Range &memory, std::size_t readable = 0, const detail::DescFor<T> *desc = nullptr) noexcept
{
    detail::require_type_of_slot<T, const Range>();
    return zb_loan_input(slot.number, std::data(memory), detail::size_in_bytes(memory), readable,
                         desc != nullptr ? desc->get() : nullptr);
}

template <class T, class Range>
zb_loan in(Output<T>, const Range &, std::size_t = 0, const void * = nullptr) = delete; // an output is lent by zb::out

// Lends memory to an output for one call of Context::infer_with: zb_loan_output.
template <class Range>
zb_loan out(Slot slot, Range &&memory, const detail::DescFor<detail::Element<Range>> *desc = nullptr) noexcept
{
    using T = detail::Element<Range>;
    detail::require_element<T>();
    detail::require_writable<T>();
    return zb_loan_output(slot.number, const_cast<std::remove_const_t<T> *>(std::data(memory)),
                          detail::size_in_bytes(memory), desc != nullptr ? desc->get() : nullptr);
}

template <class T, class Range>
zb_loan out(Output<T> slot, Range &&memory, const detail::DescFor<T> *desc = nullptr) noexcept
{
    detail::require_type_of_slot<T, Range>();
    return out(static_cast<Slot>(slot), memory, desc);
}

template <class T, class Range>
zb_loan out(Input<T>, Range &&, const void * = nullptr) = delete; // an input is lent by zb::in

/* --- options --- */

// A string that ends with NUL: a literal or a std::string.
class Text {
public:
    Text(const char *text) noexcept : text_(text) {}
    Text(const std::string &text) noexcept : text_(text.c_str()) {}
    const char *get() const noexcept { return text_; }

private:
    const char *text_;
};

enum class Runtime : std::int32_t {
    automatic = ZB_RUNTIME_AUTO,
    tflite = ZB_RUNTIME_TFLITE,
    onnxruntime = ZB_RUNTIME_ONNXRUNTIME
};

// What to do where a copy would be needed: fail, or copy and say so in the report.
enum class Copy : std::int32_t { never = ZB_COPY_NEVER, allow = ZB_COPY_ALLOW };

enum class LogLevel : std::int32_t {
    error = ZB_LOG_ERROR,
    warn = ZB_LOG_WARN,
    info = ZB_LOG_INFO,
    debug = ZB_LOG_DEBUG
};

// zb_model_options. The strings of options are used during the call only.
struct ModelOptions {
    Runtime runtime = Runtime::automatic;
    // All zero: none is expected.
    std::array<std::uint8_t, 32> sha256 = {};
    // 0: 4 GiB.
    std::uint64_t max_tensor_bytes = 0;
    std::vector<zb_option> options = {};
};

// zb_context_options. The strings of options are used during the call only.
struct ContextOptions {
    // 0 means 1.
    std::int32_t threads = 0;
    Copy copy = Copy::never;
    // Fill last_run_ns of the statistics.
    bool profile = false;
    std::vector<zb_option> options = {};
};

// The shape of an input with open dimensions, for a trial.
struct InputShape {
    std::uint32_t input = 0;
    std::vector<std::int64_t> dims = {};
};

// zb_preflight_options. All strings are used during the call only.
struct PreflightOptions {
    // None: 30 s.
    std::optional<std::chrono::nanoseconds> timeout = {};
    // 0: half of the machine's memory; UINT64_MAX: no limit.
    std::uint64_t max_memory_bytes = 0;
    // The helper executable; none: looked for.
    const char *helper = nullptr;
    // Of the context that the model is meant for.
    ContextOptions context = {};
    std::vector<InputShape> shapes = {};
};

// zb_infer_options
struct InferOptions {
    // When the run has to be over, from the call; none: whenever it is. What is left of a budget may be 0 or less: then nothing
    // runs, and the result is ZB_ERROR_DEADLINE_EXCEEDED.
    std::optional<std::chrono::nanoseconds> deadline = {};
};

// zb_queue_options, without the executor: that is given to Queue::create_on.
struct QueueOptions {
    // 0: 64.
    std::uint32_t capacity = 0;
};

// How long to wait: any duration of std::chrono, or forever. Rounded up to ns; 0 and less only asks.
class Timeout {
public:
    // Forever.
    constexpr Timeout() noexcept = default;
    template <class Rep, class Period>
    constexpr Timeout(std::chrono::duration<Rep, Period> duration) noexcept
    {
        using Given = std::chrono::duration<Rep, Period>;
        using Seconds = std::chrono::duration<double>;
        // written so that a NaN is no time, and that what does not fit is forever (292 years)
        if (!(duration > Given::zero())) {
            ns_ = 0;
        } else if (Seconds(duration).count() < 9.2e9) {
            ns_ = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::nanoseconds>(duration).count());
        }
    }
    constexpr std::uint64_t ns() const noexcept { return ns_; }

private:
    std::uint64_t ns_ = UINT64_MAX;
};

inline constexpr Timeout forever = {};

namespace detail {

inline zb_model_options to_c(const ModelOptions &options) noexcept
{
    zb_model_options c = ZB_MODEL_OPTIONS_INIT;
    c.runtime = static_cast<std::int32_t>(options.runtime);
    for (std::size_t i = 0; i < options.sha256.size(); i++) {
        c.sha256[i] = options.sha256[i];
    }
    c.max_tensor_bytes = options.max_tensor_bytes;
    c.options = options.options.data();
    c.option_count = options.options.size();
    return c;
}

inline zb_context_options to_c(const ContextOptions &options) noexcept
{
    zb_context_options c = ZB_CONTEXT_OPTIONS_INIT;
    c.threads = options.threads;
    c.copy_policy = static_cast<std::int32_t>(options.copy);
    c.flags = options.profile ? std::uint32_t{ZB_CONTEXT_PROFILE} : 0;
    c.options = options.options.data();
    c.option_count = options.options.size();
    return c;
}

// PreflightOptions as C has them, with what these point to.
class CPreflightOptions {
public:
    explicit CPreflightOptions(const PreflightOptions &options) noexcept : context_(to_c(options.context))
    {
        const std::size_t count = options.shapes.size();
        // one that cannot be had is told by the status of the call
        shapes_.reset(count == 0 ? nullptr : new (std::nothrow) zb_slot_shape[count]);
        for (std::size_t i = 0; shapes_ && i < count; i++) {
            const InputShape &shape = options.shapes[i];
            shapes_[i] = {ZB_INPUT(shape.input), static_cast<std::uint32_t>(shape.dims.size()), shape.dims.data()};
        }
        if (options.timeout.has_value()) {
            // 0 is the default in C
            const std::int64_t ns = options.timeout->count();
            c_.timeout_ns = ns > 0 ? static_cast<std::uint64_t>(ns) : 1;
        }
        c_.max_memory_bytes = options.max_memory_bytes;
        c_.helper = options.helper;
        c_.context = &context_;
        c_.shapes = shapes_.get();
        c_.shape_count = count;
    }
    const zb_preflight_options *get() const noexcept { return &c_; }

private:
    zb_preflight_options c_ = ZB_PREFLIGHT_OPTIONS_INIT;
    zb_context_options context_;
    std::unique_ptr<zb_slot_shape[]> shapes_;
};

inline zb_infer_options to_c(const InferOptions &options) noexcept
{
    zb_infer_options c = ZB_INFER_OPTIONS_INIT;
    if (options.deadline.has_value()) {
        // 0 is no deadline in C
        const std::int64_t ns = options.deadline->count();
        c.deadline_ns = ns > 0 ? static_cast<std::uint64_t>(ns) : 1;
    }
    return c;
}

// What a call of C ended with.
inline Result<void> done(zb_status status) noexcept
{
    if (status != ZB_OK) {
        return Error::last(status);
    }
    return {};
}

// The same, with what it gave.
template <class T, class Given>
Result<T> given(zb_status status, Given value) noexcept
{
    if (status != ZB_OK) {
        return Error::last(status);
    }
    return T(value);
}

// The block on the heap that a release callable waits in. It is moved there only when the library has taken the memory: if
// the call fails, the callable is still the caller's, as it was.
template <class F>
class Release {
public:
    using Box = std::optional<F>;

    Release() noexcept : box_(new (std::nothrow) Box()) {}

    explicit operator bool() const noexcept { return box_ != nullptr; }
    void *user_data() const noexcept { return box_.get(); }

    template <class Given>
    void hand_over(Given &&release) noexcept
    {
        static_assert(std::is_nothrow_constructible_v<F, Given &&>,
                      "a release callable must not throw when it is moved; give it by std::move");
        box_.release()->emplace(std::forward<Given>(release));
    }

    static void call(void *user_data, void *data, std::size_t size) noexcept
    {
        const std::unique_ptr<Box> box(static_cast<Box *>(user_data));
        if constexpr (std::is_invocable_v<F &, void *, std::size_t>) {
            (**box)(data, size);
        } else {
            static_assert(std::is_invocable_v<F &>, "a release callable takes (void *data, std::size_t bytes), or nothing");
            (**box)();
        }
    }

private:
    std::unique_ptr<Box> box_;
};

// A release function of C that destroys what owned the memory.
template <class Owner>
void destroy_owner(void *user_data, void *, std::size_t) noexcept
{
    delete static_cast<Owner *>(user_data);
}

// The block on the heap that a completion callable waits in. It is moved there only when the library has taken the block, and by
// then the event may be settled: of the two, the move and the end, the second calls it.
template <class F>
class Completion {
public:
    template <class Given>
    void hand_over(Given &&complete) noexcept
    {
        static_assert(std::is_invocable_v<F &, zb_status>, "a completion callable takes (zb_status result)");
        static_assert(std::is_nothrow_constructible_v<F, Given &&>,
                      "a completion callable must not throw when it is moved; give it by std::move");
        complete_.emplace(std::forward<Given>(complete));
        meet();
    }

    static void settled(void *user_data, zb_event *, zb_status result) noexcept
    {
        Completion *completion = static_cast<Completion *>(user_data);
        completion->result_ = result;
        completion->meet();
    }

private:
    void meet() noexcept
    {
        if (is_met_.exchange(true, std::memory_order_acq_rel)) {
            const std::unique_ptr<Completion> own(this);
            (*complete_)(result_);
        }
    }

    std::atomic<bool> is_met_{false};
    zb_status result_ = ZB_OK;
    std::optional<F> complete_;
};

// A handle that is owned.
template <class C, zb_status (*destroy)(C *)>
class Handle {
public:
    using CType = C;

    Handle() noexcept = default;
    // Takes over a handle of C.
    explicit Handle(C *handle) noexcept : handle_(handle) {}
    Handle(Handle &&other) noexcept : handle_(other.release()) {}
    Handle &operator=(Handle &&other) noexcept
    {
        reset(other.release());
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;

    // Lends the handle; NULL of an empty object.
    C *get() const noexcept { return handle_; }
    // Gives the handle away; the object is empty then.
    C *release() noexcept { return std::exchange(handle_, nullptr); }
    // Destroys what it has, and takes over another.
    void reset(C *handle = nullptr) noexcept
    {
        // a callback in destroy may look at this object, so it changes first
        C *old = std::exchange(handle_, handle);
        if (old != nullptr) {
            destroy(old);
        }
    }
    // Whether there is a handle.
    explicit operator bool() const noexcept { return handle_ != nullptr; }

protected:
    ~Handle() { reset(); }

private:
    C *handle_ = nullptr;
};

} // namespace detail

/* --- models --- */

// Description of a slot: zb_slot_info. Its strings and numbers live as long as the model or context that was asked.
class SlotInfo {
public:
    explicit SlotInfo(const zb_slot_info &info) noexcept : c_(info) {}

    std::string_view name() const noexcept { return c_.name != nullptr ? c_.name : ""; }
    // -1 where a dimension is open.
    Desc desc() const noexcept { return Desc(c_.desc); }
    DType dtype() const noexcept { return static_cast<DType>(c_.desc.dtype); }
    // In bytes; 0 while a dimension is open.
    std::uint64_t size_bytes() const noexcept { return c_.size; }
    // "" where a dimension has no name.
    std::string_view dim_name(std::uint32_t index) const noexcept
    {
        return c_.dim_names != nullptr && index < c_.desc.rank ? c_.dim_names[index] : "";
    }
    bool is_constant() const noexcept { return (c_.flags & ZB_SLOT_CONSTANT) != 0; }
    bool is_pass_through() const noexcept { return (c_.flags & ZB_SLOT_PASS_THROUGH) != 0; }
    bool is_dynamic() const noexcept { return (c_.flags & ZB_SLOT_DYNAMIC) != 0; }
    bool is_duplicate() const noexcept { return (c_.flags & ZB_SLOT_DUPLICATE) != 0; }
    // One of ZB_QUANTIZATION_: real value = scale * (stored value - zero point).
    std::int32_t quantization() const noexcept { return c_.quantization; }
    std::int32_t quantization_axis() const noexcept { return c_.quantization_axis; }
    std::uint32_t quantization_count() const noexcept { return c_.quantization_count; }
    // Below quantization_count.
    float scale(std::uint32_t index) const noexcept { return c_.scales[index]; }
    std::int32_t zero_point(std::uint32_t index) const noexcept { return c_.zero_points[index]; }

    const zb_slot_info &get() const noexcept { return c_; }

private:
    zb_slot_info c_;
};

struct SlotCounts {
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;
};

// A loaded model: immutable, to be used from any thread.
class Model : public detail::Handle<zb_model, zb_model_destroy> {
public:
    using Handle::Handle;

    // zb_model_open: the file must neither shrink nor change until the model and its last context are gone.
    static Result<Model> open(Text path, const ModelOptions &options = {}) noexcept
    {
        const zb_model_options c = detail::to_c(options);
        zb_model *model = nullptr;
        const zb_status status = zb_model_open(path.get(), &c, &model);
        return detail::given<Model>(status, model);
    }

    // zb_model_open_fd: `length` bytes at `offset`, 0: up to the end of the file.
    static Result<Model> open_fd(int fd, std::uint64_t offset = 0, std::uint64_t length = 0,
                                 const ModelOptions &options = {}) noexcept
    {
        const zb_model_options c = detail::to_c(options);
        zb_model *model = nullptr;
        const zb_status status = zb_model_open_fd(fd, offset, length, &c, &model);
        return detail::given<Model>(status, model);
    }

    // zb_model_open_bytes: `bytes`, at a multiple of 16, must stay and not change until the model and its last context are
    // gone.
    template <class Range>
    static Result<Model> open_bytes(Range &&bytes, const ModelOptions &options = {}) noexcept
    {
        detail::require_lasting<Range>();
        const zb_model_options c = detail::to_c(options);
        zb_model *model = nullptr;
        const zb_status status =
            zb_model_open_bytes(std::data(bytes), detail::size_in_bytes(bytes), nullptr, nullptr, &c, &model);
        return detail::given<Model>(status, model);
    }

    // The same, and `release` is called as void(void *data, size_t bytes) or void() when the bytes are used no more. If the
    // call fails, the bytes stay the caller's, and `release` is not called, nor moved from.
    template <class Range, class F,
              class = std::enable_if_t<!std::is_convertible_v<std::decay_t<F>, const ModelOptions &>>>
    static Result<Model> open_bytes(Range &&bytes, F &&release, const ModelOptions &options = {}) noexcept
    {
        using Release = detail::Release<std::decay_t<F>>;
        Release box;
        if (!box) {
            return detail::no_memory();
        }
        detail::require_lasting<Range>();
        const zb_model_options c = detail::to_c(options);
        zb_model *model = nullptr;
        const zb_status status = zb_model_open_bytes(std::data(bytes), detail::size_in_bytes(bytes), Release::call,
                                                     box.user_data(), &c, &model);
        if (status == ZB_OK) {
            box.hand_over(std::forward<F>(release));
        }
        return detail::given<Model>(status, model);
    }

    // zb_model_open_bytes_copy: `bytes` are the caller's again when this returns. Any alignment.
    template <class Range>
    static Result<Model> open_bytes_copy(const Range &bytes, const ModelOptions &options = {}) noexcept
    {
        const zb_model_options c = detail::to_c(options);
        zb_model *model = nullptr;
        const zb_status status = zb_model_open_bytes_copy(std::data(bytes), detail::size_in_bytes(bytes), &c, &model);
        return detail::given<Model>(status, model);
    }

    // zb_model_preflight: loads, plans and runs the model in a process of its own, which a damaged or hostile one may end.
    static Result<void> preflight(Text path, const ModelOptions &options = {},
                                  const PreflightOptions &preflight = {}) noexcept
    {
        const zb_model_options c = detail::to_c(options);
        return detail::done(zb_model_preflight(path.get(), &c, detail::CPreflightOptions(preflight).get()));
    }

    // zb_model_preflight_fd
    static Result<void> preflight_fd(int fd, std::uint64_t offset = 0, std::uint64_t length = 0,
                                     const ModelOptions &options = {}, const PreflightOptions &preflight = {}) noexcept
    {
        const zb_model_options c = detail::to_c(options);
        const detail::CPreflightOptions how(preflight);
        return detail::done(zb_model_preflight_fd(fd, offset, length, &c, how.get()));
    }

    // zb_model_preflight_bytes: `bytes` are the caller's again when this returns. Any alignment.
    template <class Range>
    static Result<void> preflight_bytes(const Range &bytes, const ModelOptions &options = {},
                                        const PreflightOptions &preflight = {}) noexcept
    {
        const zb_model_options c = detail::to_c(options);
        const detail::CPreflightOptions how(preflight);
        return detail::done(zb_model_preflight_bytes(std::data(bytes), detail::size_in_bytes(bytes), &c, how.get()));
    }

    // The engine that runs the model: zb_model_get_runtime.
    Result<Runtime> runtime() const noexcept
    {
        std::int32_t runtime = 0;
        const zb_status status = zb_model_get_runtime(get(), &runtime);
        return detail::given<Runtime>(status, static_cast<Runtime>(runtime));
    }

    // zb_model_get_slot_counts
    Result<SlotCounts> slot_counts() const noexcept
    {
        SlotCounts counts;
        const zb_status status = zb_model_get_slot_counts(get(), &counts.inputs, &counts.outputs);
        return detail::given<SlotCounts>(status, counts);
    }

    // A slot as the model declares it: zb_model_get_slot_info.
    Result<SlotInfo> slot_info(Slot slot) const noexcept
    {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        const zb_status status = zb_model_get_slot_info(get(), slot.number, &info);
        return detail::given<SlotInfo>(status, info);
    }

    // zb_model_find_input, zb_model_find_output
    Result<Slot> find_input(Text name) const noexcept { return find(zb_model_find_input, name); }
    Result<Slot> find_output(Text name) const noexcept { return find(zb_model_find_output, name); }

    // A slot by its name or number whose elements are T: ZB_ERROR_DTYPE_MISMATCH if they are not.
    template <class T>
    Result<Input<T>> input(Text name) const noexcept
    {
        return typed<Input, T>(find_input(name));
    }
    template <class T>
    Result<Input<T>> input(std::uint32_t index) const noexcept
    {
        return typed<Input, T>(zb::input(index));
    }
    template <class T>
    Result<Output<T>> output(Text name) const noexcept
    {
        return typed<Output, T>(find_output(name));
    }
    template <class T>
    Result<Output<T>> output(std::uint32_t index) const noexcept
    {
        return typed<Output, T>(zb::output(index));
    }

    // A text that the model says about itself; "zerobind.keys" lists the keys: zb_model_get_metadata.
    Result<std::string> metadata(Text key) const
    {
        std::size_t needed = 0;
        zb_status status = zb_model_get_metadata(get(), key.get(), nullptr, 0, &needed);
        if (status != ZB_OK) {
            return Error::last(status);
        }
        std::string text(needed, '\0');
        status = zb_model_get_metadata(get(), key.get(), text.data(), text.size(), &needed);
        if (status != ZB_OK) {
            return Error::last(status);
        }
        text.resize(needed - 1); // without the NUL
        return text;
    }

    // Signatures, which TFLite models have: zb_model_get_signature_count, zb_model_get_signature_key (lives as long as the
    // model), zb_model_signature_find_input, zb_model_signature_find_output.
    Result<std::uint32_t> signature_count() const noexcept
    {
        std::uint32_t count = 0;
        const zb_status status = zb_model_get_signature_count(get(), &count);
        return detail::given<std::uint32_t>(status, count);
    }
    Result<std::string_view> signature_key(std::uint32_t index) const noexcept
    {
        const char *key = "";
        const zb_status status = zb_model_get_signature_key(get(), index, &key);
        return detail::given<std::string_view>(status, key);
    }
    Result<Slot> find_signature_input(Text key, Text name) const noexcept
    {
        Slot slot;
        const zb_status status = zb_model_signature_find_input(get(), key.get(), name.get(), &slot.number);
        return detail::given<Slot>(status, slot);
    }
    Result<Slot> find_signature_output(Text key, Text name) const noexcept
    {
        Slot slot;
        const zb_status status = zb_model_signature_find_output(get(), key.get(), name.get(), &slot.number);
        return detail::given<Slot>(status, slot);
    }

private:
    template <class Find>
    Result<Slot> find(Find *find_by, Text name) const noexcept
    {
        Slot slot;
        const zb_status status = find_by(get(), name.get(), &slot.number);
        return detail::given<Slot>(status, slot);
    }

    template <template <class> class Typed, class T>
    Result<Typed<T>> typed(const Result<Slot> &slot) const noexcept
    {
        if (!slot) {
            return slot.error();
        }
        const Result<SlotInfo> info = slot_info(*slot);
        if (!info) {
            return info.error();
        }
        if (!detail::has_type<T>(info->desc())) {
            return detail::wrong_type<T>(info->get().name, info->desc());
        }
        return Typed<T>{*slot};
    }
};

/* --- tensors --- */

class Context;

// Typed, shaped memory: to be used from any thread.
class Tensor : public detail::Handle<zb_tensor, zb_tensor_destroy> {
public:
    using Handle::Handle;

    // A tensor of memory of the caller's, which must stay until the tensor is destroyed and nothing uses it any more:
    // zb_tensor_wrap, and for const elements zb_tensor_wrap_const (for inputs only). `memory` has exactly the elements of
    // `shape`; `readable` bytes can be read there in all (0: just those of `memory`).
    template <class Range>
    static Result<Tensor> wrap(Range &&memory, const Shape &shape, std::size_t readable = 0) noexcept
    {
        detail::require_lasting<Range>();
        return wrap_memory(std::data(memory), detail::size_in_bytes(memory),
                           DescOf<std::remove_const_t<detail::Element<Range>>>(shape), readable, nullptr, nullptr);
    }

    // The same, and `release` is called as void(void *data, size_t bytes) or void(), exactly once, on whatever thread ends the
    // last use. If the call fails, the memory stays the caller's, and `release` is not called, nor moved from: a lambda that
    // owns the memory and was made for the call frees it as it is destroyed.
    //
    // What of a call's arguments is evaluated first is not said in C++, so the address has to be taken in a statement before
    // the one that moves the owner into the callable:
    //
    //     const zb::Span<float> place(owner.get(), 4);
    //     auto tensor = zb::Tensor::wrap(place, {4}, [own = std::move(owner)] {});
    template <class Range, class F, class = std::enable_if_t<!std::is_arithmetic_v<std::decay_t<F>>>>
    static Result<Tensor> wrap(Range &&memory, const Shape &shape, F &&release, std::size_t readable = 0) noexcept
    {
        detail::require_lasting<Range>();
        return wrap_released(std::data(memory), detail::size_in_bytes(memory),
                             DescOf<std::remove_const_t<detail::Element<Range>>>(shape), std::forward<F>(release), readable);
    }

    // Takes over what owns its elements, such as a std::vector, and destroys it after the last use, on whatever thread ends
    // that: wrap_owned(std::move(vector), {4}). It lies in one block on the heap meanwhile. If the call fails, it is the
    // caller's as before.
    template <class Owner>
    static Result<Tensor> wrap_owned(Owner &&owner, const Shape &shape, std::size_t readable = 0) noexcept
    {
        using Own = std::decay_t<Owner>;
        static_assert(std::is_same_v<Owner, Own>,
                      "what owns the memory passes to the tensor: give it by std::move");
        static_assert(!detail::is_span<Own>::value, "a span owns no memory: see zb::Tensor::wrap");
        static_assert(std::is_nothrow_move_constructible_v<Own> && std::is_nothrow_move_assignable_v<Own>,
                      "what owns the memory must not throw when it is moved");
        std::unique_ptr<Own> box(new (std::nothrow) Own(std::move(owner)));
        if (box == nullptr) {
            return detail::no_memory();
        }
        Result<Tensor> tensor = wrap_memory(std::data(*box), std::size(*box) * sizeof(detail::Element<Own>),
                                            DescOf<std::remove_const_t<detail::Element<Own>>>(shape), readable,
                                            detail::destroy_owner<Own>, box.get());
        if (tensor) {
            static_cast<void>(box.release()); // the tensor's
        } else {
            owner = std::move(*box);
        }
        return tensor;
    }

    // The same as wrap for bytes (std::byte) of any element type.
    template <class Range>
    static Result<Tensor> wrap_bytes(Range &&memory, const Desc &desc, std::size_t readable = 0) noexcept
    {
        detail::require_lasting<Range>();
        return wrap_memory(bytes_at(memory), detail::size_in_bytes(memory), desc, readable, nullptr, nullptr);
    }
    template <class Range, class F, class = std::enable_if_t<!std::is_arithmetic_v<std::decay_t<F>>>>
    static Result<Tensor> wrap_bytes(Range &&memory, const Desc &desc, F &&release, std::size_t readable = 0) noexcept
    {
        detail::require_lasting<Range>();
        return wrap_released(bytes_at(memory), detail::size_in_bytes(memory), desc, std::forward<F>(release), readable);
    }

    // Zeroed memory of zerobind's own: zb_tensor_alloc; `alignment` in bytes, 0: 64.
    static Result<Tensor> alloc(const Desc &desc, std::size_t alignment = 0) noexcept
    {
        zb_tensor *tensor = nullptr;
        const zb_status status = zb_tensor_alloc(desc.get(), alignment, &tensor);
        return detail::given<Tensor>(status, tensor);
    }
    template <class T>
    static Result<Tensor> alloc(const Shape &shape, std::size_t alignment = 0) noexcept
    {
        return alloc(DescOf<T>(shape), alignment);
    }

    // The same, as a slot of a context needs it now: zb_tensor_alloc_for.
    static Result<Tensor> alloc_for(Context &context, Slot slot) noexcept;

    // The bytes of a file at `offset`: zb_tensor_map_fd. The descriptor stays the caller's.
    static Result<Tensor> map_fd(const Desc &desc, int fd, std::uint64_t offset = 0, bool read_only = false) noexcept
    {
        zb_tensor *tensor = nullptr;
        const zb_status status =
            zb_tensor_map_fd(desc.get(), fd, offset, read_only ? std::uint32_t{ZB_MAP_READ_ONLY} : 0, &tensor);
        return detail::given<Tensor>(status, tensor);
    }

    // zb_tensor_from_dlpack: with success `source` passes to the tensor.
    static Result<Tensor> from_dlpack(DLManagedTensorVersioned *source) noexcept
    {
        zb_tensor *tensor = nullptr;
        const zb_status status = zb_tensor_from_dlpack(source, &tensor);
        return detail::given<Tensor>(status, tensor);
    }

    // zb_tensor_to_dlpack: what it gives is the caller's, to be ended by its deleter.
    Result<DLManagedTensorVersioned *> to_dlpack() const noexcept
    {
        DLManagedTensorVersioned *managed = nullptr;
        const zb_status status = zb_tensor_to_dlpack(get(), &managed);
        return detail::given<DLManagedTensorVersioned *>(status, managed);
    }

    // The memory as elements of T: zb_tensor_get_data. ZB_ERROR_DTYPE_MISMATCH if it has others, ZB_ERROR_MISALIGNED at an
    // address where a T cannot be. Memory that is only read has to be asked for as const T; that cannot be enforced.
    template <class T>
    Result<Span<T>> span() const noexcept
    {
        const Result<Desc> described = desc();
        if (!described) {
            return described.error();
        }
        if (!detail::has_type<T>(*described)) {
            return detail::wrong_type<T>("the tensor", *described);
        }
        void *data = nullptr;
        std::size_t size = 0;
        const zb_status status = zb_tensor_get_data(get(), &data, &size);
        if (status != ZB_OK) {
            return Error::last(status);
        }
        if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0) {
            return Error(ZB_ERROR_MISALIGNED, "the tensor's memory is at an address where no such element can be: "
                                              "ask for a span of std::byte");
        }
        return Span<T>(static_cast<T *>(data), size / sizeof(T));
    }

    // zb_tensor_get_desc
    Result<Desc> desc() const noexcept
    {
        Desc desc;
        const zb_status status = zb_tensor_get_desc(get(), desc.get());
        return detail::given<Desc>(status, desc);
    }

    // zb_tensor_sync: waits until no operation of a queue is using the memory, before the host reads it.
    Result<void> sync_to_host(Timeout timeout = forever) noexcept { return sync(ZB_SYNC_TO_HOST, timeout); }
    // The same after the host has written all of it by itself.
    Result<void> sync_to_device(Timeout timeout = forever) noexcept { return sync(ZB_SYNC_TO_DEVICE, timeout); }

private:
    template <class Range>
    static auto bytes_at(Range &&memory) noexcept
    {
        static_assert(detail::is_bytes<detail::Element<Range>>,
                      "memory of any element type is given as std::byte; zb::Tensor::wrap takes typed elements");
        return std::data(memory);
    }

    static Result<Tensor> wrap_memory(void *data, std::size_t size, const Desc &desc, std::size_t readable,
                                      zb_release_fn release, void *user_data) noexcept
    {
        zb_tensor *tensor = nullptr;
        const zb_status status = zb_tensor_wrap(desc.get(), data, size, readable, release, user_data, &tensor);
        return detail::given<Tensor>(status, tensor);
    }
    static Result<Tensor> wrap_memory(const void *data, std::size_t size, const Desc &desc, std::size_t readable,
                                      zb_release_fn release, void *user_data) noexcept
    {
        zb_tensor *tensor = nullptr;
        const zb_status status = zb_tensor_wrap_const(desc.get(), data, size, readable, release, user_data, &tensor);
        return detail::given<Tensor>(status, tensor);
    }

    template <class Data, class F>
    static Result<Tensor> wrap_released(Data *data, std::size_t size, const Desc &desc, F &&release,
                                        std::size_t readable) noexcept
    {
        using Release = detail::Release<std::decay_t<F>>;
        Release box;
        if (!box) {
            return detail::no_memory();
        }
        Result<Tensor> tensor = wrap_memory(data, size, desc, readable, Release::call, box.user_data());
        if (tensor) {
            box.hand_over(std::forward<F>(release));
        }
        return tensor;
    }

    Result<void> sync(std::int32_t direction, Timeout timeout) noexcept
    {
        return detail::done(zb_tensor_sync(get(), direction, timeout.ns()));
    }
};

/* --- contexts --- */

// Type, shape and size in bytes (0 while a dimension is open) of a slot.
struct SlotDesc {
    Desc desc;
    std::size_t size_bytes = 0;
};

// One execution state of a model, with its bindings: one run at a time.
class Context : public detail::Handle<zb_context, zb_context_destroy> {
public:
    using Handle::Handle;

    // zb_context_create: the context keeps the model.
    static Result<Context> create(const Model &model, const ContextOptions &options = {}) noexcept
    {
        const zb_context_options c = detail::to_c(options);
        zb_context *context = nullptr;
        const zb_status status = zb_context_create(model.get(), &c, &context);
        return detail::given<Context>(status, context);
    }

    // Binds a tensor until it is unbound, replaced, or the context goes: zb_tensor_bind. The binding holds the tensor.
    Result<void> bind(Slot slot, const Tensor &tensor) noexcept
    {
        return detail::done(zb_tensor_bind(tensor.get(), get(), slot.number));
    }
    // zb_context_unbind
    Result<void> unbind(Slot slot) noexcept { return detail::done(zb_context_unbind(get(), slot.number)); }
    // Exchanges what is bound to two slots: zb_context_swap.
    Result<void> swap(Slot a, Slot b) noexcept { return detail::done(zb_context_swap(get(), a.number, b.number)); }

    // Runs on this thread with what is bound: zb_infer.
    Result<void> infer() noexcept { return detail::done(zb_infer(get(), nullptr)); }
    Result<void> infer(const InferOptions &options) noexcept
    {
        const zb_infer_options c = detail::to_c(options);
        return detail::done(zb_infer(get(), &c));
    }

    // Runs with memory lent for this call: context.infer_with({zb::in(x, frame), zb::out(y, scores)}). zb_infer_with.
    Result<void> infer_with(std::initializer_list<zb_loan> loans) noexcept
    {
        return infer_with(loans.begin(), loans.size());
    }
    Result<void> infer_with(std::initializer_list<zb_loan> loans, const InferOptions &options) noexcept
    {
        return infer_with(loans.begin(), loans.size(), options);
    }
    Result<void> infer_with(const zb_loan *loans, std::size_t count) noexcept
    {
        return detail::done(zb_infer_with(get(), loans, count, nullptr));
    }
    Result<void> infer_with(const zb_loan *loans, std::size_t count, const InferOptions &options) noexcept
    {
        const zb_infer_options c = detail::to_c(options);
        return detail::done(zb_infer_with(get(), loans, count, &c));
    }

    // Asks the run in progress to stop, from any thread: zb_context_cancel.
    Result<void> cancel() noexcept { return detail::done(zb_context_cancel(get())); }

    // zb_context_resize_input
    Result<void> resize_input(Slot slot, const Shape &shape) noexcept
    {
        return detail::done(zb_context_resize_input(get(), slot.number, shape.data(), shape.rank()));
    }
    // Plans now, which else the next run does: zb_context_prepare.
    Result<void> prepare() noexcept { return detail::done(zb_context_prepare(get())); }
    // Makes the engine forget what it keeps from run to run: zb_context_reset_state.
    Result<void> reset_state() noexcept { return detail::done(zb_context_reset_state(get())); }

    // A slot as it is in this context now: zb_context_get_slot_info.
    Result<SlotInfo> slot_info(Slot slot) const noexcept
    {
        zb_slot_info info = ZB_SLOT_INFO_INIT;
        const zb_status status = zb_context_get_slot_info(get(), slot.number, &info);
        return detail::given<SlotInfo>(status, info);
    }
    // After a run, an output has the shape that was computed: zb_context_get_slot_desc.
    Result<SlotDesc> slot_desc(Slot slot) const noexcept
    {
        SlotDesc now;
        const zb_status status = zb_context_get_slot_desc(get(), slot.number, now.desc.get(), &now.size_bytes);
        return detail::given<SlotDesc>(status, now);
    }
    // What memory for a slot has to be like: zb_context_get_requirements. Plans if that is not done.
    Result<zb_requirements> requirements(Slot slot) noexcept
    {
        zb_requirements requirements = ZB_REQUIREMENTS_INIT;
        const zb_status status = zb_context_get_requirements(get(), slot.number, &requirements);
        return detail::given<zb_requirements>(status, requirements);
    }
    // What the last run did with the memory of a slot: zb_context_get_binding_report.
    Result<zb_binding_report> report(Slot slot) const noexcept
    {
        zb_binding_report report = ZB_BINDING_REPORT_INIT;
        const zb_status status = zb_context_get_binding_report(get(), slot.number, &report);
        return detail::given<zb_binding_report>(status, report);
    }
    // zb_context_get_stats
    Result<zb_context_stats> stats() const noexcept
    {
        zb_context_stats stats = ZB_CONTEXT_STATS_INIT;
        const zb_status status = zb_context_get_stats(get(), &stats);
        return detail::given<zb_context_stats>(status, stats);
    }

    // An output of the last run where it lies, as elements of T: zb_context_output_view. ZB_ERROR_DTYPE_MISMATCH if it has
    // others. The view ends with the next run, bind, unbind, swap, resize, reset or destroy. `desc` gets the shape.
    template <class T>
    Result<Span<const T>> output_view(Slot slot, Desc *desc = nullptr) const noexcept
    {
        const void *data = nullptr;
        std::size_t size = 0;
        Desc computed;
        const zb_status status = zb_context_output_view(get(), slot.number, &data, &size, computed.get());
        if (status != ZB_OK) {
            return Error::last(status);
        }
        if (!detail::has_type<T>(computed)) {
            return detail::wrong_type<T>("the output", computed);
        }
        if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0) {
            return Error(ZB_ERROR_MISALIGNED, "the output is at an address where no such element can be: "
                                              "ask for a view of std::byte");
        }
        if (desc != nullptr) {
            *desc = computed;
        }
        return Span<const T>(static_cast<const T *>(data), size / sizeof(T));
    }
    template <class T>
    Result<Span<const T>> output_view(Output<T> slot, Desc *desc = nullptr) const noexcept
    {
        return output_view<T>(static_cast<Slot>(slot), desc);
    }
};

inline Result<Tensor> Tensor::alloc_for(Context &context, Slot slot) noexcept
{
    zb_tensor *tensor = nullptr;
    const zb_status status = zb_tensor_alloc_for(context.get(), slot.number, &tensor);
    return detail::given<Tensor>(status, tensor);
}

/* --- events --- */

// How one operation of a queue ended, or will end: to be used from any thread. Destroying it changes nothing for the
// operation.
class Event : public detail::Handle<zb_event, zb_event_destroy> {
public:
    using Handle::Handle;

    // Whether the operation is over; false too if that cannot be told: zb_event_wait.
    bool is_settled() const noexcept
    {
        zb_status result = ZB_OK;
        return get() != nullptr && zb_event_wait(get(), 0, &result) == ZB_OK;
    }

    // Waits until the operation is over and gives how it ended, with the operation's own text: zb_event_wait,
    // zb_event_get_error. If it is not over by then: ZB_ERROR_TIMEOUT, and it goes on. Inside an operation or a callback of the
    // same queue ZB_ERROR_BUSY, unless it is over already. (No operation ends with one of these two.)
    Result<void> wait(Timeout timeout = forever) const noexcept
    {
        zb_status result = ZB_OK;
        const zb_status status = zb_event_wait(get(), timeout.ns(), &result);
        if (status != ZB_OK) {
            return Error::last(status);
        }
        return ended(get(), result);
    }
    template <class Clock, class Duration>
    Result<void> wait_until(std::chrono::time_point<Clock, Duration> when) const
    {
        for (;;) {
            // again, if the clock is one that can be set
            const auto now = Clock::now();
            const Timeout left = when > now ? Timeout(when - now) : Timeout(std::chrono::nanoseconds::zero());
            Result<void> result = wait(left);
            if (result.status() != ZB_ERROR_TIMEOUT || left.ns() == 0) {
                return result;
            }
        }
    }

    // Has `complete` called as void(zb_status result) once when the operation is over, on the thread that settles it, or inside
    // this call if it is over already: zb_event_on_complete. One for each event. It may own the event itself, and anything else.
    //
    // If the call fails, `complete` is not called, nor moved from.
    template <class F>
    Result<void> on_complete(F &&complete) noexcept
    {
        return complete_with(get(), std::forward<F>(complete));
    }

    // Has the promise set when the operation is over, to how it ended, as a Result<void>; uses the event up. For any type with
    // set_value(zb::Result<void>), called on the thread that settles the event. If the call fails, the promise is destroyed.
    template <class Promise>
    Result<void> fulfil(Promise promise) && noexcept
    {
        zb_event *event = get();
        return complete_with(event, [own = std::move(*this), set = std::move(promise)](zb_status result) mutable {
            set.set_value(ended(own.get(), result));
        });
    }

    // zb_event_get_slot_desc: of an inference that has ended.
    Result<SlotDesc> slot_desc(Slot slot) const noexcept
    {
        SlotDesc left;
        const zb_status status = zb_event_get_slot_desc(get(), slot.number, left.desc.get(), &left.size_bytes);
        return detail::given<SlotDesc>(status, left);
    }

    // A descriptor that becomes readable when the operation is over: zb_event_get_fd. It is the caller's to close.
    Result<int> fd() const noexcept
    {
        int fd = -1;
        const zb_status status = zb_event_get_fd(get(), &fd);
        return detail::given<int>(status, fd);
    }

    // Asks for the operation not to happen, or to stop: zb_event_cancel.
    Result<void> cancel() noexcept { return detail::done(zb_event_cancel(get())); }

#if ZB_HAS_COROUTINES
    class Awaiter;
    class OwningAwaiter;
#endif

private:
    static Result<void> ended(zb_event *event, zb_status result) noexcept
    {
        if (result == ZB_OK) {
            return {};
        }
        return Error::fetch(result, [event](char *buffer, std::size_t capacity, std::size_t *needed) {
            return zb_event_get_error(event, buffer, capacity, needed);
        });
    }

    template <class F>
    static Result<void> complete_with(zb_event *event, F &&complete) noexcept
    {
        std::unique_ptr<detail::Completion<std::decay_t<F>>> box(new (std::nothrow) detail::Completion<std::decay_t<F>>());
        if (box == nullptr) {
            return detail::no_memory();
        }
        const zb_status status = zb_event_on_complete(event, box->settled, box.get());
        if (status != ZB_OK) {
            return Error::last(status);
        }
        box.release()->hand_over(std::forward<F>(complete));
        return {};
    }
};

// A std::future of how the operation ends: std::move(event) becomes a future. Allocates, and throws where std::promise does.
inline Result<std::future<Result<void>>> to_future(Event event)
{
    std::promise<Result<void>> promise;
    std::future<Result<void>> future = promise.get_future();
    const Result<void> set = std::move(event).fulfil(std::move(promise));
    if (!set) {
        return set.error();
    }
    return future;
}

#if ZB_HAS_COROUTINES
// co_await event gives how the operation ended, as Event::wait does, and allocates nothing. The coroutine goes on at once if it
// is over already, else on the thread that settles the event, inside the callback: what is said of callbacks holds there. It
// uses the event's one callback. The coroutine must not be destroyed while it waits: a callback cannot be taken back. The Event
// may be: what is given then has the status, and its name for a text.
class Event::Awaiter {
public:
    explicit Awaiter(zb_event *event) noexcept : event_(event) {}
    Awaiter(const Awaiter &) = delete;
    Awaiter &operator=(const Awaiter &) = delete;

    bool await_ready() noexcept { return event_ != nullptr && zb_event_wait(event_, 0, &result_) == ZB_OK; }

    bool await_suspend(std::coroutine_handle<> waiting) noexcept
    {
        waiting_ = waiting;
        const zb_status status = zb_event_on_complete(event_, settled, this);
        if (status != ZB_OK) {
            refused_ = Error::last(status);
            return false;
        }
        // Of the two, this function and the callback, the second lets the coroutine go on: so the callback may come before
        // this returns, or inside the call above. After the exchange nothing of this object may be touched if the callback is
        // yet to come: the coroutine may have ended.
        return !is_met_.exchange(true, std::memory_order_acq_rel);
    }

    Result<void> await_resume() noexcept
    {
        if (refused_.status() != ZB_OK) {
            return std::move(refused_);
        }
        // not asked for again: the event may have been destroyed meanwhile, and only its text is lost then
        return ended(event_, result_);
    }

private:
    static void settled(void *user_data, zb_event *, zb_status result) noexcept
    {
        Awaiter *awaiter = static_cast<Awaiter *>(user_data);
        awaiter->result_ = result;
        if (awaiter->is_met_.exchange(true, std::memory_order_acq_rel)) {
            awaiter->waiting_.resume();
        }
    }

    zb_event *event_;
    std::coroutine_handle<> waiting_;
    std::atomic<bool> is_met_{false};
    zb_status result_ = ZB_OK;
    Error refused_;
};

// The same for an event that nobody else keeps, or for the error in its place.
class Event::OwningAwaiter {
public:
    explicit OwningAwaiter(Result<Event> event) noexcept
        : event_(std::move(event)), awaiter_(event_ ? event_->get() : nullptr)
    {
    }

    bool await_ready() noexcept { return !event_ || awaiter_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> waiting) noexcept { return awaiter_.await_suspend(waiting); }
    Result<void> await_resume() noexcept
    {
        return event_ ? awaiter_.await_resume() : Result<void>(event_.error());
    }

private:
    Result<Event> event_;
    Awaiter awaiter_;
};

inline Event::Awaiter operator co_await(Event &event) noexcept { return Event::Awaiter(event.get()); }
inline Event::OwningAwaiter operator co_await(Event &&event) noexcept
{
    return Event::OwningAwaiter(Result<Event>(std::move(event)));
}
// co_await queue.infer(context): an operation that was refused is how it ended.
inline Event::OwningAwaiter operator co_await(Result<Event> &&event) noexcept
{
    return Event::OwningAwaiter(std::move(event));
}
#endif

/* --- queues --- */

// One task of a queue, given to an executor: to be called once, now or later, on any thread. Two pointers, to be copied as one
// likes; a second call, or a late one, does nothing.
struct Task {
    zb_task_fn run = nullptr;
    void *task = nullptr;

    void operator()() const { run(task); }
};

// A tensor for a slot of one queued inference.
inline zb_slot_tensor at(Slot slot, const Tensor &tensor) noexcept
{
    return zb_slot_tensor{slot.number, 0, tensor.get()};
}

// An ordered timeline of writes, inferences and reads: to be used from any thread.
//
// infer, infer_with and write give an event; post_infer, post_infer_with and post_write make none, where a later one tells of
// them. Offsets are in bytes. The element types of what is written and read are not compared with the tensor's.
class Queue : public detail::Handle<zb_queue, zb_queue_destroy> {
public:
    using Handle::Handle;

    // A queue with a thread of its own: zb_queue_create.
    static Result<Queue> create(const QueueOptions &options = {}) noexcept { return create(options, nullptr, nullptr); }

    // A queue on an executor: executor(zb::Task) has the task called, and gives whether it takes it (nothing: it does). See
    // zb_submit_fn. It is an object (a plain function is none: wrap it in a lambda with a name), and called where it is: it must
    // outlive the queue and the queue's last operation, and be callable from any thread. It must not throw: catch what it may
    // throw, and give false.
    template <class Executor>
    static Result<Queue> create_on(Executor &executor, const QueueOptions &options = {}) noexcept
    {
        detail::require_object<Executor>();
        static_assert(std::is_invocable_v<Executor &, Task>, "an executor takes (zb::Task task)");
        if constexpr (std::is_object_v<Executor>) {
            void *place = const_cast<void *>(static_cast<const void *>(std::addressof(executor)));
            return create(options, submit<Executor>, place);
        }
    }

    // Puts a run of the context here, with what is bound to it now: zb_queue_infer.
    Result<Event> infer(Context &context) noexcept
    {
        zb_event *event = nullptr;
        const zb_status status = zb_queue_infer(get(), context.get(), nullptr, &event);
        return detail::given<Event>(status, event);
    }
    Result<Event> infer(Context &context, const InferOptions &options) noexcept
    {
        const zb_infer_options c = detail::to_c(options);
        zb_event *event = nullptr;
        const zb_status status = zb_queue_infer(get(), context.get(), &c, &event);
        return detail::given<Event>(status, event);
    }
    Result<void> post_infer(Context &context) noexcept
    {
        return detail::done(zb_queue_infer(get(), context.get(), nullptr, nullptr));
    }
    Result<void> post_infer(Context &context, const InferOptions &options) noexcept
    {
        const zb_infer_options c = detail::to_c(options);
        return detail::done(zb_queue_infer(get(), context.get(), &c, nullptr));
    }

    // The same with other tensors for some slots, for this run: queue.infer_with(context, {zb::at(x, frame)}).
    // zb_queue_infer_with.
    Result<Event> infer_with(Context &context, std::initializer_list<zb_slot_tensor> tensors,
                             const InferOptions &options = {}) noexcept
    {
        return infer_with(context, tensors.begin(), tensors.size(), options);
    }
    Result<Event> infer_with(Context &context, const zb_slot_tensor *tensors, std::size_t count,
                             const InferOptions &options = {}) noexcept
    {
        const zb_infer_options c = detail::to_c(options);
        zb_event *event = nullptr;
        const zb_status status = zb_queue_infer_with(get(), context.get(), tensors, count, &c, &event);
        return detail::given<Event>(status, event);
    }
    Result<void> post_infer_with(Context &context, std::initializer_list<zb_slot_tensor> tensors,
                                 const InferOptions &options = {}) noexcept
    {
        return post_infer_with(context, tensors.begin(), tensors.size(), options);
    }
    Result<void> post_infer_with(Context &context, const zb_slot_tensor *tensors, std::size_t count,
                                 const InferOptions &options = {}) noexcept
    {
        const zb_infer_options c = detail::to_c(options);
        return detail::done(zb_queue_infer_with(get(), context.get(), tensors, count, &c, nullptr));
    }

    // Puts a write of all of `source` to byte `offset` of the tensor here; `source` is copied before this returns:
    // zb_queue_write.
    template <class Range>
    Result<Event> write(const Tensor &tensor, const Range &source, std::size_t offset = 0) noexcept
    {
        detail::require_element<detail::Element<const Range>>();
        zb_event *event = nullptr;
        const zb_status status =
            zb_queue_write(get(), tensor.get(), offset, std::data(source), detail::size_in_bytes(source), &event);
        return detail::given<Event>(status, event);
    }
    template <class Range>
    Result<void> post_write(const Tensor &tensor, const Range &source, std::size_t offset = 0) noexcept
    {
        detail::require_element<detail::Element<const Range>>();
        return detail::done(
            zb_queue_write(get(), tensor.get(), offset, std::data(source), detail::size_in_bytes(source), nullptr));
    }

    // Puts a read into all of `destination` from byte `offset` of the tensor here: zb_queue_read. `destination` is the
    // operation's until the event is settled; destroying the event does not change that.
    template <class Range>
    Result<Event> read(const Tensor &tensor, Range &&destination, std::size_t offset = 0) noexcept
    {
        detail::require_lasting<Range>();
        detail::require_element<detail::Element<Range>>();
        detail::require_writable<detail::Element<Range>>();
        zb_event *event = nullptr;
        const zb_status status =
            zb_queue_read(get(), tensor.get(), offset, std::data(destination), detail::size_in_bytes(destination), &event);
        return detail::given<Event>(status, event);
    }

    // An event that is settled when all before it is: zb_queue_fence.
    Result<Event> fence() noexcept
    {
        zb_event *event = nullptr;
        const zb_status status = zb_queue_fence(get(), &event);
        return detail::given<Event>(status, event);
    }
    // What is put here later starts after the event: zb_queue_wait_event.
    Result<void> wait_event(const Event &event) noexcept
    {
        return detail::done(zb_queue_wait_event(get(), event.get()));
    }
    // Waits until everything that is here now is over: zb_queue_finish.
    Result<void> finish(Timeout timeout = forever) noexcept
    {
        return detail::done(zb_queue_finish(get(), timeout.ns()));
    }

private:
    static Result<Queue> create(const QueueOptions &options, zb_submit_fn submit_task, void *user_data) noexcept
    {
        zb_queue_options c = ZB_QUEUE_OPTIONS_INIT;
        c.capacity = options.capacity;
        c.submit = submit_task;
        c.user_data = user_data;
        zb_queue *queue = nullptr;
        const zb_status status = zb_queue_create(&c, &queue);
        return detail::given<Queue>(status, queue);
    }

    template <class Executor>
    static std::int32_t submit(void *user_data, zb_task_fn run, void *task) noexcept
    {
        Executor &executor = *static_cast<Executor *>(user_data);
        if constexpr (std::is_void_v<std::invoke_result_t<Executor &, Task>>) {
            executor(Task{run, task});
            return 0;
        } else {
            return executor(Task{run, task}) ? 0 : 1;
        }
    }
};

/* --- the library --- */

// Whether the library that runs fits this header: of the same major version, and not older (zb_version, ZB_HEADER_VERSION). It
// is asked for the header that the caller was compiled with; worth a call at the start where the library comes separately.
inline Result<void> check_version(std::uint32_t header = ZB_HEADER_VERSION) noexcept
{
    const std::uint32_t library = zb_version();
    if (library >> 22 == header >> 22 && library >= header) {
        return {};
    }
    char text[160];
    std::snprintf(text, sizeof text,
                  "the library is zerobind %s, and the program was compiled for %" PRIu32 ".%" PRIu32 ".%" PRIu32
                  ": install that version or a later one of the same major number",
                  zb_version_string(), header >> 22, header >> 12 & 0x3ff, header & 0xfff);
    return Error(ZB_ERROR_UNSUPPORTED, text);
}

// Objects of a kind (ZB_KIND_) that exist now: zb_live_objects.
inline std::uint64_t live_objects(std::int32_t kind) noexcept { return zb_live_objects(kind); }

// Loads an engine's library, by the search order or from a file: zb_runtime_load.
inline Result<void> load_runtime(Runtime runtime) noexcept
{
    return detail::done(zb_runtime_load(static_cast<std::int32_t>(runtime), nullptr));
}
inline Result<void> load_runtime(Runtime runtime, Text path) noexcept
{
    return detail::done(zb_runtime_load(static_cast<std::int32_t>(runtime), path.get()));
}

// zb_runtime_get_info; strings may be NULL.
inline Result<zb_runtime_info> runtime_info(Runtime runtime) noexcept
{
    zb_runtime_info info = ZB_RUNTIME_INFO_INIT;
    const zb_status status = zb_runtime_get_info(static_cast<std::int32_t>(runtime), &info);
    return detail::given<zb_runtime_info>(status, info);
}

namespace detail {

template <class F>
void log(void *user_data, std::int32_t level, const char *text) noexcept
{
    (*static_cast<F *>(user_data))(static_cast<LogLevel>(level), std::string_view(text));
}

} // namespace detail

// Has callback(zb::LogLevel, std::string_view) called for lines of `least` and graver ones: zb_set_log_callback. It is an
// object (a plain function is none), and used where it is, so it must stay until it is replaced or cleared, which wait for calls
// of other threads to be over.
template <class F>
Result<void> set_log_callback(F &callback, LogLevel least) noexcept
{
    detail::require_object<F>();
    static_assert(std::is_invocable_v<F &, LogLevel, std::string_view>,
                  "a log callback takes (zb::LogLevel level, std::string_view text)");
    if constexpr (std::is_object_v<F>) {
        void *place = const_cast<void *>(static_cast<const void *>(std::addressof(callback)));
        return detail::done(zb_set_log_callback(detail::log<F>, place, static_cast<std::int32_t>(least)));
    }
}
inline Result<void> clear_log_callback() noexcept
{
    return detail::done(zb_set_log_callback(nullptr, nullptr, ZB_LOG_ERROR));
}

} // namespace zb

#endif /* ZEROBIND_HPP */
