//! What else a program may say of its isonet before it joins.

use super::inbox::Item;
use super::{Member, quintet_isonet};
use crate::boundary::{guarded, slice, text, value};
use crate::error::quintet_status;
use crate::lab::parsed;
use core::ffi::c_char;
use quintet::{ConnectConfig, IsonetBuilder, Variable};
use std::sync::Arc;

/// Shares a variable of so many bytes, 1 to 4096, with copies at these members alone: one at least. Others read it from the copy with the lowest number. All members say the same.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined. What cannot be is found by `quintet_isonet_join`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_add_variable_at(
    isonet: Option<&quintet_isonet>,
    variable: u32,
    bytes: usize,
    members: *const u16,
    count: usize,
) -> quintet_status {
    guarded(|| {
        let copies = Some(slice(members, count, "members")?.to_vec());
        value(isonet)?.say(|said| said.variables.push((Variable(variable), bytes, copies)))
    })
}

/// Takes plain messages for the plain handler of this number: their numbers have nothing to do with those of `quintet_isonet_add_handler`. What comes for another one ends this member.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_add_plain_handler(
    isonet: Option<&quintet_isonet>,
    handler: u32,
) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.plain_handlers.push(handler)))
}

/// Isochrons get their place as soon as their parts have left, and not once all receivers have said that they have them: faster, and where the machine of a sender dies then, some of the
/// others may lack a part of what the rest has executed, and stop with `QUINTET_PEER_SILENT` when the next view begins. All members say this, or none.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_set_agreed(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.is_agreed = true))
}

/// Where this member listens for the others (see `quintet_lab_connect` for addresses; port 0 is a free one). Without this: where its job says that it is reached, and else in shared memory.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no address, and once it has joined. That it cannot be listened there is found by `quintet_isonet_join`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_set_listen(
    isonet: Option<&quintet_isonet>,
    address: *const c_char,
) -> quintet_status {
    guarded(|| {
        let address = parsed(text(address, "address")?)?;
        let address = ConnectConfig::from_environment()?.identified(address)?;
        value(isonet)?.say(|said| said.listens_at = Some(address))
    })
}

/// Has this member look, whenever something has come, whether what is always so of it is so: a defect of this library, or of the memory, ends it then, and whatever is asked of it next fails with
/// `QUINTET_MISMATCH`, whose text says what is not so. It looks at all that waits in it, so that it is slower the more that is.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_check_invariants(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.checks_invariants = true))
}

/// Has `quintet_isonet_next` tell of each view that begins after the first: `QUINTET_ISONET_VIEW`, between what was executed before it and what is executed in it.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_tell_views(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.tells_views = true))
}

/// Has `quintet_isonet_next` tell of each value that an isochron gives a variable with a copy here: `QUINTET_ISONET_VALUE`, among the messages and in the one order with them. They take room as messages do. A
/// value for a reserved place behind which another one was reserved or written is none: nobody finds it in the variable.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_tell_values(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.tells_values = true))
}

impl Member {
    /// Puts messages and values where they are performed, so that they come in one order; handlers have nothing to do then.
    pub(super) fn telling_values(&self, builder: IsonetBuilder, handlers: Vec<u32>) -> IsonetBuilder {
        let inbox = Arc::clone(&self.inbox);
        let builder = handlers.iter().fold(builder, |builder, handler| builder.handler(*handler, |_| {}));
        builder.observe(move |performed| {
            let Some(item) = Item::performed(performed, &handlers) else { return };
            let maker = inbox.maker();
            if let (Err(why), Some(maker)) = (inbox.put(item, maker), maker) {
                maker.leave(why);
            }
        })
    }
}
