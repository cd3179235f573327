//! A process that takes the place of a member that has ended, and the state that programs share for that.

use super::quintet_isonet;
use crate::boundary::{guarded, limit, misuse, slice, value};
use crate::error::quintet_status;
use core::ffi::c_void;
use quintet::isotach::limits::MAX_PROGRAM_STATE_BYTES;
use quintet::{Code, Error, IsonetBuilder};

/// Lets members that have ended come back: this member answers them. All members should say so.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_set_rejoinable(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.is_rejoinable = true))
}

/// The program makes something of the messages that it takes, and gives it to who comes back: `quintet_isonet_next` asks for it and gives another one's, as `kind` of a message says. All
/// members say this, or none.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_share_state(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.shares_state = true))
}

/// Comes back in place of a member that has ended, and waits until it is in the next view. If state is shared, the first that `quintet_isonet_next` gives is that of another member's
/// program. The program's interrupt check is not asked meanwhile.
///
/// Fails with `QUINTET_NO_HANDLER` if no member is there that lets others come back; `QUINTET_TIMED_OUT` if those who are there do not let it in, as they are too few or do not reach it;
/// `QUINTET_BAD_VALUE` if this process does not share what they do; else as `quintet_isonet_join`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_rejoin(isonet: Option<&quintet_isonet>, timeout_ms: i64) -> quintet_status {
    guarded(|| value(isonet)?.join(limit(timeout_ms), IsonetBuilder::rejoin))
}

/// Gives the state of this program, 16 MiB at most, which is copied: after `QUINTET_ISONET_STATE_WANTED`, as all messages have made it that were taken before. Until then this member
/// executes nothing; one that does not give it within the silence limit is lost to the others, and one that closes instead ends with `QUINTET_CLOSED`.
///
/// Fails with `QUINTET_TOO_LARGE`, and then a shorter one may be given; `QUINTET_BAD_VALUE` if it was not asked for.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_give_state(
    isonet: Option<&quintet_isonet>,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let member = value(isonet)?;
        member.joined()?;
        let state = slice(data.cast::<u8>(), length, "data")?;
        if state.len() > MAX_PROGRAM_STATE_BYTES {
            let text = format!(
                "a state of {length} bytes is too long: a program may have {MAX_PROGRAM_STATE_BYTES}"
            );
            return Err(Error::new(Code::TooLarge, text));
        }
        if !member.inbox.give_state(state.to_vec()) {
            let text = "nobody has asked for the state: give it after QUINTET_ISONET_STATE_WANTED, once";
            return Err(misuse(text));
        }
        Ok(())
    })
}
