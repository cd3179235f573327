//! quintet_error - what went wrong
//!
//! Every function that may fail returns a `quintet_status`: `QUINTET_OK`, which is 0, or what went wrong. What was wrong with this
//! call, and what to do, is a text that `quintet_error_message` gives; each thread has its own.
//!
//! Results come through pointers that are the last arguments. After an error such a place holds NULL or 0.
//!
//! `quintet_status_retry` says whether the same call may be made again: a program that takes tasks goes on after
//! `QUINTET_TIMED_OUT`, and ends after `QUINTET_PEER_DIED`.

use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_char};
use quintet_errors::{Code, Fault, Retry};
use std::ffi::CString;

thread_local! {
    /// The text of this thread's last error.
    static MESSAGE: RefCell<CString> = RefCell::default();
    /// The same once that is gone: functions of `atexit` run behind it, and ask. It has no end of its own, so that it outlives all that have.
    static LAST_MESSAGE: Cell<&'static CStr> = const { Cell::new(c"") };
}

/// What a call came to.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the numbers and texts are those of the table of codes; a test compares them")]
pub enum quintet_status {
    QUINTET_OK = 0,
    QUINTET_TIMED_OUT = 1,
    QUINTET_CANCELLED = 2,
    QUINTET_SPACE_FULL = 3,
    QUINTET_TOO_LARGE = 4,
    QUINTET_BAD_VALUE = 5,
    QUINTET_LEASE_LOST = 6,
    QUINTET_PEER_DIED = 7,
    QUINTET_PEER_SILENT = 8,
    QUINTET_UNREACHABLE = 9,
    QUINTET_VERSION_MISMATCH = 10,
    QUINTET_WRONG_CLUSTER = 11,
    QUINTET_NOT_ALLOWED = 12,
    QUINTET_DUPLICATE_NODE = 13,
    QUINTET_MALFORMED = 14,
    QUINTET_RESOURCE = 15,
    QUINTET_CLOSED = 16,
    QUINTET_TASK_FAILED = 17,
    QUINTET_BAD_FILE = 18,
    QUINTET_MISMATCH = 19,
    QUINTET_LIMIT_REACHED = 20,
    QUINTET_ADDRESS_IN_USE = 21,
    QUINTET_NO_HANDLER = 22,
    QUINTET_BUSY = 23,
    QUINTET_CONFLICT = 24,
    /// No space of that name is there, or it was removed.
    QUINTET_NO_SUCH_SPACE = 25,
    /// A space of that name is there, with other settings.
    QUINTET_SPACE_EXISTS = 26,
    /// Events behind that number are kept no more.
    QUINTET_TOO_OLD = 27,
    /// A defect of the library.
    QUINTET_INTERNAL = 255,
}

/// Whether the same call may be made again.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_retry {
    /// It had no effect.
    QUINTET_RETRY_SAFE = 0,
    /// It may have had its effect.
    QUINTET_RETRY_INDETERMINATE = 1,
    /// It would fail again.
    QUINTET_RETRY_USELESS = 2,
}

/// Whose fault an error is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_fault {
    /// The caller's: the call cannot be right.
    QUINTET_FAULT_MISUSE = 0,
    /// The other side's: it broke the protocol, or is of another version or cluster.
    QUINTET_FAULT_PEER = 1,
    /// A limit set here was reached.
    QUINTET_FAULT_LIMIT = 2,
    /// The system's: a process, a link, a disk.
    QUINTET_FAULT_SYSTEM = 3,
}

use quintet_status::*;

