//! What crosses the boundary between C and Rust: handles, pointers, outcomes, panics.

use crate::error::{quintet_status, remember};
use crate::lab::QUINTET_FOREVER;
use core::ffi::{CStr, c_char};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use quintet::{Code, Error};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a handle begins with once it was freed.
const FREED: u32 = u32::from_be_bytes(*b"free");

/// What C holds by a pointer.
///
/// # Safety
/// It is a struct of nothing but a [`Tagged`] of its own kind.
pub(crate) unsafe trait Handle: Sized {
    /// Four letters, different for each type.
    const KIND: [u8; 4];
    /// What C's users call it.
    const NAME: &'static str;
    /// What is behind it.
    type Value;

    /// The handle of a tagged value.
    fn of(tagged: Tagged<Self::Value>) -> Self;
    /// What it consists of.
    fn tagged(&self) -> &Tagged<Self::Value>;
}

/// A value after the mark by which a pointer to something else, or to what was freed, is recognised, as far as that goes.
#[repr(C)]
pub(crate) struct Tagged<T> {
    /// Where allocators write once it was freed: the mark is to outlive that.
    _overwritten: [u64; 2],
    mark: AtomicU32,
    pub(crate) value: T,
}

impl<T> Drop for Tagged<T> {
    fn drop(&mut self) {
        self.mark.store(FREED, Ordering::Release);
    }
}

/// Declares a [`Handle`]: its type in C, its value, its letters and its name.
macro_rules! handle {
    ($type:ty, $value:ty, $kind:literal, $name:literal) => {
        // The mark stands where every handle has it.
        const _: () = assert!(core::mem::offset_of!($type, 0) == 0);
        // SAFETY: a struct of nothing but the tagged value.
        unsafe impl $crate::boundary::Handle for $type {
            const KIND: [u8; 4] = *$kind;
            const NAME: &'static str = $name;
            type Value = $value;

            fn of(tagged: $crate::boundary::Tagged<$value>) -> Self {
                Self(tagged)
            }

            fn tagged(&self) -> &$crate::boundary::Tagged<$value> {
                &self.0
            }
        }
    };
}
pub(crate) use handle;

/// A handle of this value.
pub(crate) fn tagged<H: Handle>(value: H::Value) -> H {
    H::of(Tagged { _overwritten: [0; 2], mark: AtomicU32::new(u32::from_be_bytes(H::KIND)), value })
}

/// The same on the heap, for C.
pub(crate) fn give<H: Handle>(value: H::Value) -> *mut H {
    Box::into_raw(Box::new(tagged(value)))
}

/// The value behind a handle that C passed.
///
/// # Errors
/// `BadValue` for NULL, and for what is seen to be no such handle.
pub(crate) fn value<H: Handle>(handle: Option<&H>) -> Result<&H::Value, Error> {
    let handle = handle.ok_or_else(|| null(H::NAME))?;
    check_mark(handle)?;
    Ok(&handle.tagged().value)
}

/// # Errors
/// As [`value`].
pub(crate) fn check_mark<H: Handle>(handle: &H) -> Result<(), Error> {
    match handle.tagged().mark.load(Ordering::Acquire) {
        mark if mark == u32::from_be_bytes(H::KIND) => Ok(()),
        FREED => Err(misuse(format!("this {} was freed before", H::NAME))),
        _ => Err(misuse(format!("this pointer leads to no {}", H::NAME))),
    }
}

/// What C passed to be read, where a parameter cannot be a reference.
pub(crate) fn borrowed<'a, H: Handle>(handle: *const H) -> Option<&'a H> {
    // SAFETY: C passes NULL, or what `give` gave.
    unsafe { handle.as_ref() }
}

/// What C passed to be changed, where a parameter cannot be a reference: nobody else looks at it meanwhile.
pub(crate) fn changed<'a, H: Handle>(mut handle: NonNull<H>) -> &'a mut H {
    // SAFETY: C passes what `give` gave, and changes it in one thread at a time.
    unsafe { handle.as_mut() }
}

/// Takes a handle back from C and drops it. NULL is left alone.
pub(crate) fn free<H: Handle>(handle: Option<NonNull<H>>) {
    free_after(handle, |_| {});
}

/// The same after a last use.
pub(crate) fn free_after<H: Handle>(handle: Option<NonNull<H>>, last: impl FnOnce(&H::Value)) {
    let Some(handle) = handle else { return };
    guarded(|| {
        // SAFETY: C passes what `give` gave, which is on the heap.
        last(value(Some(unsafe { handle.as_ref() }))?);
        // SAFETY: the same; it was not freed before, so this is its only owner.
        drop(unsafe { Box::from_raw(handle.as_ptr()) });
        Ok(())
    });
}

