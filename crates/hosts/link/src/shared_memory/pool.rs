//! Segments of this process, used again when nobody looks at them any more.

use super::lending::{SEGMENT_BYTES, SHORTEST_BYTES};
use super::segment::{Segment, is_available};
use bytes::Bytes;
use core::fmt;
use core::ops::{Deref, DerefMut};
use rustix::process::{Resource, getrlimit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Segments that are kept for the next buffer, at most.
const IDLE: usize = 16;
/// Bytes of these, at most.
const IDLE_BYTES: usize = 64 * 1024 * 1024;
/// Segments up to this size are a power of two long; of longer ones an eighth at most is unused.
const POWERS_UP_TO: usize = 1024 * 1024;
/// The share of this process's descriptors that its own segments may take.
const DESCRIPTORS_SHARE: u64 = 8;

/// Those that nobody looks at.
static POOL: Mutex<Vec<Arc<Segment>>> = Mutex::new(Vec::new());
/// How many of this process's own there are.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// Memory for large data that is sent over shared memory without a copy: written first, then shared by [`Buffer::freeze`].
///
/// ```
/// if let Some(mut buffer) = quintet_link::Buffer::new(100_000) {
///     buffer.fill(7);
///     assert!(buffer.freeze().iter().all(|byte| *byte == 7));
/// }
/// ```
pub struct Buffer {
    owned: Owned,
    len: usize,
}

/// A segment of this process that goes back to the pool.
struct Owned(Option<Arc<Segment>>);

/// A buffer that is shared from now on.
struct Frozen {
    owned: Owned,
    len: usize,
}

impl Buffer {
    /// The longest buffer.
    pub const MAX_BYTES: usize = SEGMENT_BYTES;

    /// Room for `len` bytes, of any content. None for a length to which a copy is better (below 4 KiB or above
    /// [`Buffer::MAX_BYTES`]), in a forked process, and where the system has too few descriptors or no memory: use ordinary memory then.
    #[must_use]
    pub fn new(len: usize) -> Option<Buffer> {
        if !(SHORTEST_BYTES..=Self::MAX_BYTES).contains(&len) || !is_available() {
            return None;
        }
        let size = Self::size_for(len);
        let owned = Owned(Some(from_pool(size).or_else(|| make(size))?));
        Some(Buffer { owned, len })
    }

    /// Bytes of the segment for a buffer of `len` bytes.
    pub(crate) fn size_for(len: usize) -> usize {
        let power = len.next_power_of_two();
        if power <= POWERS_UP_TO { power } else { len.next_multiple_of(power / 16) }
    }

    /// Where it lies, also once it is frozen. Whoever writes there by this address does so before it is put anywhere.
    #[must_use]
    pub fn address(&self) -> usize {
        self.owned.segment().base().addr().get()
    }

    /// The bytes, shared from now on; a link over shared memory sends them without a copy.
    #[must_use]
    pub fn freeze(self) -> Bytes {
        Bytes::from_owner(Frozen { owned: self.owned, len: self.len })
    }
}

impl Owned {
    fn segment(&self) -> &Segment {
        self.0.as_deref().expect("taken in the drop only")
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.owned.segment().bytes(self.len)
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let base = self.owned.segment().base();
        // SAFETY: a segment that this process made, mapped for writing and not shared: a buffer is the only one that has it, and
        // nobody is lent any of it. `&mut self` keeps this to one borrow.
        unsafe { core::slice::from_raw_parts_mut(base.as_ptr(), self.len) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} bytes", self.len)
    }
}

impl AsRef<[u8]> for Frozen {
    fn as_ref(&self) -> &[u8] {
        self.owned.segment().bytes(self.len)
    }
}

fn from_pool(size: usize) -> Option<Arc<Segment>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let fitting = pool.iter().rposition(|segment| segment.size() == size)?;
    Some(pool.remove(fitting))
}

fn make(size: usize) -> Option<Arc<Segment>> {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = usize::try_from(descriptors / DESCRIPTORS_SHARE).unwrap_or(usize::MAX);
    if MADE.fetch_add(1, Ordering::Relaxed) < most
        && let Ok(segment) = Segment::create(size)
    {
        return Some(segment);
    }
    MADE.fetch_sub(1, Ordering::Relaxed);
    None
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(segment) = self.0.take() else { return };
        if is_available() && !segment.is_retired() {
            let too_many = keep(segment);
            MADE.fetch_sub(too_many.len(), Ordering::Relaxed);
        } else {
            MADE.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Keeps it for the next buffer, unless it alone is too long. The oldest ones that are too many then, to be dropped without the lock.
fn keep(segment: Arc<Segment>) -> Vec<Arc<Segment>> {
    if segment.size() > IDLE_BYTES {
        return vec![segment];
    }
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    pool.push(segment);
    let mut bytes: usize = pool.iter().map(|segment| segment.size()).sum();
    let mut too_many = 0;
    while pool.len() - too_many > IDLE || bytes > IDLE_BYTES {
        bytes -= pool[too_many].size();
        too_many += 1;
    }
    pool.drain(..too_many).collect()
}
