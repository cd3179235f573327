//! The present view, for a program that asks.

use super::quintet_isonet;
use crate::boundary::{guarded, place, value};
use crate::error::quintet_status;
use core::mem::MaybeUninit;
use core::ptr::null;
use std::sync::PoisonError;

/// The present view: its number, from 1, and the numbers of its members, ascending, which are lent until this is asked again or the isonet is freed. One thread at a time asks.
/// `number` may be NULL.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_view(
    isonet: Option<&quintet_isonet>,
    number: Option<&mut MaybeUninit<u32>>,
    members: Option<&mut MaybeUninit<*const u16>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let (members, count) = (place(members, "members", null())?, place(count, "count", 0)?);
        let member = value(isonet)?;
        let view = member.joined()?.view();
        if let Some(number) = number {
            number.write(view.view.0);
        }
        let mut viewed = member.viewed.lock().unwrap_or_else(PoisonError::into_inner);
        *viewed = view.members;
        (*members, *count) = (viewed.as_ptr(), viewed.len());
        Ok(())
    })
}
