//! What members have done, and whether it was done in one order.

use super::{Member, quintet_isonet};
use crate::boundary::{guarded, misuse, place, slice, value};
use crate::buffer::{of_data, quintet_buffer, shared};
use crate::error::quintet_status;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::isotach::{Run, Testimony, check};
use quintet::{Bytes, Code, Error, NodeId};
use std::collections::BTreeMap;

/// Has this member keep all that it does, for `quintet_isonet_take_witness`.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_keep_witness(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.keeps_witness = true))
}

/// What this member has done since this was asked last, and the views that it knows: a *witness*, bytes that can be kept, or sent to whoever checks them. All there is once the isonet is closed; nothing is
/// told of what was done unless `quintet_isonet_keep_witness` was called. To be freed with `quintet_buffer_free`.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_take_witness(
    isonet: Option<&quintet_isonet>,
    witness: Option<&mut MaybeUninit<*mut quintet_buffer>>,
) -> quintet_status {
    guarded(|| {
        let witness = place(witness, "witness", null_mut())?;
        *witness = of_data(Bytes::from(value(isonet)?.testimony()?.to_bytes()));
        Ok(())
    })
}

/// Does again all that `count` members have done, by a witness of each: whether it was done in one order, each isochron at one time at all its receivers, first in first out, causal, and each read
/// gave what was written last. `gone` are the `gone_count` members that have ended before the others, whose witness may end early or be left out. `has_ended`: all isochrons of the others are executed, as they are
/// once all have closed. The buffers can only be read from then on.
///
/// Fails with `QUINTET_MISMATCH`, whose text says what is not as it has to be; `QUINTET_BAD_VALUE` for no witness, or two of one member.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_check_witnesses(
    witnesses: *const Option<&quintet_buffer>,
    count: usize,
    gone: *const u16,
    gone_count: usize,
    has_ended: bool,
) -> quintet_status {
    guarded(|| {
        let witnesses = slice(witnesses, count, "witnesses")?;
        let gone = slice(gone, gone_count, "gone")?.iter().copied().map(NodeId).collect();
        let told = witnesses.iter().map(|witness| read(*witness)).collect::<Result<Vec<_>, _>>()?;
        // Members that have ended, or were left behind, know fewer.
        let views = told.iter().map(|one| &one.views).max_by_key(|views| views.len()).cloned();
        let views = views.ok_or_else(|| misuse("there is nothing to check: no witness was given"))?;
        let mut said = BTreeMap::new();
        for Testimony { node, said: of_one, .. } in told {
            if said.insert(node, of_one).is_some() {
                let member = node.0;
                return Err(misuse(format!("two witnesses are of member {member}: what it has done is one")));
            }
        }
        check(&Run { said, views, gone, has_ended })
            .map_err(|violation| Error::new(Code::Mismatch, violation.to_string()))
    })
}

/// # Errors
/// `BadValue` for what is no witness.
fn read(witness: Option<&quintet_buffer>) -> Result<Testimony, Error> {
    Testimony::from_bytes(&shared(witness)?)
        .map_err(|error| misuse(format!("this is no witness, or one of another version: {error}")))
}

impl Member {
    /// # Errors
    /// As `joined`.
    fn testimony(&self) -> Result<Testimony, Error> {
        let joined = self.joined()?;
        let said = joined.take_witness();
        Ok(Testimony { node: NodeId(joined.member()), views: joined.views(), said })
    }
}
