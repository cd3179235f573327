//! What tests of isonets share.

use std::thread;

/// What becomes of something that two members do at once.
pub(crate) fn of_both<T: Send>(does: impl Fn(u16) -> T + Sync) -> [T; 2] {
    let does = &does;
    thread::scope(|scope| {
        let both = [0, 1].map(|member| scope.spawn(move || does(member)));
        both.map(|one| one.join().unwrap())
    })
}
