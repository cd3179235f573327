//! The types of C, as far as tuples need them.

use std::rc::Rc;

/// A scalar type that a field may have. `int` has 32 bits and `long` 64, as on every 64-bit Unix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scalar {
    Bool,
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    /// An enumeration: which integer type it is the compiler decides; here one of 32 bits.
    Enumeration,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
}

impl Scalar {
    /// All that C has words for.
    const ALL: [Scalar; 14] = [
        Scalar::Bool,
        Scalar::Char,
        Scalar::SignedChar,
        Scalar::UnsignedChar,
        Scalar::Short,
        Scalar::UnsignedShort,
        Scalar::Int,
        Scalar::UnsignedInt,
        Scalar::Long,
        Scalar::UnsignedLong,
        Scalar::LongLong,
        Scalar::UnsignedLongLong,
        Scalar::Float,
        Scalar::Double,
    ];

    /// As C writes it, as the run-time names it, and as the space knows it.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Scalar::Bool => ("_Bool", "CLINDA_BOOL", "bool"),
            Scalar::Char => ("char", "CLINDA_CHAR", "int8"),
            Scalar::SignedChar => ("signed char", "CLINDA_CHAR", "int8"),
            Scalar::UnsignedChar => ("unsigned char", "CLINDA_UNSIGNED_CHAR", "uint8"),
            Scalar::Short => ("short", "CLINDA_SHORT", "int16"),
            Scalar::UnsignedShort => ("unsigned short", "CLINDA_UNSIGNED_SHORT", "uint16"),
            Scalar::Enumeration => ("int", "CLINDA_INT", "int32"),
            Scalar::Int => ("int", "CLINDA_INT", "int32"),
            Scalar::UnsignedInt => ("unsigned int", "CLINDA_UNSIGNED_INT", "uint32"),
            Scalar::Long => ("long", "CLINDA_LONG", "int64"),
            Scalar::UnsignedLong => ("unsigned long", "CLINDA_UNSIGNED_LONG", "uint64"),
            Scalar::LongLong => ("long long", "CLINDA_LONG", "int64"),
            Scalar::UnsignedLongLong => ("unsigned long long", "CLINDA_UNSIGNED_LONG", "uint64"),
            Scalar::Float => ("float", "CLINDA_FLOAT", "float32"),
            Scalar::Double => ("double", "CLINDA_DOUBLE", "float64"),
        }
    }

    /// The one that C writes so; an enumeration is an `int`.
    pub(crate) fn named(name: &str) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|scalar| scalar.c_name() == name)
    }

    pub(crate) fn c_name(self) -> &'static str {
        self.names().0
    }

    /// What a pointer to it is declared to point to.
    pub(crate) fn pointed_to(self) -> &'static str {
        if self == Scalar::Enumeration { "void" } else { self.c_name() }
    }

    pub(crate) fn code(self) -> &'static str {
        self.names().1
    }

    pub(crate) fn wire(self) -> &'static str {
        self.names().2
    }

    /// As others see it: an enumeration is an `int`.
    pub(crate) fn noted(self) -> Scalar {
        if self == Scalar::Enumeration { Scalar::Int } else { self }
    }

    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Scalar::Float | Scalar::Double)
    }

    /// After the integer promotions (C17, 6.3.1.1).
    pub(crate) fn promoted(self) -> Scalar {
        if self < Scalar::Int { Scalar::Int } else { self }
    }

    /// What two have in common (C17, 6.3.1.8).
    pub(crate) fn common(self, other: Scalar) -> Scalar {
        // The order of the types is that of their ranks, an unsigned one behind its signed one. Only `unsigned int` with `long` and the
        // like would be another matter, and there the signed type has more bits.
        let (low, high) = (self.promoted().min(other.promoted()), self.promoted().max(other.promoted()));
        match (low, high) {
            (Scalar::UnsignedLong, Scalar::LongLong) => Scalar::UnsignedLongLong,
            (_, high) => high,
        }
    }
}

/// A type of C.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Type {
    Void,
    Scalar(Scalar),
    Pointer(Rc<Type>),
    /// Its length, if that is a constant.
    Array(Rc<Type>, Option<u64>),
    /// A struct or union: which.
    Record(usize),
    Function(Rc<Signature>),
    Const(Rc<Type>),
    /// One that no field has: its name.
    Other(String),
}

/// What a function takes and returns.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Signature {
    pub(crate) result: Type,
    /// None where it was declared without.
    pub(crate) parameters: Option<Vec<Type>>,
}

impl Type {
    pub(crate) fn int() -> Type {
        Type::Scalar(Scalar::Int)
    }

