//! quintet_tuple - tuples and templates, made field by field
//!
//! A *tuple* is a list of 1 to 61 typed values. A *template* says which tuples match: it has values, which must be equal, formals,
//! which stand for any value of their type, and ranges, which stand for the values between two bounds or with a prefix. Both are a
//! `quintet_tuple`: made empty, filled field by field, and a template if there is a formal or a range among them. What the space gives is one too, and can be put again, or added to.
//!
//! Types must agree exactly: an `int32_t` is no `int64_t`, and a float equals itself only with the same bits.
//!
//! Every `quintet_tuple_add_...` returns a status. A program need not look at it: the tuple keeps the first error, and the call that uses
//! the tuple returns it.
//!
//! One thread at a time may change a tuple; any may read one that nobody changes. What a getter lends (texts, bytes, arrays) is good
//! until something is added to the tuple or removed, or it is freed, whatever happens to the lab.
//!
//! ```c
//! quintet_tuple *row, *any_row;
//! quintet_tuple_new(&row);
//! quintet_tuple_add_string(row, "row", QUINTET_NUL_TERMINATED);
//! quintet_tuple_add_int64(row, 3);
//! quintet_tuple_new(&any_row);
//! quintet_tuple_add_string(any_row, "row", QUINTET_NUL_TERMINATED);
//! quintet_tuple_add_formal(any_row, QUINTET_TYPE_INT64);
//! ```
//!
//! A range takes its bounds from a tuple, so that they may be of any type that has an order. Here `10 <= field < 20`:
//!
//! ```c
//! quintet_tuple *bounds, *some_rows;
//! quintet_tuple_new(&bounds);
//! quintet_tuple_add_int64(bounds, 10);
//! quintet_tuple_add_int64(bounds, 20);
//! quintet_tuple_new(&some_rows);
//! quintet_tuple_add_string_prefix(some_rows, "ro", QUINTET_NUL_TERMINATED);
//! quintet_tuple_add_range(some_rows, bounds, QUINTET_BOUND_INCLUDED, QUINTET_BOUND_EXCLUDED);
//! ```

pub mod add;
pub mod array;
mod fields;
pub mod formal;
pub mod get;
pub mod range;

use crate::boundary::{Handle, Tagged, check_mark, free, give, guarded, handle, misuse, null, place, value};
use crate::error::quintet_status;
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use fields::Fields;
use quintet::{ElementType, Error, Field, Template, Tuple, Type, Value};
use std::ffi::CString;
use std::sync::OnceLock;

/// The type of a field, or of an array's elements.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "their names say it")]
pub enum quintet_type {
    QUINTET_TYPE_BOOL = 1,
    QUINTET_TYPE_INT8 = 2,
    QUINTET_TYPE_INT16 = 3,
    QUINTET_TYPE_INT32 = 4,
    QUINTET_TYPE_INT64 = 5,
    QUINTET_TYPE_UINT8 = 6,
    QUINTET_TYPE_UINT16 = 7,
    QUINTET_TYPE_UINT32 = 8,
    QUINTET_TYPE_UINT64 = 9,
    QUINTET_TYPE_FLOAT = 10,
    QUINTET_TYPE_DOUBLE = 11,
    /// Text in UTF-8.
    QUINTET_TYPE_STRING = 13,
    QUINTET_TYPE_BYTES = 14,
    QUINTET_TYPE_ARRAY = 32,
}

/// A tuple or a template.
pub struct quintet_tuple(Tagged<Contents>);
handle!(quintet_tuple, Contents, b"tupl", "tuple");

/// What is behind it.
#[derive(Default)]
pub struct Contents {
    fields: Fields,
    /// The first that an addition met.
    error: Option<Error>,
    tuple: OnceLock<Tuple>,
    /// With its encoding, once it was sent: a template is used again and again.
    template: OnceLock<Template>,
    shown: OnceLock<CString>,
    /// One for each field, once C wants the bytes of any otherwise than they lie: with a NUL behind them, or aligned.
    copies: OnceLock<Box<[Copy]>>,
}

/// A copy of a field's bytes, if C wanted one.
type Copy = OnceLock<Box<[u64]>>;

/// For the length of a text: it ends with NUL.
pub const QUINTET_NUL_TERMINATED: usize = usize::MAX;
/// For a dimension of a formal array: any length.
pub const QUINTET_ANY_LENGTH: u64 = u64::MAX;
/// Fields that a tuple may have.
pub const QUINTET_MAX_FIELDS: usize = 61;
/// Fields that a template may have: a dead letter has three more than its tuple.
pub const QUINTET_MAX_TEMPLATE_FIELDS: usize = 64;
/// Dimensions that an array may have.
pub const QUINTET_MAX_DIMENSIONS: usize = 32;

