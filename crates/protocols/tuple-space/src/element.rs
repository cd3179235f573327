//! The scalar types, which are also what an array is made of.

use core::fmt;

macro_rules! elements {
    ($($(#[doc = $doc:literal])+ $name:ident($native:ty) = $number:literal, $text:literal;)*) => {
        /// A scalar type: of a field, or of an array's elements. The number is its tag on the wire.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum ElementType {
            $($(#[doc = $doc])+ $name = $number,)*
        }

        impl ElementType {
            /// Every element type, in the order of its tag.
            pub const ALL: &[ElementType] = &[$(ElementType::$name),*];

            /// The type with this tag, if there is one.
            #[must_use]
            pub const fn from_tag(tag: u8) -> Option<ElementType> {
                match tag {
                    $($number => Some(ElementType::$name),)*
                    _ => None,
                }
            }

            /// Bytes of one element.
            #[must_use]
            pub const fn width(self) -> usize {
                match self { $(ElementType::$name => size_of::<$native>(),)* }
            }

            /// Its name: `i64`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(ElementType::$name => $text,)* }
            }
        }
    };
}

elements! {
    /// `false` or `true`, one byte.
    Bool(bool) = 1, "bool";
    /// A signed integer of 8 bits.
    I8(i8) = 2, "i8";
    /// A signed integer of 16 bits.
    I16(i16) = 3, "i16";
    /// A signed integer of 32 bits.
    I32(i32) = 4, "i32";
    /// A signed integer of 64 bits.
    I64(i64) = 5, "i64";
    /// An unsigned integer of 8 bits.
    U8(u8) = 6, "u8";
    /// An unsigned integer of 16 bits.
    U16(u16) = 7, "u16";
    /// An unsigned integer of 32 bits.
    U32(u32) = 8, "u32";
    /// An unsigned integer of 64 bits.
    U64(u64) = 9, "u64";
    /// A floating-point number of 32 bits (IEEE 754).
    F32(f32) = 10, "f32";
    /// A floating-point number of 64 bits (IEEE 754).
    F64(f64) = 11, "f64";
}

impl ElementType {
    /// The tag on the wire.
    #[must_use]
    pub const fn tag(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A native type that an array can hold.
pub trait Element: Copy + sealed::Sealed {
    /// Its type in a tuple.
    const TYPE: ElementType;

    /// Appends it, little-endian.
    fn write(self, bytes: &mut Vec<u8>);

    /// Reads one from exactly [`ElementType::width`] bytes.
    ///
    /// # Panics
    /// If there are more or fewer.
    fn read(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! native {
    ($($native:ty => $name:ident),*) => {$(
        impl sealed::Sealed for $native {}

        impl Element for $native {
            const TYPE: ElementType = ElementType::$name;

            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                <$native>::from_le_bytes(bytes.try_into().expect("the caller gives one element's bytes"))
            }
        }
    )*};
}

native!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

impl sealed::Sealed for bool {}

impl Element for bool {
    const TYPE: ElementType = ElementType::Bool;

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self));
    }

    fn read(bytes: &[u8]) -> Self {
        assert_eq!(bytes.len(), 1, "the caller gives one element's bytes");
        bytes[0] != 0
    }
}
