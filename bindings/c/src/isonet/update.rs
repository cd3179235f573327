//! Updates of shared variables that nobody comes in between: read, computed, written.

use super::waiting::{Stopped, end_of};
use super::{Member, quintet_isonet};
use crate::boundary::{guarded, limit, misuse, null, place, slice, value};
use crate::error::quintet_status;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use quintet::{Bytes, Code, Error, Reserved, Variable};
use std::time::Instant;

/// Computes new values: `values` has a pointer to each variable's value, as many bytes as it has and aligned for any number, and what lies there when it returns true is the new one. False: they keep
/// what they have. It must not throw or jump, nor wait for what needs these variables.
pub type quintet_update = Option<extern "C" fn(values: *const *mut c_void, argument: *mut c_void) -> bool>;

/// Gives variables, each once, the values that `update` computes from what they have; nobody sees or changes them in between: who reads them waits. `update` is called once, on this
/// thread, by this call alone. Two such updates never wait for each other in a circle. A member's own updates of a variable follow each other. If a view begins meanwhile, it is done in that one.
///
/// With `QUINTET_OK` it has happened, or happens if this member goes on, unless `update` gave false. Otherwise the variables keep what they have: `QUINTET_TIMED_OUT` if they were not this member's to
/// change within `timeout_ms`, `QUINTET_CANCELLED` if the program's interrupt check ended the wait, `QUINTET_BUSY` if messages fill their room and nobody takes them; `QUINTET_BAD_VALUE` for no variable,
/// one twice or one that there is not; `QUINTET_PEER_DIED` if a variable had no value (see `quintet_no_value`), and all of them are zeros now; `QUINTET_PEER_SILENT` and its kin as `quintet_isochron_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_update(
    isonet: Option<&quintet_isonet>,
    variables: *const u32,
    count: usize,
    update: quintet_update,
    argument: *mut c_void,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| {
        let update = update.ok_or_else(|| null("update"))?;
        let variables: Vec<Variable> =
            slice(variables, count, "variables")?.iter().copied().map(Variable).collect();
        value(isonet)?.update(&variables, end_of(limit(timeout_ms)), |had| {
            let mut values: Vec<Words> = had.iter().map(Words::of).collect();
            let pointers: Vec<*mut c_void> = values.iter_mut().map(Words::pointer).collect();
            let is_new = update(pointers.as_ptr(), argument);
            Ok(is_new.then(|| values.iter().map(Words::bytes).collect()))
        })
    })
}

/// Gives a variable a value if it has the expected one, both of `length` bytes; `has_swapped` says whether it had.
///
/// Fails with `QUINTET_BAD_VALUE` if they are not of the variable's size, and else as `quintet_isonet_update`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_compare_and_swap(
    isonet: Option<&quintet_isonet>,
    variable: u32,
    expected: *const c_void,
    value: *const c_void,
    length: usize,
    timeout_ms: i64,
    has_swapped: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let has_swapped = place(has_swapped, "has_swapped", false)?;
        let expected = slice(expected.cast::<u8>(), length, "expected")?;
        let new = slice(value.cast::<u8>(), length, "value")?;
        let member = crate::boundary::value(isonet)?;
        member.update(&[Variable(variable)], end_of(limit(timeout_ms)), |had| {
            let had = &had[0];
            if had.len() != length {
                let text = format!("variable {variable} has {} bytes, and these values {length}", had.len());
                return Err(misuse(text));
            }
            *has_swapped = had[..] == *expected;
            Ok(has_swapped.then(|| vec![Bytes::copy_from_slice(new)]))
        })
    })
}

impl Member {
    fn update(
        &self,
        variables: &[Variable],
        until: Option<Instant>,
        compute: impl FnOnce(&[Bytes]) -> Result<Option<Vec<Bytes>>, Error>,
    ) -> Result<(), Error> {
        let reserved = self.reserve(variables, until)?;
        let had = reserved.values().iter().cloned().collect::<Result<Vec<_>, _>>()?;
        let Some(values) = compute(&had)? else { return Ok(()) };
        let mut assigning = reserved.assign(values)?;
        match self.wait_for(until, |slice| assigning.wait(slice)) {
            Ok(assigned) => assigned.map(drop),
            // It happens all the same.
            Err(Stopped::TimedOut | Stopped::HeldUp | Stopped::Interrupted(_)) => Ok(()),
        }
    }

    fn reserve(&self, variables: &[Variable], until: Option<Instant>) -> Result<Reserved, Error> {
        let mut reserving = self.joined()?.maker().reserve(variables)?;
        match self.wait_for(until, |slice| reserving.wait(slice)) {
            Ok(reserved) => reserved,
            Err(Stopped::TimedOut) => {
                let text = "others have the variables so far, or have not answered: they keep what they have";
                Err(Error::new(Code::TimedOut, text))
            }
            Err(Stopped::HeldUp) => {
                let text = "what the program has not taken holds this member up, and the variables keep what they have: take some with quintet_isonet_next, and do it again";
                Err(Error::new(Code::Busy, text))
            }
            Err(Stopped::Interrupted(error)) => Err(error),
        }
    }
}

/// Bytes that lie as numbers of any size may.
struct Words {
    words: Vec<u64>,
    length: usize,
}

impl Words {
    fn of(bytes: &Bytes) -> Words {
        let word = |chunk: &[u8]| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        };
        Words { words: bytes.chunks(8).map(word).collect(), length: bytes.len() }
    }

    fn pointer(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    fn bytes(&self) -> Bytes {
        let bytes: Vec<u8> =
            self.words.iter().flat_map(|word| word.to_ne_bytes()).take(self.length).collect();
        bytes.into()
    }
}