    /// The type without `const`.
    pub(crate) fn unqualified(&self) -> &Type {
        match self {
            Type::Const(inner) => inner.unqualified(),
            other => other,
        }
    }

    /// Whether nothing may be stored there.
    pub(crate) fn is_const(&self) -> bool {
        match self {
            Type::Const(_) => true,
            Type::Array(element, _) => element.is_const(),
            _ => false,
        }
    }

    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match self.unqualified() {
            Type::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// What an array or a pointer leads to.
    pub(crate) fn target(&self) -> Option<&Type> {
        match self.unqualified() {
            Type::Array(element, _) | Type::Pointer(element) => Some(element),
            _ => None,
        }
    }

    /// As a parameter and in expressions: arrays and functions are pointers.
    pub(crate) fn decayed(&self) -> Type {
        match self.unqualified() {
            Type::Array(element, _) => Type::Pointer(element.clone()),
            Type::Function(_) => Type::Pointer(Rc::new(self.clone())),
            other => other.clone(),
        }
    }
}

/// Whether a type begins with this word, also where nothing was declared.
pub(crate) fn is_type_word(word: &str) -> bool {
    const WORDS: [&str; 15] = [
        "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "struct", "union",
        "enum", "const", "volatile", "void",
    ];
    WORDS.contains(&word)
}

/// The type that words such as `unsigned long int` name together, in any order.
pub(crate) fn of_words<'a>(words: impl Iterator<Item = &'a str>) -> Option<Type> {
    let (mut longs, mut is_unsigned, mut is_signed, mut base) = (0, false, false, None);
    for word in words {
        match word {
            "long" => longs += 1,
            "unsigned" => is_unsigned = true,
            "signed" | "__signed__" => is_signed = true,
            "const" | "volatile" => {}
            other if base.is_none_or(|base| base == "int" || other == "int") => {
                base = if base.is_some() && other == "int" { base } else { Some(other) };
            }
            _ => return None,
        }
    }
    let either = |signed, unsigned| Some(Type::Scalar(if is_unsigned { unsigned } else { signed }));
    match (base, longs) {
        (Some("void"), 0) => Some(Type::Void),
        (Some("float"), 0) => Some(Type::Scalar(Scalar::Float)),
        (Some("double"), 0) => Some(Type::Scalar(Scalar::Double)),
        (Some("double"), 1) => Some(Type::Other("long double".to_owned())),
        (Some("_Bool" | "bool"), 0) => Some(Type::Scalar(Scalar::Bool)),
        (Some("char"), 0) if is_signed => Some(Type::Scalar(Scalar::SignedChar)),
        (Some("char"), 0) => either(Scalar::Char, Scalar::UnsignedChar),
        (Some("short"), 0) => either(Scalar::Short, Scalar::UnsignedShort),
        (None | Some("int"), 0) if base.is_some() || is_signed || is_unsigned => {
            either(Scalar::Int, Scalar::UnsignedInt)
        }
        (None | Some("int"), 1) => either(Scalar::Long, Scalar::UnsignedLong),
        (None | Some("int"), 2) => either(Scalar::LongLong, Scalar::UnsignedLongLong),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &str) -> Option<Scalar> {
        of_words(words.split(' '))?.scalar()
    }

    #[test]
    fn words_of_a_type_come_in_any_order() {
        assert_eq!(named("unsigned"), Some(Scalar::UnsignedInt));
        assert_eq!(named("long unsigned int"), Some(Scalar::UnsignedLong));
        assert_eq!(named("long long"), Some(Scalar::LongLong));
        assert_eq!(named("int short"), Some(Scalar::Short));
        assert_eq!(named("short int"), Some(Scalar::Short));
        assert_eq!(named("signed char"), Some(Scalar::SignedChar));
        assert_eq!(named("const int"), Some(Scalar::Int));
        assert_eq!(named("long double"), None);
        assert_eq!(named("foo"), None);
    }

    #[test]
    fn mixed_arithmetic_has_the_type_that_c_says() {
        assert_eq!(Scalar::Char.common(Scalar::Short), Scalar::Int);
        assert_eq!(Scalar::Int.common(Scalar::UnsignedInt), Scalar::UnsignedInt);
        assert_eq!(Scalar::UnsignedInt.common(Scalar::Long), Scalar::Long);
        assert_eq!(Scalar::UnsignedLong.common(Scalar::LongLong), Scalar::UnsignedLongLong);
        assert_eq!(Scalar::Float.common(Scalar::Long), Scalar::Float);
        assert_eq!(Scalar::Float.common(Scalar::Double), Scalar::Double);
    }
}
