"""Words of C and C++ declarations that are not names, by their role."""

from __future__ import annotations

TYPES = frozenset(
    b"void int char short long float double bool unsigned signed auto wchar_t char8_t char16_t char32_t _Bool _Complex".split()
)
SPECIFIERS = frozenset(
    b"static inline extern virtual explicit friend constexpr consteval constinit const volatile mutable typedef register"
    b" thread_local _Noreturn _Thread_local __inline __inline__ __forceinline restrict typename export __extension__".split()
)
ATTRIBUTES = frozenset(b"__attribute__ __attribute __declspec alignas _Alignas __asm__ __asm asm".split())
TYPE_OPERATORS = frozenset(b"decltype typeof __typeof__".split())
AGGREGATES = frozenset((b"class", b"struct", b"union", b"enum"))
LABELS = frozenset(b"public private protected signals slots Q_SIGNALS Q_SLOTS".split())
AFTER_PARAMETERS = frozenset(b"const volatile noexcept override final try requires throw mutable".split())
AFTER_CLASS_NAME = frozenset(b"final sealed abstract".split())