const _: () = assert!(QUINTET_MAX_FIELDS == quintet::MAX_TUPLE_FIELDS);
const _: () = assert!(QUINTET_MAX_TEMPLATE_FIELDS == quintet_contract::limits::MAX_FIELDS);
const _: () = assert!(QUINTET_MAX_DIMENSIONS == quintet_contract::limits::MAX_DIMENSIONS);

impl Contents {
    /// What the space gave.
    fn received(values: Vec<Value>) -> Contents {
        Contents { fields: Fields::of(values), ..Contents::default() }
    }

    fn push(&mut self, field: Field) {
        self.fields.push(field);
        self.forget();
    }

    /// Keeps the first fields, so many of them. What an addition behind them met is over.
    fn truncate(&mut self, count: usize) {
        let found = self.fields.len();
        if count <= found {
            self.error = None;
        }
        if count < found {
            self.fields.truncate(count);
            self.forget();
        }
    }

    /// The fields are others: what was made of them before is no longer theirs.
    fn forget(&mut self) {
        self.tuple.take();
        self.template.take();
        self.shown.take();
        self.copies.take();
    }

    /// # Errors
    /// That of an addition.
    fn check(&self) -> Result<(), Error> {
        match &self.error {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// The tuple to put.
    ///
    /// # Errors
    /// That of an addition; `BadValue` for a formal, and for no fields or too many.
    fn to_tuple(&self) -> Result<&Tuple, Error> {
        self.check()?;
        match (&self.fields, self.tuple.get()) {
            (Fields::Tuple(tuple), _) | (_, Some(tuple)) => Ok(tuple),
            (Fields::List(fields), None) => {
                let tuple = Tuple::new(values(fields)?)?;
                Ok(self.tuple.get_or_init(|| tuple))
            }
        }
    }

    /// The template to match with.
    ///
    /// # Errors
    /// That of an addition; `BadValue` for no fields or too many.
    fn to_template(&self) -> Result<&Template, Error> {
        self.check()?;
        if let Some(template) = self.template.get() {
            return Ok(template);
        }
        let template = Template::new(self.fields.to_list())?;
        Ok(self.template.get_or_init(|| template))
    }

    fn missing(&self, index: usize) -> Error {
        let count = self.fields.len();
        misuse(format!("there is no field {index}: the tuple has {count} fields"))
    }

    /// # Errors
    /// `BadValue` for a field that is not there.
    fn field(&self, index: usize) -> Result<Field, Error> {
        self.fields.get(index).ok_or_else(|| self.missing(index))
    }

    /// # Errors
    /// `BadValue` for a field that is not there, for a formal and for a range.
    fn value(&self, index: usize) -> Result<&Value, Error> {
        let found = match &self.fields {
            Fields::Tuple(tuple) => return tuple.values().get(index).ok_or_else(|| self.missing(index)),
            Fields::List(fields) => fields.get(index).ok_or_else(|| self.missing(index))?,
        };
        match found {
            Field::Actual(value) => Ok(value),
            Field::Formal(wanted) => {
                Err(misuse(format!("field {index} is a formal, ?{wanted}, and has no value")))
            }
            Field::Range(range) => {
                Err(misuse(format!("field {index} is a range, {range}, and has no value")))
            }
        }
    }

    /// A copy of the bytes of a field that is there, made once: aligned for every scalar type, and with a NUL behind it.
    fn copied(&self, index: usize, bytes: &[u8]) -> *const u8 {
        let copies = self.copies.get_or_init(|| (0..self.fields.len()).map(|_| Copy::new()).collect());
        let copy = copies[index].get_or_init(|| {
            let (words, rest) = bytes.as_chunks::<8>();
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            words.iter().chain([&last]).map(|word| u64::from_ne_bytes(*word)).collect()
        });
        copy.as_ptr().cast()
    }
}

/// The values of fields that are to be put.
///
/// # Errors
/// `BadValue` for a formal or a range among them.
fn values(fields: &[Field]) -> Result<Vec<Value>, Error> {
    let value = |(index, field): (usize, &Field)| match field {
        Field::Actual(value) => Ok(value.clone()),
        Field::Formal(_) => Err(misuse(format!(
            "field {index} is a formal: only templates have formals, and they are not put"
        ))),
        Field::Range(_) => {
            Err(misuse(format!("field {index} is a range: only templates have ranges, and they are not put")))
        }
    };
    fields.iter().enumerate().map(value).collect()
}

/// A tuple that the space gave, for C.
pub(crate) fn received(tuple: Tuple) -> *mut quintet_tuple {
    received_values(tuple.into_values())
}

/// A tuple of these values, which the space gave: a dead letter has more than a program may put.
pub(crate) fn received_values(values: Vec<Value>) -> *mut quintet_tuple {
    give(Contents::received(values))
}

/// A template of these fields, which the space gave.
pub(crate) fn received_fields(fields: Vec<Field>) -> *mut quintet_tuple {
    give(Contents { fields: Fields::List(fields), ..Contents::default() })
}

/// A tuple of these values, within another handle; of arguments there may be none.
pub(crate) fn received_within(values: Vec<Value>) -> quintet_tuple {
    crate::boundary::tagged(Contents::received(values))
}

/// The tuple to put behind a handle.
///
/// # Errors
/// As [`value`] and [`Contents::to_tuple`].
pub(crate) fn to_put(tuple: Option<&quintet_tuple>) -> Result<&Tuple, Error> {
    value(tuple)?.to_tuple()
}

/// The tuples to put behind an array of handles.
///
/// # Errors
/// The same, with the number of the tuple.
pub(crate) fn all_to_put(tuples: &[Option<&quintet_tuple>]) -> Result<Vec<Tuple>, Error> {
    let numbered = |(number, tuple): (usize, &Option<&quintet_tuple>)| {
        let named =
            |error: Error| Error::new(error.cause().clone(), format!("tuple {number}: {}", error.text()));
        to_put(*tuple).cloned().map_err(named)
    };
    tuples.iter().enumerate().map(numbered).collect()
}

/// The templates behind these handles.
///
/// # Errors
/// As [`to_match`], saying which it is.
pub(crate) fn all_to_match(templates: &[Option<&quintet_tuple>]) -> Result<Vec<Template>, Error> {
    let numbered = |(number, template): (usize, &Option<&quintet_tuple>)| {
        let named =
            |error: Error| Error::new(error.cause().clone(), format!("template {number}: {}", error.text()));
        to_match(*template).cloned().map_err(named)
    };
    templates.iter().enumerate().map(numbered).collect()
}

/// The fields behind a handle, of which there may be none: values, formals and ranges. NULL has none.
///
/// # Errors
/// As [`value`]; that of an addition.
pub(crate) fn fields_of(tuple: Option<&quintet_tuple>) -> Result<Vec<Field>, Error> {
    let Some(tuple) = tuple else { return Ok(Vec::new()) };
    let contents = value(Some(tuple))?;
    contents.check()?;
    Ok(contents.fields.to_list())
}

/// The same of values alone.
///
/// # Errors
/// As [`fields_of`]; `BadValue` for a formal or a range.
pub(crate) fn values_of(tuple: Option<&quintet_tuple>) -> Result<Vec<Value>, Error> {
    values(&fields_of(tuple)?)
}

/// The template behind a handle.
///
/// # Errors
/// As [`value`] and [`Contents::to_template`].
pub(crate) fn to_match(template: Option<&quintet_tuple>) -> Result<&Template, Error> {
    match template {
        Some(template) => value(Some(template))?.to_template(),
        None => Err(null("wanted")),
    }
}

/// Adds a field that `make` makes. An error is kept, and given by whatever uses the tuple.
fn add(tuple: Option<&mut quintet_tuple>, make: impl FnOnce() -> Result<Field, Error>) -> quintet_status {
    guarded(|| {
        let tuple = tuple.ok_or_else(|| null(quintet_tuple::NAME))?;
        check_mark(tuple)?;
        let contents = &mut tuple.0.value;
        contents.check()?;
        let added = make().and_then(|field| {
            // Whether it is a tuple, which has fewer, is not known before it is put.
            let is_full = contents.fields.len() >= QUINTET_MAX_TEMPLATE_FIELDS;
            if is_full {
                Err(misuse(format!("a template has at most {QUINTET_MAX_TEMPLATE_FIELDS} fields")))
            } else {
                Ok(field)
            }
        });
        match added {
            Ok(field) => contents.push(field),
            Err(error) => {
                let error = Error::new(
                    error.cause().clone(),
                    format!("field {}: {}", contents.fields.len(), error.text()),
                );
                contents.error = Some(error.clone());
                return Err(error);
            }
        }
        Ok(())
    })
}

/// The scalar type with this number of [`quintet_type`].
///
/// # Errors
/// `BadValue`.
fn element(number: i32) -> Result<ElementType, Error> {
    let element = u8::try_from(number).ok().and_then(ElementType::from_tag);
    element.ok_or_else(|| {
        misuse(format!(
            "the type {number} is none of the scalar types, QUINTET_TYPE_BOOL to QUINTET_TYPE_DOUBLE"
        ))
    })
}

/// The number of a type.
fn number(of: &Type) -> quintet_type {
    match of {
        Type::Text => quintet_type::QUINTET_TYPE_STRING,
        Type::Binary => quintet_type::QUINTET_TYPE_BYTES,
        Type::Array { .. } => quintet_type::QUINTET_TYPE_ARRAY,
        Type::Scalar(element) => scalar(*element),
    }
}

fn scalar(element: ElementType) -> quintet_type {
    match element {
        ElementType::Bool => quintet_type::QUINTET_TYPE_BOOL,
        ElementType::I8 => quintet_type::QUINTET_TYPE_INT8,
        ElementType::I16 => quintet_type::QUINTET_TYPE_INT16,
        ElementType::I32 => quintet_type::QUINTET_TYPE_INT32,
        ElementType::I64 => quintet_type::QUINTET_TYPE_INT64,
        ElementType::U8 => quintet_type::QUINTET_TYPE_UINT8,
        ElementType::U16 => quintet_type::QUINTET_TYPE_UINT16,
        ElementType::U32 => quintet_type::QUINTET_TYPE_UINT32,
        ElementType::U64 => quintet_type::QUINTET_TYPE_UINT64,
        ElementType::F32 => quintet_type::QUINTET_TYPE_FLOAT,
        ElementType::F64 => quintet_type::QUINTET_TYPE_DOUBLE,
    }
}

/// Makes a tuple without fields, to be added to.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_new(tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        *tuple = give(Contents::default());
        Ok(())
    })
}

