//! Copies bytes that another process may write meanwhile.
//!
//! To Rust, a plain copy of memory that somebody changes at the same time is undefined, whatever the bytes. Atomic loads are
//! not, but the compiler makes one instruction of each, a third of the speed of a copy. So the system's `memcpy` is called from
//! a block of assembly: Rust sees code of which it knows nothing but what it may touch, and which does what relaxed atomic
//! loads of single bytes, in any order, could do as well.

#[cfg(any(miri, test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Copies `len` bytes. What is written to `from` meanwhile may come along, or not, or in part.
///
/// # Safety
/// `from` can be read for `len` bytes and lies in memory that is shared, as atomics are; `to` can be written for `len` bytes,
/// and they do not overlap. This process writes to `from` only by atomic stores, or before or after.
#[inline]
pub(super) unsafe fn racing_copy(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: the caller's promise.
    unsafe {
        by_assembly(from, to, len);
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    // SAFETY: the caller's promise.
    unsafe {
        by_words(from, to, len);
    }
}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
}

/// # Safety
/// As [`racing_copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn by_assembly(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: a call of a C function by the rules of its platform: the stack is aligned at the block's beginning, and what the
    // function may change is said. It reads and writes what the caller allows, and unlike a plain copy it is defined whoever
    // writes meanwhile: a processor gives some byte for each load, and nothing is concluded from them here.
    unsafe {
        core::arch::asm!(
            "call {memcpy}",
            memcpy = in(reg) memcpy as *const (),
            inout("rdi") to => _,
            inout("rsi") from => _,
            inout("rdx") len => _,
            clobber_abi("C"),
        );
    }
}

/// # Safety
/// As [`racing_copy`].
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline]
unsafe fn by_assembly(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: as on x86-64.
    unsafe {
        core::arch::asm!(
            "blr {memcpy}",
            memcpy = in(reg) memcpy as *const (),
            inout("x0") to => _,
            inout("x1") from => _,
            inout("x2") len => _,
            clobber_abi("C"),
        );
    }
}

/// The same where there is no such block: for Miri, which finds every access that is not as it should be, and other machines.
///
/// # Safety
/// As [`racing_copy`].
#[cfg(any(miri, test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
unsafe fn by_words(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise, for each of the bytes.
    let byte = |i: usize| unsafe {
        to.add(i).write(AtomicU8::from_ptr(from.add(i).cast_mut()).load(Ordering::Relaxed));
    };
    let before = from.align_offset(size_of::<AtomicU64>()).min(len);
    (0..before).for_each(byte);
    let mut done = before;
    while len - done >= size_of::<AtomicU64>() {
        // SAFETY: the caller's promise, for these eight bytes, which are aligned where they are read.
        unsafe {
            let word = AtomicU64::from_ptr(from.add(done).cast_mut().cast()).load(Ordering::Relaxed);
            to.add(done).cast::<u64>().write_unaligned(word);
        }
        done += size_of::<AtomicU64>();
    }
    (done..len).for_each(byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    type Copy = unsafe fn(*const u8, *mut u8, usize);

    #[test]
    fn every_place_and_length_is_copied_and_nothing_beside() {
        let longest = 600;
        let pattern: Vec<u8> = (0..longest + 8).map(|i| (i % 251) as u8).collect();
        let shared: Vec<AtomicU64> =
            pattern.as_chunks().0.iter().map(|bytes| AtomicU64::new(u64::from_ne_bytes(*bytes))).collect();
        let from = shared.as_ptr().cast::<u8>();
        let step = if cfg!(miri) { 97 } else { 1 };
        for copy in [racing_copy as Copy, by_words as Copy] {
            for (start, len) in
                (0..9).flat_map(|start| (0..longest).step_by(step).map(move |len| (start, len)))
            {
                let mut to = vec![255; longest + 2];
                // SAFETY: both lie inside their vectors.
                unsafe { copy(from.add(start), to[1..].as_mut_ptr(), len) };
                assert_eq!(to[1..=len], pattern[start..start + len]);
                assert!(to[0] == 255 && to[len + 1..].iter().all(|byte| *byte == 255));
            }
        }
    }

    /// Under Miri a copy that is not atomic is a race.
    #[test]
    fn what_is_copied_may_change_meanwhile() {
        let shared: Vec<AtomicU64> = (0..64).map(|_| AtomicU64::new(0)).collect();
        let rounds = if cfg!(miri) { 3 } else { 10_000 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=rounds {
                    shared
                        .iter()
                        .for_each(|word| word.store(u64::from_ne_bytes([round as u8; 8]), Ordering::Relaxed));
                }
            });
            for _ in 0..rounds {
                let mut copy = vec![0; shared.len() * 8];
                // SAFETY: both have as many bytes; the other thread stores atomically.
                unsafe { racing_copy(shared.as_ptr().cast(), copy.as_mut_ptr(), copy.len()) };
            }
        });
    }
}
