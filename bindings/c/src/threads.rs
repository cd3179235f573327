//! The library's own threads, and the program's signals.

use core::mem::MaybeUninit;
use core::ptr::null_mut;

/// Runs what may start threads, so that they block every signal, as they go on to do: a signal that is sent to the process meets a thread of
/// the program, which waits for it or has its system call interrupted by it.
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let _blocked = Blocked::all();
    start()
}

/// While it lives its thread blocks every signal.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    fn all() -> Blocked {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::zeroed());
        // SAFETY: sigfillset fills the set that it is given, which pthread_sigmask then reads. No set of signals is invalid, also if
        // the mask could not be read: it can, for such arguments.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Blocked { before: before.assume_init() }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the mask of before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, null_mut()) };
    }
}