impl quintet_status {
    /// By number, after 0.
    const OF_CODES: [quintet_status; 27] = [
        QUINTET_TIMED_OUT,
        QUINTET_CANCELLED,
        QUINTET_SPACE_FULL,
        QUINTET_TOO_LARGE,
        QUINTET_BAD_VALUE,
        QUINTET_LEASE_LOST,
        QUINTET_PEER_DIED,
        QUINTET_PEER_SILENT,
        QUINTET_UNREACHABLE,
        QUINTET_VERSION_MISMATCH,
        QUINTET_WRONG_CLUSTER,
        QUINTET_NOT_ALLOWED,
        QUINTET_DUPLICATE_NODE,
        QUINTET_MALFORMED,
        QUINTET_RESOURCE,
        QUINTET_CLOSED,
        QUINTET_TASK_FAILED,
        QUINTET_BAD_FILE,
        QUINTET_MISMATCH,
        QUINTET_LIMIT_REACHED,
        QUINTET_ADDRESS_IN_USE,
        QUINTET_NO_HANDLER,
        QUINTET_BUSY,
        QUINTET_CONFLICT,
        QUINTET_NO_SUCH_SPACE,
        QUINTET_SPACE_EXISTS,
        QUINTET_TOO_OLD,
    ];

    pub(crate) fn of(code: Code) -> quintet_status {
        // A code that this table lacks fails the test below.
        quintet_status::OF_CODES.get(usize::from(code as u16) - 1).copied().unwrap_or(QUINTET_INTERNAL)
    }
}

/// Keeps an error's text for this thread. NUL within it is left out.
pub(crate) fn remember(text: &str) {
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    if MESSAGE.try_with(|message| drop(message.replace(text.clone()))).is_err() {
        // The thread ends, and what it has is freed already: these few bytes are not.
        LAST_MESSAGE.set(Box::leak(text.into_boxed_c_str()));
    }
}

/// The code of this number, if it is one's.
fn code(status: i32) -> Option<Code> {
    u16::try_from(status).ok().and_then(Code::from_number)
}

/// What went wrong in this thread's last call that failed, and what to do about it, in English; "" before the first. It stays until
/// the next call of this thread that fails. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_error_message() -> *const c_char {
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or_else(|_| LAST_MESSAGE.get().as_ptr())
}

/// The constant's name: "QUINTET_TIMED_OUT". Of a number that is no status "QUINTET_INTERNAL".
#[unsafe(no_mangle)]
pub extern "C" fn quintet_status_name(status: i32) -> *const c_char {
    name(status).as_ptr()
}

/// What a status means, in a few words: "the deadline passed".
#[unsafe(no_mangle)]
pub extern "C" fn quintet_status_text(status: i32) -> *const c_char {
    words(status).as_ptr()
}

/// Whether the same call may be made again after this status. After `QUINTET_OK` and `QUINTET_INTERNAL` it is useless.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_status_retry(status: i32) -> quintet_retry {
    match code(status).map(Code::retry) {
        Some(Retry::Safe) => quintet_retry::QUINTET_RETRY_SAFE,
        Some(Retry::Indeterminate) => quintet_retry::QUINTET_RETRY_INDETERMINATE,
        Some(Retry::Useless) | None => quintet_retry::QUINTET_RETRY_USELESS,
    }
}

/// Whose fault this status is. `QUINTET_INTERNAL` is the system's.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_status_fault(status: i32) -> quintet_fault {
    match code(status).map(Code::fault) {
        Some(Fault::Misuse) => quintet_fault::QUINTET_FAULT_MISUSE,
        Some(Fault::Peer) => quintet_fault::QUINTET_FAULT_PEER,
        Some(Fault::Limit) => quintet_fault::QUINTET_FAULT_LIMIT,
        Some(Fault::System) | None => quintet_fault::QUINTET_FAULT_SYSTEM,
    }
}

/// The exit status of a program that ends with this status, as the command `quintet` has it: 0 for `QUINTET_OK`, 75 for
/// `QUINTET_TIMED_OUT`, 70 for `QUINTET_INTERNAL`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_status_exit(status: i32) -> i32 {
    match (code(status), status) {
        (Some(code), _) => code.exit_status().into(),
        (None, 0) => 0,
        (None, _) => 70,
    }
}

/// The version of the library: "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn quintet_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