/// Keeps the first `count` fields and removes those behind them, so that others can be added in their place: a program that puts tuples which begin alike, or asks
/// for such, makes one and goes on with it. An error that an addition behind them met is forgotten; a tuple that has no more fields stays as it is.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_truncate(tuple: Option<&mut quintet_tuple>, count: usize) -> quintet_status {
    guarded(|| {
        let tuple = tuple.ok_or_else(|| null(quintet_tuple::NAME))?;
        check_mark(tuple)?;
        tuple.0.value.truncate(count);
        Ok(())
    })
}

/// Frees a tuple, and all that it lent. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_free(tuple: Option<NonNull<quintet_tuple>>) {
    free(tuple);
}

/// The number of its fields.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_length(
    tuple: Option<&quintet_tuple>,
    length: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let length = place(length, "length", 0)?;
        *length = value(tuple)?.fields.len();
        Ok(())
    })
}

/// The type of a field, counted from 0; of a formal or a range the type of the values that it stands for.
///
/// Fails with `QUINTET_BAD_VALUE` if there is no such field.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_type(
    tuple: Option<&quintet_tuple>,
    index: usize,
    field_type: Option<&mut MaybeUninit<quintet_type>>,
) -> quintet_status {
    guarded(|| {
        let field_type = field_type.ok_or_else(|| null("field_type"))?;
        // There is no empty type.
        *field_type = MaybeUninit::zeroed();
        field_type.write(match value(tuple)?.field(index)? {
            Field::Actual(value) => number(&value.value_type()),
            Field::Formal(formal) => number(&formal),
            Field::Range(range) => number(&range.value_type()),
        });
        Ok(())
    })
}

/// The tuple as a text for people: `("row", 3, f64[2,2])`. Long data are not in it. It is good until something is added to the tuple or it
/// is freed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_tuple_show(
    tuple: Option<&quintet_tuple>,
    text: Option<&mut MaybeUninit<*const c_char>>,
) -> quintet_status {
    guarded(|| {
        let text = place(text, "text", core::ptr::null())?;
        let contents = value(tuple)?;
        *text = contents.shown.get_or_init(|| show(&contents.fields.to_list())).as_ptr();
        Ok(())
    })
}

fn show(fields: &[Field]) -> CString {
    let fields: Vec<String> = fields.iter().map(Field::to_string).collect();
    // A text is shown with its NULs escaped.
    CString::new(format!("({})", fields.join(", "))).unwrap_or_default()
}
