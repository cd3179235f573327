//! Ctrl-C, ctrl-Z and their kin.

use crate::connection::refused;
use quintet::Error;
use rustix::process::Signal;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

/// From now on the signals that ask this process to end are given to `tell` instead, in a thread of their own.
///
/// # Errors
/// The system refused.
pub(crate) fn on_interrupt(tell: impl Fn(Signal) + Send + 'static) -> Result<(), Error> {
    on_signals(&[SIGINT, SIGTERM, SIGHUP], tell)
}

/// The same, and with the signals by which a shell stops this process and lets it continue.
///
/// # Errors
/// The system refused.
pub(crate) fn on_interrupt_or_pause(tell: impl Fn(Signal) + Send + 'static) -> Result<(), Error> {
    on_signals(&[SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT], tell)
}

/// The same, and with the signal that says that the terminal has another size.
///
/// # Errors
/// The system refused.
pub(crate) fn on_interrupt_or_resize(tell: impl Fn(Signal) + Send + 'static) -> Result<(), Error> {
    on_signals(&[SIGINT, SIGTERM, SIGHUP, SIGWINCH], tell)
}

fn on_signals(signals: &[i32], tell: impl Fn(Signal) + Send + 'static) -> Result<(), Error> {
    let mut signals = Signals::new(signals).map_err(refused("handle signals"))?;
    let told = move || {
        for signal in signals.forever() {
            tell(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
        }
    };
    // Its name says from outside that from now on no signal is lost: one that comes while handlers are set may be.
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(told).map(drop).map_err(refused("handle signals"))
}