/// Where C wants a result, holding `empty` until there is one.
///
/// # Errors
/// `BadValue` for NULL.
pub(crate) fn place<'a, T>(
    place: Option<&'a mut MaybeUninit<T>>,
    name: &str,
    empty: T,
) -> Result<&'a mut T, Error> {
    place.map(|place| place.write(empty)).ok_or_else(|| null(name))
}

/// The items at `start`, so many of them.
///
/// # Errors
/// `BadValue` for NULL unless there are none, and for more than memory holds.
pub(crate) fn slice<'a, T>(start: *const T, count: usize, name: &str) -> Result<&'a [T], Error> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(null(name));
    }
    if !start.is_aligned() {
        return Err(misuse(format!("{name} is not aligned for its type")));
    }
    let is_possible = count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if !is_possible {
        return Err(misuse(format!("{name} has {count} items, more than memory holds")));
    }
    // SAFETY: C promises so many items there; that they are there at all was looked at above.
    Ok(unsafe { core::slice::from_raw_parts(start, count) })
}

/// A text of C, that ends with NUL.
///
/// # Errors
/// `BadValue` for NULL and for what is not UTF-8.
pub(crate) fn text<'a>(start: *const c_char, name: &str) -> Result<&'a str, Error> {
    if start.is_null() {
        return Err(null(name));
    }
    // SAFETY: C promises that it ends with NUL.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map_err(|error| misuse(format!("{name} is not UTF-8: {error}")))
}

/// The texts of an array of them.
///
/// # Errors
/// As [`slice`] and [`text`].
pub(crate) fn texts<'a>(
    texts: *const *const c_char,
    count: usize,
    what: &str,
) -> Result<Vec<&'a str>, Error> {
    slice(texts, count, what)?.iter().map(|one| text(*one, what)).collect()
}

/// How long an operation may wait; none: without end.
pub(crate) fn limit(timeout_ms: i64) -> Option<Duration> {
    u64::try_from(timeout_ms).ok().map(Duration::from_millis)
}

/// The same for C: `QUINTET_FOREVER` without end.
pub(crate) fn milliseconds(limit: Option<Duration>) -> i64 {
    limit.map_or(QUINTET_FOREVER, |limit| i64::try_from(limit.as_millis()).unwrap_or(i64::MAX))
}

pub(crate) fn null(name: &str) -> Error {
    misuse(format!("{name} is NULL"))
}

pub(crate) fn misuse(text: impl Into<String>) -> Error {
    Error::new(Code::BadValue, text)
}

/// Makes a call for C: of an error its status, and its text for `quintet_error_message`; no panic goes on into C.
pub(crate) fn guarded(call: impl FnOnce() -> Result<(), Error>) -> quintet_status {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => quintet_status::QUINTET_OK,
        Ok(Err(error)) => {
            remember(&error.to_string());
            quintet_status::of(error.code())
        }
        Err(panic) => {
            remember(&format!("a defect of libquintet, please report it: {}", words(&*panic)));
            // Its own end might panic.
            core::mem::forget(panic);
            quintet_status::QUINTET_INTERNAL
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without words")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::quintet_error_message;

    fn message() -> String {
        text(quintet_error_message(), "the message").expect("it is text").to_owned()
    }

    #[test]
    fn no_panic_goes_on_into_c() {
        let status = guarded(|| panic!("of {}", 7));
        assert_eq!(status, quintet_status::QUINTET_INTERNAL);
        assert_eq!(message(), "a defect of libquintet, please report it: of 7");
    }

    #[test]
    fn an_error_has_its_status_and_its_text_stays_until_the_next() {
        assert_eq!(guarded(|| Err(misuse("of a test"))), quintet_status::QUINTET_BAD_VALUE);
        assert_eq!(guarded(|| Ok(())), quintet_status::QUINTET_OK);
        assert_eq!(message(), "not a valid value: of a test");
        std::thread::spawn(|| assert_eq!(message(), "")).join().expect("each thread has its own");
    }

    #[test]
    fn more_items_than_memory_holds_are_refused() {
        let one = 7u64;
        assert!(slice(&one, usize::MAX / 8, "it").is_err() && slice(&one, usize::MAX, "it").is_err());
        assert!(slice(core::ptr::null::<u64>(), 1, "it").is_err());
        assert_eq!(slice(core::ptr::null::<u64>(), 0, "it").expect("there are none"), [0u64; 0]);
        assert_eq!(slice(&one, 1, "it").expect("it is there"), [7]);
    }
}
