//! Ctrl-C and its kin.

use crate::connection::refused;
use quintet::Error;
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// From now on the signals that ask this process to end are given to `tell` instead, in a thread of their own.
///
/// # Errors
/// The system refused.
pub(crate) fn on_interrupt(tell: impl Fn(Signal) + Send + 'static) -> Result<(), Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(refused("handle signals"))?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            tell(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
    });
    Ok(())
}