fn name(status: i32) -> &'static CStr {
    match code(status) {
        Some(Code::TimedOut) => c"QUINTET_TIMED_OUT",
        Some(Code::Cancelled) => c"QUINTET_CANCELLED",
        Some(Code::SpaceFull) => c"QUINTET_SPACE_FULL",
        Some(Code::TooLarge) => c"QUINTET_TOO_LARGE",
        Some(Code::BadValue) => c"QUINTET_BAD_VALUE",
        Some(Code::LeaseLost) => c"QUINTET_LEASE_LOST",
        Some(Code::PeerDied) => c"QUINTET_PEER_DIED",
        Some(Code::PeerSilent) => c"QUINTET_PEER_SILENT",
        Some(Code::Unreachable) => c"QUINTET_UNREACHABLE",
        Some(Code::VersionMismatch) => c"QUINTET_VERSION_MISMATCH",
        Some(Code::WrongCluster) => c"QUINTET_WRONG_CLUSTER",
        Some(Code::NotAllowed) => c"QUINTET_NOT_ALLOWED",
        Some(Code::DuplicateNode) => c"QUINTET_DUPLICATE_NODE",
        Some(Code::Malformed) => c"QUINTET_MALFORMED",
        Some(Code::Resource) => c"QUINTET_RESOURCE",
        Some(Code::Closed) => c"QUINTET_CLOSED",
        Some(Code::TaskFailed) => c"QUINTET_TASK_FAILED",
        Some(Code::BadFile) => c"QUINTET_BAD_FILE",
        Some(Code::Mismatch) => c"QUINTET_MISMATCH",
        Some(Code::LimitReached) => c"QUINTET_LIMIT_REACHED",
        Some(Code::AddressInUse) => c"QUINTET_ADDRESS_IN_USE",
        Some(Code::NoHandler) => c"QUINTET_NO_HANDLER",
        Some(Code::Busy) => c"QUINTET_BUSY",
        Some(Code::Conflict) => c"QUINTET_CONFLICT",
        Some(Code::NoSuchSpace) => c"QUINTET_NO_SUCH_SPACE",
        Some(Code::SpaceExists) => c"QUINTET_SPACE_EXISTS",
        Some(Code::TooOld) => c"QUINTET_TOO_OLD",
        None if status == 0 => c"QUINTET_OK",
        None => c"QUINTET_INTERNAL",
    }
}

/// The texts of the table, with the NUL that C wants, made once.
fn words(status: i32) -> &'static CStr {
    static TEXTS: std::sync::OnceLock<Vec<CString>> = std::sync::OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let texts = Code::ALL.iter().map(|code| CString::new(code.text()));
        texts.map(Result::unwrap_or_default).collect()
    });
    match Code::ALL.iter().position(|code| i32::from(*code as u16) == status) {
        Some(place) => &texts[place],
        None if status == 0 => c"no error",
        None => c"a defect of the library",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::text;

    /// `TimedOut` as C says it.
    fn constant(name: &str) -> String {
        let mut constant = "QUINTET".to_owned();
        for letter in name.chars() {
            if letter.is_uppercase() {
                constant.push('_');
            }
            constant.extend(letter.to_uppercase());
        }
        constant
    }

    #[test]
    fn every_code_is_a_status_with_its_number_name_and_text() {
        for code in Code::ALL {
            let status = quintet_status::of(*code);
            let number = status as i32;
            assert_eq!(number, i32::from(*code as u16));
            assert_eq!(format!("{status:?}"), constant(code.name()));
            assert_eq!(text(quintet_status_name(number), "name").expect("text"), constant(code.name()));
            assert_eq!(text(quintet_status_text(number), "text").expect("text"), code.text());
            assert_eq!(quintet_status_exit(number), i32::from(code.exit_status()));
        }
        assert_eq!(quintet_status::OF_CODES.len(), Code::ALL.len());
    }

    #[test]
    fn what_is_no_status_is_internal() {
        for number in [-1, 28, 255, i32::MIN, i32::MAX] {
            assert_eq!(text(quintet_status_name(number), "name").expect("text"), "QUINTET_INTERNAL");
            assert_eq!(quintet_status_exit(number), 70);
        }
        assert_eq!((quintet_status_exit(0), name(0)), (0, c"QUINTET_OK"));
    }
}
