//! Plain messages: without a place in the order, delayed by nothing that has one.

use super::quintet_isonet;
use super::waiting::end_of;
use crate::boundary::{guarded, limit, value};
use crate::error::quintet_status;
use crate::messaging::message;
use core::ffi::c_void;

/// Sends a plain message, 64 KiB at most, to the plain handler of a member, this one as well, and waits until it has arrived: that program takes it with `quintet_isonet_next`, before or
/// behind whatever isochrons do. What one member sends another in plain messages comes in the order in which it was sent.
///
/// Fails with `QUINTET_BAD_VALUE` for no such member, `QUINTET_TOO_LARGE`; `QUINTET_BUSY` if 256 plain messages of this member have not arrived, and it was not sent; `QUINTET_BUSY`, too, while messages fill their
/// room here and nobody takes them, `QUINTET_TIMED_OUT` or `QUINTET_CANCELLED`, and then it goes on; `QUINTET_PEER_DIED` if that member has ended, and it may have arrived; `QUINTET_PEER_SILENT` and its kin as
/// `quintet_isochron_wait`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_send_plain(
    isonet: Option<&quintet_isonet>,
    member: u16,
    handler: u32,
    data: *const c_void,
    length: usize,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| {
        let this = value(isonet)?;
        let mut pending = this.joined()?.begin_plain(member, handler, message(data, length, "data")?)?;
        let arrived = this.wait_for(end_of(limit(timeout_ms)), |slice| pending.wait(slice));
        arrived.map_err(|stopped| stopped.told_of("the message"))?
    })
}

/// Sends it, and does not wait: whether it arrives is not told.
///
/// Fails with `QUINTET_BUSY` if it would have to wait, as 256 plain messages of this member have not arrived, and it was not sent: try again later; `QUINTET_BAD_VALUE` for no such member, `QUINTET_TOO_LARGE`, `QUINTET_PEER_SILENT` and its kin.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_begin_plain(
    isonet: Option<&quintet_isonet>,
    member: u16,
    handler: u32,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let data = message(data, length, "data")?;
        value(isonet)?.joined()?.try_begin_plain(member, handler, data).map(drop)
    })
}
