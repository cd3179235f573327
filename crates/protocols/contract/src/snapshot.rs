//! Protocols whose state can be moved to another host, or kept by several.

use crate::{Effects, Input, Outbox, Protocol, Time};
use core::fmt;

/// A protocol that becomes bytes and comes back from them.
///
/// Two instances with the same history have the same bytes, whichever host they ran on. For that its state and what it sends follow
/// from its configuration and its inputs alone, and it does not branch on what only its own node sees: a full link, say. Iteration
/// order, addresses in memory and the like do not show.
pub trait Snapshot: Protocol + Sized {
    /// What it was made with, as its constructor knows it.
    type Config;

    /// The number of what it does. Raised whenever the same inputs, or the same bytes, come to another state or other answers than before: inputs
    /// that are kept are given again to those alone that do the same with them.
    const BEHAVIOUR: u32;

    /// Appends the state. The configuration is not part of it.
    fn save(&self, bytes: &mut Vec<u8>);

    /// The state again.
    ///
    /// # Errors
    /// The bytes are no state of it: another host may have sent them.
    fn restore(config: &Self::Config, bytes: &[u8]) -> Result<Self, SnapshotError>;

    /// A number that is the same for the same state, to be compared between hosts: FNV-1a of the bytes, 64 bits. It tells honest hosts
    /// apart that have diverged; against one that seeks two states with one number it is of no use.
    fn digest(&self) -> u64 {
        let mut bytes = Vec::new();
        self.save(&mut bytes);
        digest_of(&bytes)
    }
}

/// FNV-1a of the bytes, 64 bits.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Why bytes are no snapshot: what was found, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotError(pub String);

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no snapshot of this protocol: {}", self.0)
    }
}

impl core::error::Error for SnapshotError {}

/// For property tests: gives `history` to an instance, and to one that is moved by a snapshot before every input, and compares all that
/// they do, their deadlines and their digests.
///
/// # Errors
/// What first differs, at which input.
pub fn check_snapshots<P: Snapshot>(
    config: &P::Config,
    make: impl Fn(&P::Config) -> P,
    history: &[(Time, Input<'_>)],
) -> Result<(), String> {
    let (mut stays, mut moves) = (make(config), make(config));
    for (number, (now, input)) in history.iter().enumerate() {
        let mut bytes = Vec::new();
        moves.save(&mut bytes);
        moves = P::restore(config, &bytes).map_err(|error| format!("before input {number}: {error}"))?;
        let (mut one, mut other) = (Effects::default(), Effects::default());
        stays.handle(*now, *input, &mut one as &mut dyn Outbox);
        moves.handle(*now, *input, &mut other as &mut dyn Outbox);
        let (one, other): (Vec<_>, Vec<_>) = (one.drain().collect(), other.drain().collect());
        if one != other {
            return Err(format!("after input {number}, {input:?}: {one:?} and, moved, {other:?}"));
        }
        if (stays.deadline(), stays.digest()) != (moves.deadline(), moves.digest()) {
            return Err(format!("after input {number}, {input:?}: what is moved has another state"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "snapshot/tests.rs"]
mod tests;
